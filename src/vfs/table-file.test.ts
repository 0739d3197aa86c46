/** `vfs.toml`: what it can say, and how it is refused. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrnoError } from '../base/errno.js';
import { parseTable } from './table-file.js';
import { isShared, isWritable } from './tree-plan.js';

const parsed = (text: string) => parseTable(text, '/here/vfs.toml');

test('a table has trees at paths, as text or with what they need', () => {
  const mounts = parsed(`
    [mount]
    "/" = "chunked:notes.ctx"
    [mount."/project/src"]
    upper = "memory:"
    lower = ["host:patches", "host:/srv"]
    [mount."/data"]
    spec = "host:/data"
    writable = true
  `);
  assert.deepEqual(mounts, [
    { path: [], source: { engine: 'chunked', file: '/here/notes.ctx', snapshot: undefined }, writable: undefined },
    {
      path: ['project', 'src'],
      source: {
        engine: 'overlay',
        upper: { engine: 'memory' },
        lower: [
          { engine: 'host', path: '/here/patches' },
          { engine: 'host', path: '/srv' },
        ],
      },
      writable: undefined,
    },
    { path: ['data'], source: { engine: 'host', path: '/data' }, writable: true },
  ]);
});

test('each mount of a table is writable by what it says or is, and none where nobody asked for it', () => {
  const mounts = parsed(`
    [mount]
    "/" = "memory:"
    "/host" = "host:/a"
    "/asked" = { spec = "host:/a", writable = true }
    "/kept" = { spec = "memory:", writable = false }
    "/over" = { upper = "memory:", lower = "host:/a" }
  `);
  const plan = { mounts, isTable: true };
  const writable = (asked: boolean | undefined) => mounts.map((mount) => isWritable(plan, mount, asked));
  assert.deepEqual(writable(true), [true, false, true, false, true]);
  assert.deepEqual(writable(undefined), [true, false, true, false, true]);
  assert.deepEqual(writable(false), [false, false, false, false, false]);
  assert.equal(isShared(plan, true), true);
  assert.equal(isShared({ mounts: parsed('mount."/" = "memory:"'), isTable: true }, true), false);
});

test('what is wrong is refused by file, key and what was expected', () => {
  const refused: readonly (readonly [string, RegExp])[] = [
    ['', /mount: expected a table with at least one path/],
    ['[mount]', /mount: expected a table with at least one path/],
    ['mount = 3', /mount: expected a table/],
    ['[mount', /expected TOML: line 1/],
    ['[mounts]\n"/" = "memory:"', /mounts: unknown key; expected 'mount' alone/],
    ['[mount]\nx = "memory:"', /mount\."x": expected an absolute path/],
    ['[mount]\n"/a/../b" = "memory:"', /expected an absolute path without/],
    ['[mount]\n"/" = "memory:"\n"//" = "memory:"', /expected each path once/],
    ['[mount]\n"/" = "tape:x"', /mount\."\/": "tape:x": unknown engine 'tape'/],
    ['[mount]\n"/" = "other.toml"', /a table cannot be inside a table/],
    ['[mount]\n"/" = 5', /expected a tree as text, or a table with/],
    ['[mount."/"]\nspce = "memory:"', /mount\."\/"\.spce: unknown key; expected one of spec, upper, lower, writable/],
    ['[mount."/"]\nwritable = true', /either spec = TREE or upper/],
    ['[mount."/"]\nspec = "memory:"\nwritable = "yes"', /writable: expected true or false/],
    ['[mount."/"]\nspec = "memory:"\nlower = "memory:"', /either spec = TREE or upper/],
    ['[mount."/"]\nlower = "memory:"', /mount\."\/"\.upper: expected a tree/],
    ['[mount."/"]\nupper = "memory:"', /mount\."\/"\.lower: expected a tree/],
    ['[mount."/"]\nupper = "memory:"\nlower = []', /lower: expected a tree, or a list/],
    ['[mount."/"]\nupper = "memory:"\nlower = ["memory:", 1]', /lower\[1\]: expected a tree as text/],
    ['[mount."/"]\nupper = "chunked:f@s"\nlower = "memory:"', /upper: expected a tree that can be written to/],
    [`# ${'x'.repeat(300_000)}`, /expected at most 262144 bytes/],
  ];
  for (const [text, message] of refused) {
    assert.throws(
      () => parsed(text),
      (error: unknown) => {
        assert.ok(error instanceof ErrnoError, String(error));
        assert.equal(error.code, 'EINVAL');
        assert.equal(error.path, '/here/vfs.toml');
        assert.match(error.reason, message);
        return true;
      },
      text.slice(0, 80),
    );
  }
});
