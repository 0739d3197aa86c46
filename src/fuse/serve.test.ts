/** The server of a mount, whose kernel is a list here: what it reads and writes, when it turns to other work, and what ends it. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { constants } from 'node:os';
import { afterEach, describe, it, mock } from 'node:test';
import { ErrnoError } from '../base/errno.js';
import type { FileSystem } from '../vfs/filesystem.js';
import type { Dispatch } from './dispatch.js';
import type { FuseLibrary } from './mount.js';
import { send, serve } from './serve.js';

const { readSync, writeSync } = fs;
afterEach(() => {
  Object.assign(fs, { readSync, writeSync });
  syncBuiltinESMExports();
  mock.restoreAll();
});

const failing = (code: string) => Object.assign(new Error(code), { code, syscall: 'x', errno: -1 });
const reply = (text: string, more = 0) => {
  const made = Buffer.alloc(16 + text.length + more);
  made.writeUInt32LE(16 + text.length, 0);
  made.write(text, 16);
  return made;
};

interface Kernel {
  /** What each read gives: a request, or an error. */
  readonly asked: readonly (string | { readonly code: string })[];
  /** What waiting says before each; 1 where nothing is said. */
  readonly ready?: readonly number[];
  readonly answer?: (text: string) => Buffer | undefined | Promise<Buffer | undefined>;
  readonly mayWait?: boolean;
  readonly sync?: () => void;
}

async function served({ asked, ready = [], answer = (text) => reply(text), mayWait = false, sync }: Kernel) {
  const [requests, waits] = [[...asked], [...ready]];
  const written: string[] = [];
  const patience: number[] = [];
  const synced: number[] = [];
  const ending = new AbortController();
  Object.assign(fs, {
    readSync: (descriptor: number, into: Buffer) => {
      assert.equal(descriptor, 77);
      const next = requests.shift();
      if (next === undefined) throw failing('ENODEV');
      if (typeof next === 'object') throw failing(next.code);
      into.fill(0, 0, 64);
      return into.write(next, 40) + 40;
    },
    writeSync: (descriptor: number, from: Buffer, offset: number, length: number) => {
      assert.deepEqual([descriptor, offset], [77, 0]);
      written.push(String(from.subarray(16, length)));
      return length;
    },
  });
  syncBuiltinESMExports();
  let isWaiting = false;
  const library = {
    wait: (_descriptor: number, milliseconds: number) => {
      patience.push(milliseconds);
      if (isWaiting && patience.length > 1000) ending.abort();
      return waits.shift() ?? 1;
    },
  } as unknown as FuseLibrary;
  const dispatch = {
    nodes: {},
    waitingForLocks: 0,
    givesUpLocks: () => undefined,
    mayWait: () => mayWait,
    answer: (bytes: Buffer, length: number) => {
      isWaiting = true;
      return answer(String(bytes.subarray(40, length)));
    },
  } as unknown as Dispatch;
  const filesystem = {
    sync: () => {
      synced.push(written.length);
      sync?.();
    },
  } as unknown as FileSystem;
  const before = Error.stackTraceLimit;
  try {
    await serve({ descriptor: 77, library, dispatch, filesystem, idleMilliseconds: 30, signal: ending.signal });
  } finally {
    assert.equal(Error.stackTraceLimit, before);
  }
  return { written, patience, synced, left: requests.length };
}

describe('the server of a mount', () => {
  it('answers each request, and as much of an answer as it says of itself', async () => {
    const { written, synced } = await served({
      asked: ['a', 'b', 'c'],
      answer: (text) => reply(text.toUpperCase(), 9),
    });
    assert.deepEqual([written, synced], [['A', 'B', 'C'], []]);
    assert.deepEqual(
      (await served({ asked: ['a', 'b'], answer: (text) => (text === 'a' ? undefined : reply(text)) })).written,
      ['b'],
    );
  });

  it('goes on where a request was taken back, and ends where nothing is mounted', async () => {
    const asked = ['a', { code: 'ENOENT' }, { code: 'EINTR' }, { code: 'EAGAIN' }, 'b', { code: 'ENODEV' }, 'never'];
    const { written, left } = await served({ asked });
    assert.deepEqual([written, left], [['a', 'b'], 1]);
    for (const code of ['EIO', 'EBADF', 'EPERM']) {
      await assert.rejects(served({ asked: ['a', { code }, 'b'] }), { code });
    }
  });

  it('waits as long as it is said while nothing comes, and writes what changed', async () => {
    const interrupted = -constants.errno.EINTR;
    const { written, patience, synced } = await served({ asked: ['a', 'b'], ready: [0, 1, interrupted, 0, 1] });
    assert.deepEqual(
      [written, synced],
      [
        ['a', 'b'],
        [0, 1],
      ],
    );
    assert.ok(
      patience.every((milliseconds) => milliseconds === 30),
      patience.join(' '),
    );
    const full = () => {
      throw new ErrnoError('ENOSPC', { operation: 'sync', reason: 'full' });
    };
    assert.deepEqual((await served({ asked: ['a'], ready: [0, 1], sync: full })).written, ['a']);
    const broken = () => {
      throw new TypeError('broken');
    };
    await assert.rejects(served({ asked: ['a'], ready: [0, 1], sync: broken }), TypeError);
  });

  it('serves others while an answer is awaited, looks more often, and waits for all at the end', async () => {
    let arrive = (_reply: Buffer): void => undefined;
    const late = new Promise<Buffer>((resolve) => {
      arrive = resolve;
    });
    const answer = (text: string) => {
      if (text === 'late') return late;
      if (text === 'last') arrive(reply('late'));
      return reply(text);
    };
    const { written, patience } = await served({ asked: ['late', 'a', 'b', 'last'], answer, mayWait: true });
    assert.deepEqual([...written].sort(), ['a', 'b', 'last', 'late']);
    assert.deepEqual(patience.slice(0, 4), [30, 1, 1, 1]);
    const alone = await served({ asked: ['late', 'a'], answer: async (text) => reply(text) });
    assert.deepEqual([alone.written, alone.patience[1]], [['late', 'a'], 30]);
  });

  it('lets the process do other work now and then, however much is asked', async () => {
    let turns = 0;
    const count = () => {
      turns += 1;
      if (turns < 100) setImmediate(count);
    };
    setImmediate(count);
    await served({ asked: Array(511).fill('a') });
    assert.equal(turns, 0);
    await served({ asked: Array(512).fill('a') });
    assert.ok(turns >= 1, 'no turn in 512 requests');
  });
});

it('an answer to a request that is gone, or of a mount that is gone, is dropped; nothing else is', () => {
  for (const [code, isDropped] of [
    ['ENOENT', true],
    ['ENODEV', true],
    ['EINVAL', false],
    ['EPERM', false],
    ['EIO', false],
  ] as const) {
    Object.assign(fs, {
      writeSync: () => {
        throw failing(code);
      },
    });
    syncBuiltinESMExports();
    const act = () => send(77, reply('x'));
    if (isDropped) assert.doesNotThrow(act, code);
    else assert.throws(act, { code });
  }
});
