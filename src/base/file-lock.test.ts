import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { until } from '../../test/support/process.js';
import { library, recordPlace } from '../audit/record-fixture.js';
import { loadFileLock, loadFlock } from './file-lock.js';

const busy = constants.errno.EAGAIN;
const noStrace = spawnSync('strace', ['-V']).status === 0 ? false : 'strace is not installed';

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

/** A file of its own, opened so many times: each is an owner of locks. */
function openedTimes(count: number, act: (descriptors: readonly number[], path: string) => void): void {
  const place = recordPlace();
  mkdirSync(place.directory);
  const path = join(place.directory, 'lock');
  const descriptors = Array.from({ length: count }, () => openSync(path, 'a+'));
  try {
    act(descriptors, path);
  } finally {
    for (const descriptor of descriptors) closeSync(descriptor);
    place.remove();
  }
}

describe('locks of others on this machine', () => {
  const flock = loadFlock(library, 'test');
  const ends = (end: number) => (end === 0 ? Number.POSITIVE_INFINITY : end);
  const large = 2 ** 40;

  it('is waited for so long, and what is refused then says what was locked, where, and for how long', () => {
    openedTimes(2, ([holder = -1, other = -1], path) => {
      loadFileLock(library).hold(holder, path);
      for (const milliseconds of [0, 40]) {
        const from = performance.now();
        const refused = { code: 'EAGAIN', operation: 'seal', path, remedy: /ctx ps/, reason: /seal locked for 0/ };
        const { reason, remedy, ...exact } = refused;
        assert.throws(() => loadFileLock(library, milliseconds, 'seal').hold(other, path), {
          ...exact,
          reason,
          remedy,
        });
        assert.ok(performance.now() - from >= milliseconds);
      }
      assert.throws(() => loadFileLock(library, 0).hold(-1, path), {
        code: 'EIO',
        operation: 'record',
        remedy: undefined,
      });
      loadFileLock(library).release(holder);
      loadFileLock(library, 0).hold(other, path);
    });
  });

  it('of bytes exclude each other where they overlap and one of them is exclusive, and a test says which', () =>
    openedTimes(2, ([one = -1, other = -1]) => {
      const ranges = [
        [0, 1],
        [0, 10],
        [9, 11],
        [10, 20],
        [10, 0],
        [0, 0],
        [large, large + 1],
      ] as const;
      for (const kind of [0, 1, 2]) {
        for (const [start, end] of ranges) {
          for (const asked of [1, 2]) {
            for (const [from, to] of ranges) {
              const isFree = kind === 0 || (kind === 1 && asked === 1) || ends(end) <= from || ends(to) <= start;
              const what = `${kind} of ${start} to ${end}, and ${asked} of ${from} to ${to}`;
              assert.equal(flock.range(one, kind, start, end, 0), 0, what);
              assert.deepEqual(flock.range(other, asked, from, to, 1), isFree ? 0 : [kind, start, end], what);
              assert.deepEqual(flock.range(one, 2, 0, 0, 1), 0, `${what}: a test takes nothing`);
              assert.equal(flock.range(other, asked, from, to, 0), isFree ? 0 : -busy, what);
              for (const each of [one, other]) assert.equal(flock.range(each, 0, 0, 0, 0), 0);
            }
          }
        }
      }
    }));

  it('of bytes are given back in part', () =>
    openedTimes(2, ([one = -1, other = -1]) => {
      assert.equal(flock.range(one, 2, 0, 30, 0), 0);
      assert.equal(flock.range(one, 0, 10, 20, 0), 0);
      assert.equal(flock.range(other, 2, 10, 20, 0), 0);
      assert.deepEqual(flock.range(other, 2, 9, 21, 1), [2, 0, 10]);
      assert.deepEqual(flock.range(other, 2, 20, 0, 1), [2, 20, 30]);
    }));

  it('of whole files exclude each other as their kinds say, and never wait', () =>
    openedTimes(2, ([one = -1, other = -1]) => {
      for (const [kind, asked, answer] of [
        [0, 2, 0],
        [1, 1, 0],
        [1, 2, -busy],
        [2, 1, -busy],
        [2, 2, -busy],
      ] as const) {
        assert.equal(flock.whole(one, kind), 0);
        assert.equal(flock.whole(other, asked), answer, `${kind} and ${asked}`);
        for (const each of [one, other]) assert.equal(flock.whole(each, 0), 0);
      }
    }));

  it('are refused where they are none', () =>
    openedTimes(1, ([one = -1]) => {
      const { EINVAL, EBADF } = constants.errno;
      const range = flock.range as (...given: readonly unknown[]) => unknown;
      for (const given of [
        [one, 3, 0, 1, 0],
        [one, -1, 0, 1, 0],
        [one, 2, -1, 1, 0],
        [one, 2, 0, -1, 0],
        [one, 2, 5, 5, 0],
        [one, 2, 5, 4, 0],
        [one, 'kind', 0, 1, 0],
        [one, 2, 0, 1],
      ]) {
        assert.equal(range(...given), -EINVAL, JSON.stringify(given));
      }
      for (const kind of [-1, 3, 'kind', undefined]) {
        assert.equal((flock.whole as (...given: readonly unknown[]) => unknown)(one, kind), -EINVAL);
      }
      assert.equal(range(-1, 2, 0, 1, 0), -EBADF);
      assert.equal(range('text', 2, 0, 1, 0), -EBADF);
      assert.equal(flock.whole(-1, 2), -EBADF);
      assert.equal(flock.lock(-1, 0), EBADF);
      assert.equal(flock.lock(-1, 10), EBADF);
      assert.equal(flock.unlock('text' as unknown as number), EBADF);
    }));
});

describe('the mark of a directory', () => {
  it('is found where it was put, and nowhere else', () =>
    openedTimes(2, ([one = -1, other = -1]) => {
      const flock = loadFlock(library, 'test');
      const { ENODATA, EBADF } = constants.errno;
      assert.equal(flock.marked(one), ENODATA);
      assert.equal(flock.mark(one), 0);
      for (const each of [one, other]) assert.equal(flock.marked(each), 0);
      assert.equal(flock.mark(one), 0);
      for (const call of [flock.mark, flock.marked, flock.disown]) assert.equal(call(-1), EBADF);
    }));
});

describe('the lock on a file', () => {
  it('is had without a turnstile where the file is not open to be written', () =>
    openedTimes(1, ([holder = -1], path) => {
      const flock = loadFlock(library, 'test');
      const reader = openSync(path, 'r');
      try {
        assert.equal(flock.lock(reader, 100), 0);
        assert.equal(flock.lock(holder, 20), busy);
        assert.equal(flock.unlock(reader), 0);
        assert.equal(flock.lock(holder, 20), 0);
        const begin = performance.now();
        assert.equal(flock.lock(reader, 50), busy);
        assert.ok(performance.now() - begin >= 49);
      } finally {
        closeSync(reader);
      }
    }));

  it('is waited for no longer than it may last also where there is no timer', { skip: noStrace }, () =>
    openedTimes(1, ([holder = -1], path) => {
      const flock = loadFlock(library, 'test');
      assert.equal(flock.lock(holder, 0), 0);
      const program = `
        const { openSync } = require('node:fs');
        const flock = { exports: {} };
        process.dlopen(flock, ${JSON.stringify(library)});
        const descriptor = openSync(${JSON.stringify(path)}, 'a');
        const begin = performance.now();
        console.log(JSON.stringify([flock.exports.lock(descriptor, 60), performance.now() - begin >= 59]));`;
      const traced = [
        '-f',
        '-qq',
        '-o',
        '/dev/null',
        '-e',
        'trace=timer_create',
        '-e',
        'inject=timer_create:error=EAGAIN',
      ];
      const { stdout } = spawnSync('strace', [...traced, process.execPath, '-e', program], {
        encoding: 'utf8',
        timeout: 20_000,
      });
      assert.equal(stdout, `[${busy},true]\n`);
    }),
  );

  it('leaves the turnstile, and the signals of this process as they were, had or not', () =>
    openedTimes(3, ([holder = -1, other = -1, third = -1]) => {
      const flock = loadFlock(library, 'test');
      const signals = () => /^Sig(?:Blk|Ign|Cgt):.*$/gm[Symbol.match](readFileSync('/proc/self/status', 'utf8'));
      const before = signals();
      assert.equal(flock.lock(holder, 50), 0);
      assert.equal(flock.range(third, 2, 0, 1, 1), 0);
      assert.equal(flock.lock(other, 50), busy);
      assert.equal(flock.range(third, 2, 0, 1, 1), 0);
      assert.deepEqual(signals(), before);
      assert.equal(flock.lock(holder, 50), 0, 'it is the same owner still');
    }));

  it('is waited for asleep, before it and in its queue, and not for longer than it may last', () => {
    const place = recordPlace();
    mkdirSync(place.directory);
    const path = join(place.directory, 'lock');
    const [holder, first, second] = [openSync(path, 'a'), openSync(path, 'a'), openSync(path, 'a')];
    const flock = loadFlock(library, 'test');
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
