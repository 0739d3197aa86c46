/** A hook that runs: its message in time and whole, its answer said, and an exit code that blocks where it was not. */
import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import type { RecordEntry } from '../audit/record.js';
import { ErrnoError } from '../base/errno.js';
import { hookInputBytes, hookInputMilliseconds, hookMilliseconds } from '../base/limits/decisions.js';
import { blockingExitCode, type HookRequest, protocolOf, runHook } from './hook.js';
import type { HookHost } from './hook-host.js';
import { readInput } from './read-input.js';

const never = () => new Promise<never>(() => undefined);
const call = (more: object = {}) => JSON.stringify({ version: 1, cwd: '/none', tool: 'read', paths: ['a'], ...more });
/** Whatever is asked of it fails, so that each answer is a denial that says why. */
const failing = new ErrnoError('EIO', { operation: 'open the store', reason: 'it failed' });

interface Given {
  readonly pieces?: readonly (string | Buffer)[];
  /** The message never ends. */
  readonly hangs?: boolean;
  readonly host?: () => Promise<HookHost>;
  readonly isGone?: boolean;
  readonly fails?: ErrnoError;
}

function running({
  pieces = [call()],
  hangs = false,
  host = async () => Promise.reject(failing),
  isGone,
  fails,
}: Given) {
  const said: [string, string][] = [];
  let ended = 0;
  let next = 0;
  const request: HookRequest = {
    protocol: protocolOf('json', false),
    commands: 'rewrite',
    task: { directory: '/none', agent: undefined, reads: [], writes: [], network: [], tools: [], environment: {} },
    host,
  };
  const code = runHook(request, {
    next: async () => {
      const piece = pieces[next++];
      if (piece !== undefined) return Buffer.from(piece);
      if (fails !== undefined) throw fails;
      return hangs ? never() : Buffer.alloc(0);
    },
    say: (stream, text) => {
      said.push([stream, text]);
      return isGone !== true;
    },
    endNow: () => {
      ended += 1;
    },
  });
  const decision = () => said.filter(([stream]) => stream === 'stdout').map(([, text]) => JSON.parse(text));
  return { code, said, decision, ended: () => ended };
}

/** Time passes when a test says so. */
async function withClock(act: (pass: (milliseconds: number) => Promise<void>) => Promise<void>): Promise<void> {
  mock.timers.enable({ apis: ['setTimeout'] });
  const pass = async (milliseconds: number) => {
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    mock.timers.tick(milliseconds);
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  try {
    await act(pass);
  } finally {
    mock.timers.reset();
  }
}

describe('a hook that runs', () => {
  it('answers once, ends with zero, and leaves no clock behind that would say more', async () => {
    await withClock(async (pass) => {
      const { code, said, decision, ended } = running({});
      assert.equal(await code, 0);
      assert.deepEqual(decision(), [{ version: 1, decision: 'deny', reason: 'open the store: it failed (EIO)' }]);
      await pass(2 * hookMilliseconds);
      assert.deepEqual([said.length, ended()], [1, 0]);
    });
  });

  it('blocks by its exit code where nobody reads its answer', async () => {
    const { code, said, ended } = running({ isGone: true });
    assert.equal(await code, blockingExitCode);
    assert.equal(blockingExitCode, 2);
    assert.deepEqual(
      said.map(([stream]) => stream),
      ['stdout', 'stderr'],
    );
    assert.match(said[1]?.[1] ?? '', /^ctx: open the store: it failed \(EIO\)\n$/);
    assert.equal(ended(), 0);
  });

  it('denies a message that never ends, when its time is over, and does not wait for it any more', async () => {
    for (const host of [
      undefined,
      async () => ({ recorder: { append: () => assert.fail() } }) as unknown as HookHost,
    ]) {
      await withClock(async (pass) => {
        const { code, said, decision, ended } = running({ hangs: true, ...(host === undefined ? {} : { host }) });
        await pass(hookInputMilliseconds - 1);
        assert.deepEqual([said, ended()], [[], 0]);
        await pass(1);
        assert.equal(await code, blockingExitCode);
        assert.equal(decision()[0]?.decision, 'deny');
        assert.deepEqual([said.map(([stream]) => stream), ended()], [['stdout', 'stderr'], 1]);
        await pass(hookMilliseconds);
        assert.equal(ended(), 1);
      });
    }
  });

  it('denies where what it asks does not answer, when its own time is over, and ends at once', async () => {
    assert.ok(hookMilliseconds > hookInputMilliseconds);
    await withClock(async (pass) => {
      const { said, decision, ended } = running({ host: never });
      await pass(hookMilliseconds - 1);
      assert.deepEqual([said, ended()], [[], 0]);
      await pass(1);
      assert.equal(ended(), 1);
      assert.match(decision()[0]?.reason, /within 15000 ms/);
      assert.equal(decision()[0]?.decision, 'deny');
      assert.match(said[1]?.[1] ?? '', /^ctx: expected to decide within 15000 ms.*\n$/);
    });
  });

  it('denies what it could not read, having read all of it', async () => {
    const entries: RecordEntry[] = [];
    const append = (entry: RecordEntry) => ({ chain: 'person', seq: entries.push(entry) });
    const host = async () => ({ recorder: { append } }) as unknown as HookHost;
    for (const [given, reason] of [
      [{ fails: new ErrnoError('EIO', { operation: 'read stdin', reason: 'torn away' }) }, /torn away/],
      [{ pieces: [Buffer.from([0xff])] }, /expected UTF-8/],
      [{ pieces: ['{"version":2}'] }, /version 1/],
    ] as const) {
      const { code, decision, ended } = running({ host, ...given });
      assert.equal(await code, 0);
      assert.equal(decision()[0]?.decision, 'deny');
      assert.match(decision()[0]?.reason, reason);
      assert.equal(ended(), 0);
    }
    assert.deepEqual(
      entries.map(({ status, session, facts }) => [status, session, Object.keys(facts ?? {})]),
      [1, 2, 3].map(() => ['denied', null, ['reason']]),
    );
  });

  it('records whose session it was, what was called and from where, each cut where it is long', async () => {
    const entries: RecordEntry[] = [];
    const append = (entry: RecordEntry) => ({ chain: 'person', seq: entries.push(entry) });
    const host = async () => ({ recorder: { append } }) as unknown as HookHost;
    const message = (more: object) =>
      JSON.stringify({
        hook_event_name: 'PreToolUse',
        tool_name: 'T',
        cwd: '/c',
        tool_input: {},
        session_id: 's',
        ...more,
      });
    const told = async (more: object) => {
      const pieces = [message(more)];
      const base = running({ pieces, host });
      await base.code;
      return entries.at(-1);
    };
    // The JSON protocol has no such members: they are refused, and its session is the harness's all the same.
    assert.equal((await told({}))?.session, 's');
    for (const length of [500, 501]) {
      const session = 'x'.repeat(length);
      const kept = length <= 500 ? session : `${'x'.repeat(500)}...`;
      assert.equal((await told({ session_id: session }))?.session, kept);
    }
    for (const none of [7, null, ['s'], undefined]) assert.equal((await told({ session_id: none }))?.session, null);
  });
});

describe('the input of a hook', () => {
  const read = (...pieces: readonly (string | Buffer)[]) => {
    let next = 0;
    return readInput(async () => Buffer.from(pieces[next++] ?? ''));
  };

  it('is all of its pieces, wherever they are cut', async () => {
    assert.equal(await read(), '');
    assert.equal(await read('one', 'two'), 'onetwo');
    const text = Buffer.from('aä€😀');
    for (let at = 1; at < text.length; at += 1) {
      assert.equal(await read(text.subarray(0, at), text.subarray(at)), 'aä€😀');
    }
    await assert.rejects(read(text.subarray(0, 2)), { code: 'EINVAL' });
  });

  it('has a limit, of all pieces together', async () => {
    const half = Buffer.alloc(hookInputBytes / 2, 'x');
    assert.equal((await read(half, half)).length, hookInputBytes);
    await assert.rejects(read(half, half, 'x'), { code: 'E2BIG' });
    await assert.rejects(read(Buffer.alloc(hookInputBytes + 1)), { code: 'E2BIG' });
  });
});
