import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type ExecRequest, refuseNoCommand, shortest } from './exec-request.js';
import { requestedOf } from './reported-request.js';

const least: ExecRequest = {
  argv: ['x'],
  cwd: '/w',
  environmentAdditions: [],
  weakened: [],
  streams: 'capture',
  wait: false,
};
const none = {
  ...{
    argv: ['x'],
    shell: null,
    cwd: '/w',
    agent: null,
    fork: null,
    readonly: false,
    live: false,
    timeoutMilliseconds: null,
  },
  ...{
    reads: [],
    writes: [],
    liveWrites: [],
    siblings: false,
    network: [],
    privateHosts: [],
    injected: [],
    environment: [],
    project: null,
  },
  ...{ quota: {}, user: null },
};

it('a request is told with each thing that was asked for, and variables and secrets by their names alone', () => {
  assert.deepEqual(requestedOf(least, false), none);
  assert.deepEqual(requestedOf(least, true), { ...none, live: true });
  const told: readonly (readonly [Partial<ExecRequest>, object])[] = [
    [{ argv: ['a', 'b'] }, { argv: ['a', 'b'] }],
    [{ shell: 's' }, { shell: 's' }],
    [{ cwd: '/other' }, { cwd: '/other' }],
    [{ agent: 'ada' }, { agent: 'ada' }],
    [{ fork: 'f' }, { fork: 'f' }],
    [{ readonly: true }, { readonly: true }],
    [{ timeoutMilliseconds: 0 }, { timeoutMilliseconds: 0 }],
    [{ reads: ['/r'] }, { reads: ['/r'] }],
    [{ writes: ['/w'] }, { writes: ['/w'] }],
    [{ liveWrites: ['/l'] }, { liveWrites: ['/l'] }],
    [{ siblings: true }, { siblings: true }],
    [{ network: ['any'] }, { network: ['any'] }],
    [{ privateHosts: ['h:1'] }, { privateHosts: ['h:1'] }],
    [{ secrets: [{ host: 'H', header: 'X-Key', value: 'hidden' }] }, { injected: ['h:443 x-key'] }],
    [{ environmentAdditions: ['A=hidden', 'B', 'C='] }, { environment: ['A', 'B', 'C'] }],
    [
      { reads: ['/r'], projectDefaults: { digest: 'd', warnings: [], reads: [{ path: '/l', target: '/t' }] } },
      { reads: ['/r', '/t'], project: 'd' },
    ],
    [{ projectDefaults: { digest: null, warnings: [], reads: [] } }, {}],
    [{ quota: { disk: 1 } }, { quota: { disk: 1 } }],
    [{ user: { uid: 5 } }, { user: { uid: 5, gid: 5 } }],
    [{ user: { uid: 5, gid: 0 } }, { user: { uid: 5, gid: 0 } }],
    [{ weakened: ['seccomp'], stdin: 'nothing' }, {}],
  ];
  for (const [asked, expected] of told)
    assert.deepEqual(requestedOf({ ...least, ...asked }, false), { ...none, ...expected });
});

it('a command is at least one word, and has the shortest of its times', () => {
  for (const argv of [[], [''], ['', 'x']]) assert.throws(() => refuseNoCommand({ argv }, 'exec'), { code: 'EINVAL' });
  for (const argv of [['x'], ['x', '']]) refuseNoCommand({ argv }, 'exec');
  assert.deepEqual(
    [shortest(), shortest(undefined), shortest(undefined, 5), shortest(3, 5), shortest(5, 3), shortest(0, 5)],
    [undefined, undefined, 5, 3, 3, 0],
  );
});
