/** What each call of a tree takes, and what it refuses before anything starts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkArguments } from '../checked-face.js';
import { fileHandleEntries, vfsEntries, vfsOptions } from './entries.js';

const takes = (method: string, given: readonly unknown[], of = vfsEntries) => {
  const entry = of.methods[method];
  assert.ok(entry !== undefined, method);
  try {
    checkArguments(method, entry.takes, given);
    return true;
  } catch (error) {
    assert.equal((error as { code?: string }).code, 'EINVAL', method);
    return false;
  }
};

test('encodings are those of Node, as a text and in options', () => {
  const all = ['utf8', 'utf-8', 'ascii', 'latin1', 'binary', 'base64', 'base64url', 'hex', 'utf16le', 'ucs2'];
  for (const encoding of all) assert.ok(Buffer.isEncoding(encoding), encoding);
  for (const encoding of [...all, null, undefined]) {
    for (const given of [encoding, { encoding }]) {
      assert.ok(takes('readFile', ['/f', given]), String(encoding));
      assert.ok(takes('writeFile', ['/f', 'x', given]), String(encoding));
      assert.ok(takes('readFile', [given], fileHandleEntries), String(encoding));
    }
  }
  for (const encoding of ['', 'UTF8', 'utf7', 'buffer', 1, true]) {
    for (const given of [encoding, { encoding }]) assert.ok(!takes('readFile', ['/f', given]), String(encoding));
  }
});

test('each argument is of its kind, on both sides of its limits', () => {
  const good: readonly (readonly [string, ...(readonly unknown[])])[] = [
    ['open', '/f'],
    ['open', '/f', 'r+', 0o7777],
    ['open', Buffer.from('/f'), 0, 0],
    ['mkdir', '/d', 0o777],
    ['mkdir', '/d', { recursive: true, mode: 0 }],
    ['rm', '/d', { recursive: true, force: false }],
    ['chmod', '/f', 0o7777],
    ['chown', '/f', 0, 2 ** 32 - 2],
    ['truncate', '/f'],
    ['truncate', '/f', 0],
    ['utimes', '/f', 0, new Date(0)],
    ['utimes', '/f', -1.5, 1e9],
    ['readdir', '/', { withFileTypes: true, recursive: false }],
    ['restricted', { 'fs.read': ['/'], 'fs.metadata': [] }],
    ['watch', '/', { signal: new AbortController().signal }],
  ];
  for (const [method, ...given] of good) assert.ok(takes(method, given), JSON.stringify([method, given]));
  const bad: readonly (readonly [string, ...(readonly unknown[])])[] = [
    ['open'],
    ['open', 1],
    ['open', '/f', -1],
    ['open', '/f', 'r', 0o10000],
    ['open', '/f', 'r', 0, 'more'],
    ['mkdir', '/d', { recursive: 'yes' }],
    ['mkdir', '/d', -1],
    ['rm', '/d', { recursive: true, more: 1 }],
    ['chmod', '/f', 0o10000],
    ['chmod', '/f', 0.5],
    ['chown', '/f', -1, 0],
    ['chown', '/f', 0, 2 ** 32 - 1],
    ['truncate', '/f', -1],
    ['utimes', '/f', Number.NaN, 0],
    ['utimes', '/f', 0, new Date(Number.NaN)],
    ['utimes', '/f', '0', 0],
    ['readdir', '/', { withFileTypes: 1 }],
    ['restricted', { 'fs.read': '/' }],
    ['restricted', { 'fs.all': ['/'] }],
    ['watch', '/', { signal: {} }],
  ];
  for (const [method, ...given] of bad) assert.ok(!takes(method, given), JSON.stringify([method, given]));
});

test('parts of a buffer, places in a file and locks are whole numbers from 0 on', () => {
  const buffer = Buffer.alloc(4);
  for (const given of [
    [],
    [buffer, 0, 4, null],
    [buffer, 0, 4, 7],
    [{ buffer, offset: 1, length: 2, position: null }],
  ]) {
    assert.ok(takes('read', given, fileHandleEntries), JSON.stringify(given));
  }
  for (const given of [
    [buffer, -1],
    [buffer, 0, 1.5],
    [buffer, 0, 1, -1],
    [{ buffer: [] }],
    [{ position: -1 }],
    ['x'],
  ]) {
    assert.ok(!takes('read', given, fileHandleEntries), JSON.stringify(given));
  }
  assert.ok(takes('lock', [{ kind: 'shared', start: 0, end: 1, wait: false }], fileHandleEntries));
  for (const given of [{ kind: 'none' }, { start: -1 }, { end: 0.5 }, { wait: 'no' }, { more: 1 }]) {
    assert.ok(!takes('lock', [given], fileHandleEntries), JSON.stringify(given));
  }
});

test('options of a tree are mounts, a quota and a directory, and nothing else', () => {
  const isTaken = (given: unknown) => {
    try {
      vfsOptions(given, 'options');
      return true;
    } catch {
      return false;
    }
  };
  for (const given of [
    {},
    { mounts: { '/': 'memory:', '/a': { spec: 'memory:', writable: true }, '/b': { lookup: () => undefined } } },
    { quota: { bytes: 0, inodes: 1, fileBytes: 2, openFiles: 3 }, onQuota: () => undefined, directory: '/' },
  ]) {
    assert.ok(isTaken(given), JSON.stringify(given));
  }
  for (const given of [
    ...[null, 1, 'memory:', { mounts: [] }, { mounts: null }, { mounts: { '/': 1 } }, { mounts: { '/': { spec: 1 } } }],
    ...[{ mounts: { '/': { spec: 'memory:', more: 1 } } }, { quota: { bytes: -1 } }, { quota: { more: 1 } }],
    ...[{ onQuota: 'x' }, { directory: 1 }, { more: 1 }],
  ]) {
    assert.ok(!isTaken(given), JSON.stringify(given));
  }
});
