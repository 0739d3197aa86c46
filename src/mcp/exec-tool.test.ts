/** What a model is told of a command: how it ended, and everything the jail did about it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Envelope } from '../sdk/report.js';
import { execTool, reportOf } from './exec-tool.js';
import { ToolInput } from './input.js';
import type { Context } from './tool.js';

const quiet = {
  stdout: null,
  stderr: null,
  exitCode: 0,
  signal: null,
  timedOut: false,
  limitError: undefined,
  durationMilliseconds: 12.4,
  changes: [],
  pending: 0,
  refusals: [],
  connections: [],
  limitsReached: [],
  warnings: [],
  clashes: [],
  approval: undefined,
};
const report = (given: object) => reportOf({ ...quiet, ...given } as unknown as Envelope);
const lines = (given: object) => report(given).text.split('\n');

describe('the report of a command', () => {
  it('says how it ended: by its time, by a limit, by a signal, or with a code, the first of them that holds', () => {
    for (const [given, head] of [
      [{}, 'exit 0'],
      [{ exitCode: 3 }, 'exit 3'],
      [{ exitCode: null, signal: 'SIGKILL' }, 'ended by SIGKILL'],
      [{ limitError: {} }, 'failed: it reached a limit on what it may write'],
      [{ exitCode: null, signal: 'SIGKILL', limitError: {} }, 'failed: it reached a limit on what it may write'],
      [{ timedOut: true, exitCode: null, signal: 'SIGKILL' }, 'ended by its time limit'],
      [{ timedOut: true, limitError: {} }, 'ended by its time limit'],
    ] as const) {
      assert.deepEqual(lines(given), [`[${head}, 12 ms]`]);
      const { facts, isError } = report(given);
      const { exitCode, signal, timedOut } = { ...quiet, ...given };
      assert.deepEqual([facts?.['exitCode'], facts?.['signal'], facts?.['timedOut']], [exitCode, signal, timedOut]);
      assert.equal(isError, undefined, 'a command that fails is no failure of the tool');
    }
  });

  it('has the output before that, and stderr apart', () => {
    const stream = (text: string) => ({ text });
    const end = '[exit 0, 12 ms]';
    assert.deepEqual(lines({ stdout: stream('out\n\n') }), ['out', end]);
    assert.deepEqual(lines({ stderr: stream('bad\n') }), ['stderr:', 'bad', end]);
    assert.deepEqual(lines({ stdout: stream('out\n'), stderr: stream('bad') }), ['out', 'stderr:', 'bad', end]);
    assert.deepEqual(lines({ stdout: stream(''), stderr: stream('') }), [end]);
    const { facts } = report({ stdout: stream('out\n'), stderr: stream('bad\n') });
    assert.deepEqual([facts?.['stdout'], facts?.['stderr']], ['out\n', 'bad\n']);
  });

  it('names changes by kind, up to forty, and says how many are left', () => {
    for (const count of [0, 1, 39, 40, 41, 100]) {
      const kinds = ['added', 'modified', 'deleted', 'restored'] as const;
      const changes = Array.from({ length: count }, (_, at) => ({ kind: kinds[at % 4], path: `f${at}`, more: 1 }));
      const [, ...rest] = lines({ changes, pending: count });
      const shown = changes.slice(0, 40).map(({ path }, at) => `${'AMDR'[at % 4]} ${path}`);
      const left = count > 40 ? [`and ${count - 40} more: see diff`] : [];
      const pending = count === 0 ? [] : [`${count} change${count === 1 ? '' : 's'} pending in the fork`];
      assert.deepEqual(rest, [...shown, ...left, ...pending]);
      const { facts } = report({ changes, pending: count });
      assert.deepEqual(
        facts?.['changes'],
        changes.slice(0, 40).map(({ kind, path }) => ({ kind, path })),
      );
      assert.deepEqual([facts?.['pending'], facts?.['notes']], [count, rest]);
    }
  });

  it('says each thing that the command itself cannot know', () => {
    const [, ...rest] = lines({
      refusals: [{ call: 'mount', count: 2, why: 'a wall' }],
      connections: [
        { host: 'a', port: 1, verdict: 'allowed', reason: 'r' },
        { host: 'b', port: 2, verdict: 'denied', reason: 's' },
        { host: 'c', port: 3, verdict: 'failed', reason: 't' },
      ],
      limitsReached: ['memory'],
      clashes: ['their/file'],
      warnings: ['careful'],
      pending: 1,
    });
    assert.deepEqual(rest, [
      'refused mount 2 times: a wall',
      'refused to connect to b:2: s',
      'refused to connect to c:3: t',
      'memory',
      'the person changed their/file too',
      'careful',
      '1 change pending in the fork',
    ]);
  });
});

describe('exec', () => {
  const given = async (asked: Record<string, unknown>, output?: Uint8Array) => {
    const calls: unknown[][] = [];
    const said: string[] = [];
    const asks: unknown[] = [];
    const signal = new AbortController().signal;
    const workspace = {
      run: async (command: unknown, options: Record<string, unknown>) => {
        const { onOutput, onApproval, ...rest } = options as { onOutput: Output; onApproval: Approval };
        calls.push([command, rest]);
        if (output !== undefined) onOutput('stdout', output);
        assert.equal(await onApproval({ id: 'one' }), undefined, 'the client does not answer it');
        return quiet;
      },
    };
    type Output = (stream: string, chunk: Uint8Array) => void;
    type Approval = (request: unknown) => Promise<unknown>;
    const context = {
      workspace,
      signal,
      timeoutMilliseconds: undefined,
      say: (text: string) => said.push(text),
      asked: (request: unknown) => asks.push(request),
    };
    await execTool.run(new ToolInput('exec', execTool.input, asked), context as unknown as Context);
    assert.deepEqual(asks, [{ id: 'one' }]);
    return { call: calls[0], said, signal };
  };

  it('runs what it is given where it is given, with its input and its signal', async () => {
    const plain = { directory: undefined, input: undefined, timeoutMilliseconds: undefined };
    for (const [asked, command, options] of [
      [{ argv: ['a', 'b'] }, ['a', 'b'], {}],
      [{ shell: 'a | b' }, { shell: 'a | b' }, {}],
      [{ shell: '' }, { shell: '' }, {}],
      [
        { argv: ['a'], directory: 'd', input: 'i', timeout_seconds: 2 },
        ['a'],
        { directory: 'd', input: 'i', timeoutMilliseconds: 2_000 },
      ],
    ] as const) {
      const { call, signal } = await given(asked);
      assert.deepEqual(call, [command, { ...plain, ...options, signal }]);
    }
    for (const asked of [{}, { argv: ['a'], shell: 'a' }]) await assert.rejects(given(asked), { code: 'EINVAL' });
  });

  it('says the last line of output that has something in it, and not more than a line of 200 characters', async () => {
    for (const [output, said] of [
      ['one\ntwo\n', ['two']],
      ['one\ntwo', ['two']],
      ['\n \n', []],
      ['', []],
      ['x'.repeat(201), ['x'.repeat(200)]],
    ] as const) {
      assert.deepEqual((await given({ argv: ['a'] }, Buffer.from(output))).said, said, JSON.stringify(output));
    }
  });
});
