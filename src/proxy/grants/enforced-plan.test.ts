import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Operation, Plan } from '../../jail/operation.js';
import type { JailView } from '../../jail/plan.js';
import { type ApartTool, apartView } from './apart-view.js';
import { type EnforcedView, enforcedPlan, mountingPlan, temporaryOf } from './enforced-plan.js';

const overlay = (target: string) => ({ target, lower: ['l'], upper: 'u', work: 'w' });
function viewOf(given: Partial<EnforcedView> = {}, jail: Partial<JailView> = {}): EnforcedView {
  const own = { overlays: [], shared: [], identity: { kind: 'self', uid: 1, gid: 1 }, ...jail } as unknown as JailView;
  return { jail: own, readOnly: [], masked: [], noExecution: [], ...given };
}

describe('the plan of a jail, with what an Authority says inside of trees', () => {
  const bind = (target: string): Operation => ({ do: 'bind', source: '/s', target, attributes: ['no setuid'] });
  const fuse = (path: string): Operation => ({ do: 'fuse', path, channel: 0, attributes: [] });
  const again: Operation = { do: 'again', source: '/s', target: '/again', attributes: [] };
  const layers = { lower: ['l'], upper: 'u', work: 'w', attributes: [] } as const;
  const fork: Operation = { do: 'overlay', target: '/fork', ...layers };
  const cache: Operation = { do: 'cache', target: '/cache', source: '/c', upper: 'u', work: 'w', attributes: [] };
  const before: Plan = [bind('/a'), bind('/b'), fuse('/f'), again, fork, cache, { do: 'mask', path: '/masked' }];
  const plan: Plan = [...before, { do: 'pivot' }, { do: 'command', argv: ['x'] }];
  const made = (view: EnforcedView) => enforcedPlan(view, () => plan);

  it('makes parts read-only and masks them when all is mounted, before the new root is entered; each path once', () => {
    assert.deepEqual(made(viewOf()), plan);
    const view = viewOf({ readOnly: ['/a/r', '/b'], masked: ['/a/m', '/masked'] }, {
      repeated: [{ source: '/r', target: '/again2', access: 'read only' }],
    } as unknown as JailView);
    const [, ...rest] = made(view).slice(before.length - 1);
    assert.deepEqual(rest, [
      { do: 'make read only', path: '/a/r' },
      { do: 'make read only', path: '/b' },
      { do: 'mask', path: '/a/m' },
      { do: 'again', source: '/r', target: '/again2', attributes: ['no setuid', 'no devices', 'read only'] },
      { do: 'pivot' },
      { do: 'command', argv: ['x'] },
    ]);
    assert.deepEqual(made(view).slice(0, before.length), before);
  });

  it('takes execution from the mounts that are named, whatever kind they are, and from no other', () => {
    const named = made(viewOf({ noExecution: ['/a', '/f', '/again', '/fork', '/cache', '/masked'] }));
    const attributes = named.map((operation) => ('attributes' in operation ? operation.attributes : undefined));
    const own = ['no setuid', 'no execution'];
    assert.deepEqual(attributes, [
      own,
      ['no setuid'],
      ...Array.from({ length: 4 }, () => ['no execution']),
      ...[undefined, undefined, undefined],
    ]);
  });

  it('mounts for one command of a kept jail the overlays, of which whole ones may be read-only', () => {
    const view = viewOf(
      { readOnly: ['/work', '/work/.git'], masked: ['/m'], noExecution: ['/other'] },
      { overlays: [overlay('/work'), overlay('/other')] },
    );
    const found = mountingPlan(view);
    assert.deepEqual(
      found.filter((operation) => operation.do === 'overlay').map(({ target }) => target),
      ['/other', '/work'],
    );
    const ofOther = found.find((operation) => operation.do === 'overlay' && operation.target === '/other');
    assert.ok(ofOther?.do === 'overlay' && ofOther.attributes.includes('no execution'));
    assert.deepEqual(found.at(-1), { do: 'make read only', path: '/work' });
    assert.equal(found.filter((operation) => operation.do === 'make read only').length, 1);
    assert.ok(found.every((operation) => operation.do !== 'mask'));
  });

  it('counts the fork’s own /tmp, and no other that is there', () => {
    const at = (target: string, ofFork?: true) => ({ source: `/s${target}`, target, access: 'read write', ofFork });
    const found = (...shared: readonly object[]) => temporaryOf(viewOf({}, { shared } as unknown as JailView));
    assert.equal(found(at('/home', true), at('/tmp', true)), '/s/tmp');
    assert.equal(found(at('/home', true), at('/tmp')), undefined);
    assert.equal(found(), undefined);
  });
});

describe('the view of a tool that is apart from its caller’s fork', () => {
  const program = { source: '/tools/x', target: '/ctx/tool/x', access: 'read only' } as const;
  const shared = [
    { source: '/store/home', target: '/home/me', access: 'read write', ofFork: true },
    { source: '/store/tmp', target: '/tmp', access: 'read write', ofFork: true },
    { source: '/usr', target: '/usr', access: 'read only' },
  ] as const;
  const view = viewOf({ masked: ['/m'] }, {
    ...{ shared, overlays: [overlay('/work'), overlay('/other')], caches: [{ target: '/home/me/.npm' }] },
    ...{ directory: '/work/sub', temporary: ['/run/x'], person: { home: '/home/me' } },
  } as unknown as JailView);
  const apart = (tool: Partial<ApartTool>) => apartView(view, { program, hidesFork: false, ...tool });

  it('has its program, empty places where the fork’s own were, and no caches', () => {
    const { jail, masked } = apart({});
    assert.deepEqual(jail.shared, [shared[2], program]);
    assert.deepEqual([jail.caches, jail.temporary], [[], ['/run/x', '/home/me', '/tmp']]);
    assert.deepEqual([jail.directory, masked, jail.overlays], ['/work/sub', ['/m'], view.jail.overlays]);
  });

  it('is told nothing of the fork where it is hidden, and keeps a home that is its own', () => {
    const hidden = apart({ hidesFork: true });
    assert.deepEqual([hidden.masked, hidden.jail.directory], [['/m', '/work', '/other'], '/tmp']);
    const kept = apart({ keepsHome: true });
    assert.deepEqual(kept.jail.shared, [shared[0], shared[2], program]);
    assert.deepEqual(kept.jail.temporary, ['/run/x', '/tmp']);
  });
});
