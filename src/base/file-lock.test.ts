import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { until } from '../../test/support/process.js';
import { library, recordPlace } from '../audit/record-fixture.js';
import { loadFileLock } from './file-lock.js';

/** Has the lock nearly always: for milliseconds, and again at once. Each of its turns is one byte in the file. */
const greedy = (path: string) => `
  import { openSync, writeSync } from 'node:fs';
  import { loadFileLock } from ${JSON.stringify(new URL('file-lock.js', import.meta.url).href)};
  const lock = loadFileLock(${JSON.stringify(library)}, 60_000);
  const descriptor = openSync(${JSON.stringify(path)}, 'a');
  console.log('begun');
  for (;;) {
    lock.hold(descriptor, 'it');
    writeSync(descriptor, '.');
    for (const end = performance.now() + 10; performance.now() < end; );
    lock.release(descriptor);
  }`;

describe('the lock on a file', () => {
  it('is had in turn with a process that takes it again and again', async () => {
    const place = recordPlace();
    mkdirSync(place.directory);
    const path = join(place.directory, 'lock');
    const descriptor = openSync(path, 'a');
    const other = spawn(process.execPath, ['--input-type=module', '-e', greedy(path)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const closed = once(other, 'close');
    /** Turns of the other, from when this process asked until it was served. */
    const waited: number[] = [];
    const turns = () => readFileSync(path).length;
    try {
      await once(other.stdout, 'data');
      const lock = loadFileLock(library);
      for (let turn = 0; turn < 31; turn += 1) {
        // While the other has it.
        const last = turns();
        await until(() => turns() > last, 'the other has a turn');
        const before = turns();
        lock.hold(descriptor, path);
        waited.push(turns() - before);
        lock.release(descriptor);
      }
    } finally {
      other.kill('SIGKILL');
      await closed;
      closeSync(descriptor);
      place.remove();
    }
    // The median: this process may be kept from asking for as long as the machine likes.
    const median = [...waited].sort((a, b) => a - b)[15] ?? 0;
    assert.ok(median <= 2, `turns of the other before each of ours: ${waited.join(' ')}`);
  });
});
