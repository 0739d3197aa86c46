import assert from 'node:assert/strict';
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { arrivedIn } from './arrivals.js';

it('counts who came and names them; a line that was cut off is shown as it is, and says nothing of edits', () => {
  const directory = mkdtempSync(join(tmpdir(), 'ctx-arrivals-'));
  try {
    const file = join(directory, 'joined');
    writeFileSync(
      file,
      ['"npm test"', '{"waiting":2}', '{"waiting":"9"}', '{"waiting', 'null', '"make"', ''].join('\n'),
    );
    const descriptor = openSync(file, 'r');
    assert.deepEqual(arrivedIn(descriptor, 0), { commands: ['npm test', 'null', 'make'], count: 3, waiting: 2 });
    closeSync(descriptor);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
