import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { inputExcerptBytes } from '../../base/limits/decisions.js';
import { type BoundInput, inputOf } from './command-input.js';

const top = mkdtempSync(join(tmpdir(), 'ctx-input-'));
after(() => rmSync(top, { recursive: true, force: true }));
const file = join(top, 'file');
const digestOf = (bytes: Uint8Array) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** What a process with this standard input binds, and what it can read of it afterwards. */
function bound(stdin: number | 'pipe', input?: string): { readonly bound: BoundInput | null; readonly rest: string } {
  const module = JSON.stringify(new URL('./command-input.js', import.meta.url).href);
  const script = `const { inputOf } = await import(${module}); const { readSync } = await import('node:fs');
    const bound = await inputOf('stdin') ?? null; const bytes = Buffer.alloc(8);
    const rest = bytes.subarray(0, readSync(0, bytes)).toString('latin1');
    process.stdout.write(JSON.stringify({ bound, rest }));`;
  const run = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    stdio: [stdin, 'pipe', 'inherit'],
    encoding: 'utf8',
    input,
  });
  return JSON.parse(run.stdout);
}

test('of a file, what the command will read is bound, from where it begins, and stays to be read', () => {
  writeFileSync(file, 'first\nsecond\n');
  for (const skipped of [0, 6]) {
    const descriptor = openSync(file, 'r');
    if (skipped > 0) readSync(descriptor, Buffer.alloc(skipped));
    const text = 'first\nsecond\n'.slice(skipped);
    const known = { kind: 'known', digest: digestOf(Buffer.from(text)), size: text.length, excerpt: text };
    assert.deepEqual(bound(descriptor), { bound: known, rest: text.slice(0, 8) });
    closeSync(descriptor);
  }
});

test('what cannot be known is not bound as nothing: a pipe, and devices that have bytes', () => {
  assert.deepEqual(bound('pipe', 'text'), { bound: { kind: 'unknown' }, rest: 'text' });
  for (const [device, kind] of [
    ['/dev/null', undefined],
    ['/dev/zero', 'unknown'],
    ['/dev/urandom', 'unknown'],
  ] as const) {
    const descriptor = openSync(device, 'r');
    assert.equal(bound(descriptor).bound?.kind, kind, device);
    closeSync(descriptor);
  }
});

test('bytes that were given are bound whole, and shown by their start', async () => {
  for (const size of [0, 1, inputExcerptBytes - 1, inputExcerptBytes, inputExcerptBytes + 1]) {
    const bytes = Buffer.alloc(size, 'ab');
    const excerpt = bytes.toString().slice(0, inputExcerptBytes);
    const expected = { kind: 'known', digest: digestOf(bytes), size, excerpt };
    assert.deepEqual(await inputOf(bytes), expected);
    const halves = [bytes.subarray(0, size / 2), bytes.subarray(size / 2)];
    assert.deepEqual(await inputOf({ take: async () => halves }), expected, 'in any parts');
  }
  assert.deepEqual(await inputOf({ take: async () => undefined }), { kind: 'unknown' }, 'too many');
  assert.deepEqual([await inputOf('nothing'), await inputOf('unknown')], [undefined, { kind: 'unknown' }]);
});
