import assert from 'node:assert/strict';
import { closeSync, fstatSync, openSync } from 'node:fs';
import { describe, it } from 'node:test';
import { systemDirectories } from '../../authority/system-profile.js';
import { terminationGraceMilliseconds } from '../../base/limits/commands.js';
import { planLimits } from '../../jail/plan-bytes.js';
import type { AskedTree, TreeServing } from '../asked-tree.js';
import type { Host } from '../host.js';
import type { EnforcedView } from './enforced-plan.js';
import { serversOf, treeText, withTrees } from './served-trees.js';

const host = { hidden: ['/home/me/.local/store'] } as unknown as Host;
const view = {
  masked: ['/work/masked/inner'],
  jail: {
    identity: { kind: 'self', uid: 1, gid: 1 },
    hidden: ['/work/hidden'],
    temporary: ['/var/own'],
    overlays: [{ target: '/work' }],
    caches: [{ target: '/home/me/.cache/npm' }],
    repeated: [{ source: '/work', target: '/again', access: 'read write' }],
    links: [{ path: '/home/me/link', target: '/x' }],
    shared: [
      { source: '/store/home', target: '/home/me', access: 'read write', ofFork: true },
      { source: '/data', target: '/data/shown', access: 'read only' },
      { source: '/live', target: '/live', access: 'read write' },
      { source: '/store/closed', target: '/closed', access: 'read only', ofFork: true },
    ],
  },
} as unknown as EnforcedView;

function tree(given: Partial<AskedTree> = {}): AskedTree {
  const none = { problem: () => undefined, outcome: () => undefined, start: () => assert.fail('not yet') };
  return {
    specification: 'memory:',
    target: '/mnt/data',
    writable: false,
    backings: [],
    lasts: false,
    ...none,
    ...given,
  };
}

const accepts = (...trees: readonly AskedTree[]) => withTrees(host, view, trees);
const refuses = (what: string, ...trees: readonly AskedTree[]) =>
  assert.throws(() => accepts(...trees), { code: 'EINVAL', operation: '--mount' }, what);

describe('where a tree may be', () => {
  it('is where nothing is, or in a directory that is the fork’s own', () => {
    for (const target of [
      '/mnt',
      '/mnt/data',
      '/tmp/x',
      '/var/own/x',
      '/home/me/x',
      '/home/me2',
      '/data/other',
      '/workx',
      '/srv/x/y',
    ]) {
      const { jail, ...rest } = accepts(tree({ target, writable: true }));
      assert.deepEqual(jail.served, [{ target, writable: true }], target);
      assert.deepEqual([rest.masked, jail.shared], [view.masked, view.jail.shared]);
    }
  });

  it('is not the jail’s own place, nor above or below what is shown or hidden', () => {
    const own = ['/proc', '/sys', '/dev', '/etc', '/run', '/var/tmp', '/ctx', ...systemDirectories];
    for (const path of own) for (const target of [path, `${path}/x`]) refuses(target, tree({ target }));
    for (const target of ['/', '/var', 'mnt', '/mnt/', '/mnt/../x', '/mnt//x', '', '/mnt/.'])
      refuses(target, tree({ target }));
    const shown = ['/data/shown', '/live', '/closed', '/home/me/.cache/npm', '/home/me/link', '/work', '/again'];
    for (const path of [...shown, '/work/hidden', '/work/masked/inner'])
      for (const target of [path, `${path}/x`]) refuses(target, tree({ target }));
    for (const target of ['/home', '/home/me', '/home/me/.cache', '/data', '/tmp', '/var/own', '/work/masked'])
      refuses(target, tree({ target }));
  });

  it('is not inside another, whichever was named first, and there are not too many', () => {
    const at = (...targets: readonly string[]) => targets.map((target) => tree({ target }));
    for (const targets of [
      ['/mnt', '/mnt/x'],
      ['/mnt/x', '/mnt'],
      ['/mnt', '/mnt'],
    ])
      refuses(String(targets), ...at(...targets));
    const many = Array.from({ length: planLimits.channels }, (_, index) => `/mnt/${index}`);
    assert.equal(accepts(...at(...many)).jail.served?.length, planLimits.channels);
    refuses('one more', ...at(...many, '/mnt/more'));
    assert.equal(accepts(), view);
  });
});

describe('what a tree may show', () => {
  const backed = (kind: 'directory' | 'file', path: string, more: Partial<AskedTree> = {}) =>
    tree({ backings: [{ kind, path }], ...more });

  it('is not what no command sees: not a part of it, not a directory around it', () => {
    for (const hidden of ['/home/me/.local/store', '/work/hidden']) {
      for (const kind of ['directory', 'file'] as const) {
        for (const path of [hidden, `${hidden}/x`]) refuses(path, backed(kind, path));
      }
      refuses('around it', backed('directory', hidden.slice(0, hidden.lastIndexOf('/'))));
      accepts(backed('file', hidden.slice(0, hidden.lastIndexOf('/'))));
      accepts(backed('directory', `${hidden}2`));
      refuses('second', {
        ...backed('directory', '/x'),
        backings: [
          { kind: 'directory', path: '/x' },
          { kind: 'file', path: hidden },
        ],
      });
    }
  });

  it('is not by grants that the command can write itself', () => {
    const granted = (grants: string) => tree({ grants });
    for (const grants of ['/live/grants', '/store/home/grants', '/live']) refuses(grants, granted(grants));
    for (const grants of ['/data/grants', '/grants', '/livelong', '/store/closed/grants']) accepts(granted(grants));
    const shared = backed('directory', '/shared', { target: '/mnt/shared' });
    accepts(granted('/shared/grants'), shared);
    refuses('written by another', granted('/shared/grants'), { ...shared, writable: true });
    refuses('written by itself', backed('directory', '/own', { writable: true, grants: '/own/grants' }));
  });
});

it('a tree is told as it would be written', () => {
  const specification = 'dir:/x';
  const told = [{}, { writable: true }, { grants: '/g' }, { writable: true, grants: '/g' }].map((more) =>
    treeText(tree({ specification, target: '/t', ...more })),
  );
  assert.deepEqual(told, ['dir:/x=/t', 'dir:/x=/t:rw', 'dir:/x=/t:grants=/g', 'dir:/x=/t:rw:grants=/g']);
});

describe('the servers of trees', () => {
  const open = () => openSync('/dev/null', 'r');
  const isOpen = (descriptor: number) => {
    try {
      fstatSync(descriptor);
      return true;
    } catch {
      return false;
    }
  };

  function serving(more: Partial<TreeServing> = {}) {
    const said: string[] = [];
    const channel = open();
    const one: TreeServing = {
      channel,
      ended: async () => void said.push('ended'),
      kill: () => said.push('killed'),
      ...more,
    };
    return { said, one, start: async () => one };
  }

  it('have their channels first, in the order of the plan, and end with the jail, which has their descriptors', async () => {
    const sockets = open();
    const [first, second] = [serving({ sockets }), serving()];
    const identities: unknown[] = [];
    const starts = [first, second].map((each) => async (identity: unknown) => {
      identities.push(identity);
      return each.start();
    });
    const servers = await serversOf(
      view,
      starts.map((start) => ({ start })),
    )?.();
    const channels = [first.one.channel, second.one.channel, sockets];
    assert.deepEqual([servers?.channels, identities], [channels, [view.jail.identity, view.jail.identity]]);
    await servers?.end(true);
    assert.deepEqual([first.said, second.said, channels.map(isOpen)], [['ended'], ['ended'], [true, true, true]]);
    for (const descriptor of channels) closeSync(descriptor);
    assert.equal(serversOf(view), undefined);
  });

  it('are ended with what they had opened where there is no jail for them, or one cannot start', async () => {
    const first = serving();
    const servers = await serversOf(view, [first])?.();
    await servers?.end(false);
    assert.deepEqual([first.said, isOpen(first.one.channel)], [['ended'], false]);
    const [good, late] = [serving({ sockets: open() }), serving()];
    const fails = { start: () => Promise.reject(new Error('damaged')) };
    await assert.rejects(async () => serversOf(view, [good, fails, late])?.(), { message: 'damaged' });
    for (const { said, one } of [good, late]) {
      assert.deepEqual([said, [one.channel, one.sockets ?? -1].map(isOpen)], [['ended'], [false, false]]);
    }
  });

  it('are killed a grace after the jail, once, and not where they ended by then', async (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] });
    const [first, second] = [serving(), serving()];
    const servers = await serversOf(view, [first, second])?.();
    servers?.jailKilled();
    context.mock.timers.tick(terminationGraceMilliseconds - 1);
    servers?.jailKilled();
    assert.deepEqual([first.said, second.said], [[], []]);
    context.mock.timers.tick(1);
    assert.deepEqual([first.said, second.said], [['killed'], ['killed']]);
    await servers?.end(false);
    const third = serving();
    const others = await serversOf(view, [third])?.();
    others?.jailKilled();
    await others?.end(false);
    context.mock.timers.tick(2 * terminationGraceMilliseconds);
    assert.deepEqual(third.said, ['ended']);
  });
});
