import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { controlTextBytes } from '../../base/limits/objects.js';
import { inputText } from './input-text.js';

describe('a text that a person names', () => {
  const root = mkdtempSync(join(tmpdir(), 'ctx-text-'));
  after(() => rmSync(root, { recursive: true }));
  const file = join(root, 'file');

  it('is read from a file, and from a pipe that is filled later', async () => {
    writeFileSync(file, 'ä'.repeat(100_000));
    assert.equal(inputText(file).length, 100_000);
    const pipe = join(root, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const writer = spawn('sh', ['-c', '{ sleep 0.2; printf one; sleep 0.2; printf two; } > "$0"', pipe]);
    assert.equal(inputText(pipe), 'onetwo');
    await once(writer, 'exit');
  });

  it('is refused where it has no end, is too long, or is no text', () => {
    assert.throws(() => inputText('/dev/zero'), { code: 'E2BIG', path: '/dev/zero' });
    writeFileSync(file, 'x'.repeat(controlTextBytes + 1));
    assert.throws(() => inputText(file), {
      code: 'E2BIG',
      reason: `expected a text of at most ${controlTextBytes} bytes`,
    });
    writeFileSync(file, 'x'.repeat(controlTextBytes));
    assert.equal(inputText(file).length, controlTextBytes);
    writeFileSync(file, Buffer.from([0xff]));
    assert.throws(() => inputText(file), { code: 'EINVAL' });
    assert.throws(() => inputText(join(root, 'none')), { code: 'ENOENT' });
    assert.throws(() => inputText(root), { code: 'EISDIR' });
  });
});
