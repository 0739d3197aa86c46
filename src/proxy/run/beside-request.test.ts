/** What a command that a tool runs has of its caller's, and what of its own: each member of a request. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { RunningJail } from '../../jail/launch.js';
import type { BesideCommand, ServerCommand, ToolCommand, ToolGrants } from '../agent-views.js';
import type { Asked } from '../approval/approval.js';
import { besideRequest, serverRequest, toolRequest } from './beside-request.js';
import type { ExecRequest } from './exec-request.js';

const heard = () => undefined;
const fail = () => assert.fail('the caller’s own');
const caller = {
  ...{
    argv: ['claude'],
    shell: 'x',
    cwd: '/work',
    fork: 'other',
    agent: 'ada',
    reads: ['/r'],
    writes: ['/w'],
    liveWrites: ['/l'],
  },
  ...{
    mounts: ['memory:=/m'],
    trees: [],
    pending: [],
    calledTool: 'x',
    toolCall: { name: 'other', cap: [] },
    approvedCall: 'a1',
    stdin: 'inherit',
    siblings: true,
    cache: 'share',
  },
  ...{ readonly: true, network: ['any'], privateHosts: ['p:1'], secrets: [], quota: { pids: 5 }, user: { uid: 7 } },
  ...{
    environmentAdditions: ['A=b'],
    home: '/h',
    weakened: ['landlock'],
    timeoutMilliseconds: 500,
    approvalMilliseconds: 9,
  },
  ...{ streams: 'inherit', keepsNoOutput: true, wait: true, alone: true, view: {} },
  ...{ onApproval: fail, onProgress: fail, onReady: fail, onLimit: fail, onOutput: fail, onStarted: fail },
} as unknown as ExecRequest;
const signal = new AbortController().signal;
const none = { onProgress: undefined, onReady: undefined, onLimit: undefined, onOutput: heard };
const common = {
  ...{
    ...none,
    streams: 'capture',
    input: 'nothing',
    signal,
    mounts: [],
    trees: undefined,
    isBeside: true,
    view: undefined,
  },
  ...{ calledTool: undefined, toolCall: undefined, approvedCall: undefined, alone: undefined, wait: false },
};
/** Without what is a function of its own for each. */
const plain = ({ onStarted, onApproval, ...rest }: { readonly onStarted?: unknown; readonly onApproval?: unknown }) => {
  assert.deepEqual([typeof onApproval, onApproval === fail], ['function', false]);
  assert.equal(typeof onStarted, 'function');
  assert.notEqual(onStarted, fail);
  return rest;
};

it('a command that waits for an approval says so where its output goes', async () => {
  const said: string[] = [];
  const onOutput = (stream: string, chunk: Buffer) => void said.push(`${stream}: ${chunk.toString()}`);
  const { onApproval } = besideRequest(caller, { text: 'make', directory: '/work', onOutput, signal }, '/work');
  assert.equal(await onApproval?.({ id: '3f2a9c01' } as Asked, signal), undefined);
  assert.deepEqual(said, ['stderr: ctx: waits for an approval: ctx approvals grant 3f2a9c01, or deny\n']);
});

it('a command beside its caller has all that is its caller’s, but for what the caller alone speaks to', () => {
  const command: BesideCommand = { text: 'make', directory: '/work', onOutput: heard, signal };
  const { onStarted: _own, onApproval: _asked, ...callers } = caller;
  const { argv, ...found } = plain(besideRequest(caller, command, '/work')) as ExecRequest;
  const { argv: _argv, ...expected } = {
    ...callers,
    ...common,
    shell: 'make',
    stdin: 'nothing',
    timeoutMilliseconds: 500,
  };
  assert.deepEqual([argv.at(-1), found], ['make', expected]);
  const elsewhere = besideRequest(caller, { ...command, directory: "/it's", timeoutMilliseconds: 400 }, '/work');
  assert.deepEqual([elsewhere.shell, elsewhere.timeoutMilliseconds], ["cd -- '/it'\\''s' || exit 1\nmake", 400]);
  assert.equal(besideRequest(caller, { ...command, timeoutMilliseconds: 600 }, '/work').timeoutMilliseconds, 500);
});

it('a tool runs by the approval of the call that it is run for, and no other command does', () => {
  const called = { ...caller, toolCall: { name: 'x', cap: [] } };
  assert.equal(toolRequest(called, tool, program, 9).approvedCall, 'a1');
  assert.equal(toolRequest(caller, tool, program, 9).approvedCall, undefined);
  const command: BesideCommand = { text: 'x', directory: '/work', onOutput: heard, signal };
  assert.equal(besideRequest(called, command, '/work').approvedCall, undefined);
});

it('it ends with its caller, also one that had gone before it started', () => {
  for (const isGone of [false, true]) {
    const gone = new AbortController();
    let kills = 0;
    const command: BesideCommand = { text: 'x', directory: '/work', onOutput: heard, signal: gone.signal };
    if (isGone) gone.abort();
    besideRequest(caller, command, '/work').onStarted?.({ kill: () => (kills += 1) } as unknown as RunningJail);
    assert.equal(kills, isGone ? 1 : 0);
    gone.abort();
    assert.equal(kills, 1);
  }
});

const grants: ToolGrants = {
  ...{ fork: undefined, reads: ['/tr'], writes: ['/tw'], network: ['a:443'], privateHosts: ['b:443'] },
  ...{ secrets: [{ host: 'a', port: 443, header: 'x', template: '$T' }], quota: { wallTime: 3, pids: 2 } },
};
const program = { source: '/tools/x', target: '/ctx/tool/x', access: 'read only', identity: '1:2' } as const;
const tool: ToolCommand = {
  name: 'x',
  program: { path: '/tools/x', identity: '1:2' },
  input: Buffer.from('{}'),
  grants,
  onOutput: heard,
  signal,
};

it('a tool of the operator’s has what it was granted, where its caller works, and nothing else of its caller’s', () => {
  const of = {
    ...common,
    cwd: '/work',
    fork: 'other',
    weakened: ['landlock'],
    argv: ['/ctx/tool/x'],
    environmentAdditions: [],
    stdin: 9,
  };
  const given = {
    ...{ reads: ['/tr'], liveWrites: ['/tw'], network: ['a:443'], privateHosts: ['b:443'], secrets: grants.secrets },
    quota: grants.quota,
  };
  for (const [fork, readonly] of [
    [undefined, true],
    ['ro', true],
    ['rw', false],
  ] as const) {
    const {
      timeoutMilliseconds: _time,
      approvalMilliseconds,
      pending: _pending,
      ...found
    } = plain(toolRequest(caller, { ...tool, grants: { ...grants, fork } }, program, 9)) as ExecRequest;
    const apart = { program, hidesFork: fork === undefined };
    const input = tool.input;
    assert.deepEqual([found, approvalMilliseconds], [{ ...of, ...given, input, readonly, apart }, 9], String(fork));
  }
});

it('a server has a home that stays, and is ended by no time but its caller’s', () => {
  const command: ServerCommand = { ...tool, input: 9 };
  const request = serverRequest(caller, command, program, '/home-of-tool');
  assert.deepEqual([request.quota, request.home, request.keepsNoOutput], [{ pids: 2 }, '/home-of-tool', true]);
  assert.deepEqual(request.apart, { program, hidesFork: true, keepsHome: true });
  assert.deepEqual([request.reads, request.privateHosts, request.stdin], [['/tr'], ['b:443'], 9]);
});
