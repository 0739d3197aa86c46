import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { until } from '../../test/support/process.js';
import { library, recordPlace } from '../audit/record-fixture.js';
import { loadFileLock, loadFlock } from './file-lock.js';

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
  it('is waited for asleep, before it and in its queue, and not for longer than it may last', () => {
    const place = recordPlace();
    mkdirSync(place.directory);
    const path = join(place.directory, 'lock');
    const [holder, first, second] = [openSync(path, 'a'), openSync(path, 'a'), openSync(path, 'a')];
    const flock = loadFlock(library, 'test');
    const busy = 11; // EAGAIN
    const wait = (descriptor: number) => {
      const [begin, before] = [performance.now(), process.resourceUsage().voluntaryContextSwitches];
      const number = flock.lock(descriptor, 400);
      const switches = process.resourceUsage().voluntaryContextSwitches - before;
      return { number, switches, milliseconds: performance.now() - begin };
    };
    try {
      assert.equal(flock.lock(holder, 400), 0);
      const behind = wait(first);
      // The first byte is what the next one waits behind (native/flock.node).
      assert.equal(flock.range(holder, 2, 0, 1, 0), 0);
      const queued = wait(second);
      for (const { number, switches, milliseconds } of [behind, queued]) {
        assert.equal(number, busy);
        assert.ok(milliseconds >= 399, `${milliseconds} ms`);
        // Looking every half millisecond would be 800; a busy machine may end a look of another thread meanwhile.
        assert.ok(switches < 100, `woke up ${switches} times in ${milliseconds} ms`);
      }
      assert.equal(flock.lock(first, 0), busy);
      assert.equal(flock.range(holder, 0, 0, 1, 0), 0);
      assert.equal(flock.unlock(holder), 0);
      assert.equal(flock.lock(first, 400), 0);
    } finally {
      for (const descriptor of [holder, first, second]) closeSync(descriptor);
      place.remove();
    }
  });

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
