import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BesideCommand } from '../proxy/agent-views.js';
import type { Host } from '../proxy/host.js';
import type { KeptCommand, KeptJailRequest } from './jail-request.js';
import { type BesideJail, keptRuns } from './kept-runs.js';

/** What a tool's command becomes, in a jail that was asked for so and is so now. */
async function ran(asked: object, isReadOnly: boolean, command: Partial<BesideCommand> = {}) {
  const calls: KeptCommand[] = [];
  const jail = {
    fork: 'main',
    isReadOnly,
    beside: async (call: KeptCommand) => {
      calls.push(call);
      return { exitCode: 3, signal: null, timedOut: true, more: 'of a report' };
    },
  } as unknown as BesideJail;
  const request = { cwd: '/work', environmentAdditions: ['SECRET=1'], ...asked } as unknown as KeptJailRequest;
  const { run } = keptRuns({} as Host, request, '/work', () => jail);
  const { signal } = new AbortController();
  const whole = { text: 'make', directory: '/work', timeoutMilliseconds: 5, signal, onOutput: () => undefined };
  const end = await run({ ...whole, ...command } as BesideCommand);
  return { end, call: calls[0] as KeptCommand, signal };
}

describe('a command that a tool runs in a kept jail', () => {
  it('is a shell’s, in the directory of its caller, and reads nothing', async () => {
    const { end, call, signal } = await ran({}, false);
    assert.deepEqual(end, { exitCode: 3, signal: null, timedOut: true });
    assert.deepEqual([call.shell, call.cwd, call.input, call.timeoutMilliseconds], ['make', '/work', 'nothing', 5]);
    assert.deepEqual([call.argv.at(-1), call.environmentAdditions, typeof call.onApproval], ['make', [], 'function']);
    assert.equal(call.signal, signal);
    const elsewhere = await ran({}, false, { directory: "/it's" });
    assert.equal(elsewhere.call.shell, "cd -- '/it'\\''s' || exit 1\nmake");
  });

  it('may write only where its caller may', async () => {
    for (const [asked, isReadOnly, expected] of [
      [{}, false, false],
      [{ readonly: true }, false, true],
      [{}, true, true],
      [{ readonly: false }, true, true],
    ] as const) {
      assert.equal((await ran(asked, isReadOnly)).call.readonly, expected);
    }
  });

  it('is refused before the jail is made', async () => {
    const { run } = keptRuns({} as Host, {} as KeptJailRequest, '/work', () => undefined);
    await assert.rejects(run({} as BesideCommand), { code: 'EAGAIN' });
  });
});
