import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ErrnoError } from '../base/errno.js';
import { parseCapabilities } from './capability.js';

describe('what a tool needs', () => {
  it('is one line each, with the port of HTTPS where none is said', () => {
    const text = [
      '# of the operator',
      'fs.read /srv/data',
      'fs.write /srv/out',
      'net.connect API.example.com',
      'net.connect localhost:8080 private',
      'secret TOKEN api.example.com:8443 Authorization Bearer',
      'tool fs.read',
      'model openai/gpt',
      'fork ro',
      'quota memory 1048576',
    ].join('\n');
    assert.deepEqual(parseCapabilities(text, 'cap'), [
      { kind: 'fs.read', path: '/srv/data' },
      { kind: 'fs.write', path: '/srv/out' },
      { kind: 'net.connect', host: 'api.example.com:443', isPrivate: false },
      { kind: 'net.connect', host: 'localhost:8080', isPrivate: true },
      {
        kind: 'secret',
        name: 'TOKEN',
        host: 'api.example.com',
        port: 8443,
        header: 'Authorization',
        scheme: 'Bearer',
      },
      { kind: 'tool', name: 'fs.read' },
      { kind: 'model', name: 'openai/gpt' },
      { kind: 'fork', access: 'ro' },
      { kind: 'quota', field: 'memory', value: 1_048_576 },
    ]);
    assert.deepEqual(parseCapabilities('', 'cap'), []);
  });

  it('is said once where only one can hold; of several kinds each may be said', () => {
    const read = (...lines: readonly string[]) => parseCapabilities(lines.join('\n'), 'cap').length;
    assert.equal(read('tool a', 'tool a', 'fork rw', 'quota memory 5', 'quota pids 5', 'model a/b', 'model a/b'), 7);
    for (const twice of [
      ['fork ro', 'fork rw'],
      ['quota memory 5', 'tool a', 'quota memory 6'],
    ]) {
      assert.throws(() => read(...twice), { code: 'EINVAL' });
    }
  });

  it('has hosts in any form, and schemes that are words', () => {
    const read = (line: string) => parseCapabilities(line, 'cap')[0];
    assert.deepEqual(read('net.connect [::1]'), { kind: 'net.connect', host: '[::1]:443', isPrivate: false });
    assert.deepEqual(read('secret T a.example X-Key'), {
      kind: 'secret',
      name: 'T',
      host: 'a.example',
      port: 443,
      header: 'X-Key',
      scheme: undefined,
    });
    for (const line of [
      'secret T a.example X-Key 1x',
      'secret T a.example X-Key Bearer more',
      'secret T a.example',
      'net.connect a.example public',
      'net.connect a.example private more',
      'net.connect',
      'tool',
      'tool a b',
      'model',
      'model a/b c',
      'fork',
      'fork rx',
      'fork ro rw',
      'quota memory',
      'quota memory 01',
      'quota other 5',
      'fs.read',
      'fs.read a',
      'fs.write /a /b',
      'toString x',
    ]) {
      assert.throws(() => read(line), { code: 'EINVAL' }, line);
    }
  });

  it('is refused with its place where a word of it is not known or not right', () => {
    const wrong: readonly (readonly [string, RegExp])[] = [
      ['network', /cap:1:1: expected one of fs\.read, /],
      ['fork ro\nfork rw', /cap:2:1: expected fork once/],
      ['fork', /`fork ro` or `fork rw`/],
      ['fs.read relative', /cap:1:9: /],
      ['fs.read /a /b', /`fs\.read PATH`/],
      ['net.connect 2130706433:80', /cap:1:13: /],
      ['net.connect *.example.com', /cap:1:13: /],
      ['net.connect example.com public', /cap:1:25: expected `private`/],
      ['secret TOKEN api.example.com', /`secret NAME/],
      ['secret TO-KEN api.example.com Authorization', /cap:1:8: /],
      ['secret TOKEN api.example.com Author:ization', /cap:1:30: /],
      ['quota lunches 3', /cap:1:7: /],
      ['quota memory -1', /cap:1:14: /],
      ['constructor x', /expected one of/],
      ['tool ../x', /cap:1:6: /],
    ];
    for (const [text, reason] of wrong) {
      assert.throws(
        () => parseCapabilities(text, 'cap'),
        (error) => error instanceof ErrnoError && error.code === 'EINVAL' && reason.test(error.reason),
        text,
      );
    }
  });
});
