import assert from 'node:assert/strict';
import { accessSync, constants } from 'node:fs';
import { describe, it } from 'node:test';
import { type Authority, makeAuthority } from '../../authority/authority.js';
import { parseLabel } from '../../authority/label.js';
import { parseMounts } from '../../authority/mount.js';
import { parsePolicy } from '../../authority/policy.js';
import { makeSurface } from '../../authority/surface.js';
import { planLimits } from '../../jail/plan-bytes.js';
import type { AgentView, AgentViewRequest } from '../agent-views.js';
import type { Host } from '../host.js';
import { agentViewFor, viewServer, withAgentView, writesObjects } from './agent-view.js';
import type { ResolvedAuthority } from './authority-of.js';
import type { EnforcedView } from './enforced-plan.js';

const withoutFuse = (() => {
  try {
    accessSync('/dev/fuse', constants.R_OK | constants.W_OK);
    return false as const;
  } catch {
    return '/dev/fuse cannot be opened here';
  }
})();

function authority({ policy = '', mounts = '' }: { policy?: string; mounts?: string } = {}): Authority {
  return makeAuthority({
    identity: { uid: 1, gid: 1, label: parseLabel('user_u:agent_r:ada_t:s0') },
    surface: makeSurface({ cwd: '/work', additionalWrites: ['/other'] }),
    mounts: parseMounts(mounts, 'mount'),
    policy: parsePolicy(policy, 'policy'),
  });
}

const runs = {} as Pick<AgentViewRequest, 'run' | 'runTool' | 'runServer' | 'pending'>;
const place = { origin: '/work', directory: '/work/sub', owner: { uid: 1, gid: 1, shift: 0 } };

/** What a view is asked for, by whom, and what is said where there is none. */
async function offered(given: { agent?: string; tool?: string; policy?: string; mounts?: string }, hasViews = true) {
  const asked: AgentViewRequest[] = [];
  const views = async (request: AgentViewRequest) => {
    asked.push(request);
    return {} as AgentView;
  };
  const { agent, tool } = given;
  const named = agent === undefined ? undefined : ({ name: agent } as ResolvedAuthority['agent']);
  const host = (hasViews ? { views } : {}) as Host;
  const resolved = { agent: named, authority: authority(given), roots: ['/other'], tool };
  const { view, warnings } = await agentViewFor(host, place, resolved, runs);
  assert.equal(view === undefined, asked.length === 0);
  return { asked: asked[0], warnings };
}

describe('the view of an agent', { skip: withoutFuse }, () => {
  it('is for one that has an agent, or calls a tool; with the directories of the fork, and where else they are shown', async () => {
    const none = { asked: undefined, warnings: [] };
    assert.deepEqual(await offered({}), none);
    assert.deepEqual(await offered({ agent: 'ada' }, false), none);
    const mounts =
      '/work/docs\t/docs\tro\t-\n/data\t/data\tro\t-\n/work/sub\t/work/sub\tro\t-\n/other\t/second\trw\t-\n';
    for (const who of [{ agent: 'ada' }, { tool: 'x' }]) {
      const { asked, warnings } = await offered({ ...who, mounts });
      const { authority: _authority, ...rest } = asked ?? assert.fail();
      assert.deepEqual(rest, {
        ...{ agent: undefined, tool: undefined, ...who, directory: '/work/sub' },
        roots: [
          { path: '/work', source: '/work' },
          { path: '/other', source: '/other' },
          { path: '/docs', source: '/work/docs' },
          { path: '/second', source: '/other' },
        ],
      });
      assert.deepEqual(warnings, []);
    }
  });

  it('is not given where something is mounted in its place, which is said to one that would miss it', async () => {
    for (const [target, isTaken] of [
      ['/ctx', true],
      ['/ctx/x', true],
      ['/run', true],
      ['/run/ctx', true],
      ['/run/ctx/x', true],
      ['/ctx2', false],
      ['/run2', false],
    ] as const) {
      const mounts = `/data\t${target}\tro\t-\n`;
      const quiet = await offered({ agent: 'ada', mounts });
      assert.deepEqual([quiet.asked === undefined, quiet.warnings], [isTaken, []], target);
      for (const kind of ['tool:x execute', 'agent:x read', 'shared:x read', 'model:a/b use'] as const) {
        const missed = await offered({ agent: 'ada', mounts, policy: `allow ada_t ${kind}\n` });
        assert.equal(missed.warnings.length, isTaken ? 1 : 0, `${target} ${kind}`);
      }
      const called = await offered({ tool: 'x', mounts });
      assert.equal(called.warnings.length, isTaken ? 1 : 0);
    }
    const others = await offered({
      agent: 'ada',
      mounts: '/data\t/ctx\tro\t-\n',
      policy: 'allow eve_t tool:x execute\n',
    });
    assert.deepEqual(others.warnings, [], 'another type’s rule');
    const inPlace = await offered({ agent: 'ada', mounts: '/run\t/run\tro\t-\n' });
    assert.ok(inPlace.asked === undefined, 'of the host, at its own path');
    const own = await offered({ agent: 'ada', mounts: '/ctx/tool\t/ctx/tool\tro\t-\n' });
    assert.ok(own.asked !== undefined, 'the view’s own path in its own place');
  });
});

it('a view is written to where the policy lets it write control files of agents', () => {
  const writes = (policy: string) => writesObjects(authority({ policy }));
  assert.equal(writes('allow ada_t agent:bob write\n'), true);
  for (const policy of [
    '',
    'allow ada_t agent:bob read\n',
    'allow eve_t agent:bob write\n',
    'allow ada_t shared:x write\n',
  ]) {
    assert.equal(writes(policy), false, policy);
  }
});

describe('the view in a jail', () => {
  const served = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ target: `/mnt/${index}`, writable: false }));
  const viewOf = (count?: number) =>
    ({
      masked: ['/m'],
      jail: {
        shared: [{ source: '/s', target: '/t', access: 'read only' }],
        person: { home: '/home/me' },
        ...(count === undefined ? {} : { served: served(count) }),
      },
    }) as unknown as EnforcedView;
  const agentView = { socketDirectory: '/sockets/1', isWritten: true } as AgentView;

  it('is served last, with its socket read-only, where there is a channel left', () => {
    const plain = viewOf(1);
    assert.equal(withAgentView(plain, undefined), plain);
    for (const count of [undefined, 0, planLimits.channels - 1]) {
      const { jail, masked } = withAgentView(viewOf(count), agentView);
      assert.deepEqual(jail.served, [...served(count ?? 0), { target: '/ctx', writable: true }]);
      assert.deepEqual(jail.shared.at(-1), { source: '/sockets/1', target: '/run/ctx', access: 'read only' });
      assert.deepEqual([jail.shared.length, masked], [2, ['/m']]);
    }
    assert.equal(withAgentView(viewOf(), { ...agentView, isWritten: false }).jail.served?.[0]?.writable, false);
    assert.throws(() => withAgentView(viewOf(planLimits.channels), agentView), { code: 'EINVAL' });
  });

  it('is started with who the command is and where it is at home, and ends with the jail or when that is killed', async () => {
    const said: unknown[] = [];
    const view = {
      start: async (asked: unknown) => {
        said.push(asked);
        return { channel: 7, sockets: 8 };
      },
      end: async () => void said.push('ended'),
    } as unknown as AgentView;
    assert.deepEqual(viewServer(undefined, viewOf(), 'main'), []);
    const [server, ...more] = viewServer(view, viewOf(), 'main');
    const identity = { kind: 'self', uid: 1, gid: 2 } as const;
    const serving = await server?.start(identity);
    assert.deepEqual([serving?.channel, serving?.sockets, more], [7, 8, []]);
    await serving?.ended();
    serving?.kill();
    assert.deepEqual(said, [{ identity, home: '/home/me', fork: 'main' }, 'ended', 'ended']);
  });
});
