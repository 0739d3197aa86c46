import assert from 'node:assert/strict';
import { lstatSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { Authority } from '../../authority/authority.js';
import type { Mount } from '../../authority/mount.js';
import { View } from '../../authority/view.js';
import { vaultPaths, workspaceRoot } from '../../vault/store/layout.js';
import { type ResolvedAuthority, resolveAuthority } from '../grants/authority-of.js';
import { hasMountsInside } from '../grants/mounts-inside.js';
import type { Host } from '../host.js';
import { overlayOf } from './fork-mounts.js';
import { type ViewRequest, viewOf } from './view.js';

const base = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-entries-')));
after(() => rmSync(base, { recursive: true }));
const at = (...names: readonly string[]) => join(base, ...names);
const home = at('home/ada');
const origin = join(home, 'project');
for (const path of ['home/ada/project/src', 'store', 'data/inner', 'cache']) mkdirSync(at(path), { recursive: true });
writeFileSync(at('data/file'), '');
const paths = vaultPaths(at('store'), '0123456789abcdef');
const overlay = overlayOf(paths, { target: origin, root: workspaceRoot, frozen: [], live: '0' });
const place = { directory: join(origin, 'src'), origin, owner: { uid: 1000, gid: 1000, shift: 0 } };
const host = {
  ...{ store: { directory: at('store') }, home, root: at('objects'), architecture: 'x64', processes: 1024 },
  ...{ operatorDirectories: [], hidden: [at('store')], environment: { PATH: '/usr/bin' } },
} as unknown as Host;
const mounts = { base: paths.directory, overlays: [overlay], home: at('private') };

interface Given {
  readonly reads?: readonly string[];
  readonly mounts?: readonly Mount[];
  readonly authority?: Partial<Authority>;
  readonly resolved?: Partial<ResolvedAuthority>;
  readonly request?: Partial<ViewRequest>;
}

async function shown(given: Given = {}) {
  const { reads = [] } = given;
  const resolved = await resolveAuthority(host, { place, reads });
  const view = new View(resolved.authority.surface, given.mounts ?? []);
  const authority = { ...resolved.authority, view, ...given.authority } as Authority;
  const asked = { host, place, mounts, argv: ['true', 'x'], environmentAdditions: [], weakened: [] };
  return viewOf({ ...asked, resolved: { ...resolved, authority, ...given.resolved }, ...given.request });
}

const mount = (
  source: string,
  target: string,
  mode: 'ro' | 'rw' = 'ro',
  options: Mount['options'] = ['rbind'],
): Mount => ({
  ...{ source, target, mode, options },
});
const own = ({ jail }: Awaited<ReturnType<typeof shown>>, from = base) =>
  jail.shared.filter(({ source, ofFork }) => source.startsWith(from) && ofFork !== true);

describe('what is mounted in a view', () => {
  it('is shown where it is mounted, as it may be used, and only while it is the same thing', async () => {
    const found = await shown({ mounts: [mount(at('data'), '/mnt/a'), mount(at('data/inner'), '/mnt/b', 'rw')] });
    const identity = (path: string) => {
      const { dev, ino } = lstatSync(path, { bigint: true });
      return `${dev}:${ino}`;
    };
    assert.deepEqual(own(found, at('data')), [
      { source: at('data'), target: '/mnt/a', access: 'read only', identity: identity(at('data')) },
      { source: at('data/inner'), target: '/mnt/b', access: 'read write', identity: identity(at('data/inner')) },
    ]);
    // Updates write the system anew, at any time and rightly.
    for (const { source, identity: of } of found.jail.shared)
      if (source.startsWith('/usr') || source.startsWith('/lib')) assert.equal(of, undefined, source);
    const gone = await shown({ mounts: [mount(at('gone'), '/mnt/a')] });
    assert.deepEqual(own(gone, at('gone')), [{ source: at('gone'), target: '/mnt/a', access: 'read only' }]);
    await assert.rejects(shown({ mounts: [mount(at('data/file/x'), '/mnt/a')] }), { code: 'ENOTDIR' });
  });

  it('is the fork’s where it is of the fork, and said once more where it is shown at another path', async () => {
    const { jail, readOnly } = await shown({
      mounts: [mount(origin, '/mnt/all'), mount(join(origin, 'src'), '/mnt/src', 'rw')],
    });
    assert.deepEqual(jail.repeated, [
      { source: origin, target: '/mnt/all', access: 'read only' },
      { source: join(origin, 'src'), target: '/mnt/src', access: 'read write' },
    ]);
    assert.ok(!jail.shared.some(({ source }) => source.startsWith(origin)));
    assert.deepEqual(readOnly.includes('/mnt/all'), false);
    const beside = await shown({ mounts: [mount(`${origin}-beside`, '/mnt/a')] });
    assert.deepEqual([beside.jail.repeated, own(beside, `${origin}-beside`).length], [[], 1]);
  });

  it('is refused where the fork would be needed twice in itself, or a grant is below a mount in it', async () => {
    const twice = mount(join(origin, 'src'), join(origin, 'copy'));
    const refused = { code: 'ENOTSUP', operation: 'view' };
    await assert.rejects(shown({ mounts: [twice] }), { ...refused, path: join(origin, 'copy') });
    mkdirSync(join(origin, 'lib/deep'), { recursive: true });
    const over = mount(at('data'), join(origin, 'lib'));
    const reads = [join(origin, 'lib/deep')];
    await assert.rejects(shown({ mounts: [over], reads }), { ...refused, path: reads[0], reason: /below the mount/ });
    assert.deepEqual((await shown({ reads })).readOnly.includes(reads[0] ?? ''), true);
    const inFork = await shown({ mounts: [over] });
    assert.deepEqual(
      own(inFork, at('data')).map(({ target }) => target),
      [join(origin, 'lib')],
    );
  });

  it('is refused inside a part of the fork at another path, unless it comes with that', async () => {
    const [all, inside] = [mount(origin, '/w', 'rw'), join(origin, 'inside')];
    const refused = {
      code: 'ENOTSUP',
      path: '/w/inside',
      reason: /a mount inside \/w, which is a part of the workspace/,
    };
    const shownAt = async (...mounts: readonly Mount[]) =>
      own(await shown({ mounts: [all, ...mounts] }), at('data')).map(({ target }) => target);
    for (const each of [mount(at('data'), '/w/inside'), mount('memory:', '/w/inside')])
      await assert.rejects(shownAt(each), refused);
    assert.deepEqual(await shownAt(mount(at('data'), inside), mount(at('data'), '/w/inside')), [inside]);
    assert.deepEqual(await shownAt(mount(at('data'), inside, 'rw'), mount(at('data'), '/w/inside', 'rw')), [inside]);
    for (const [here, there] of [
      [mount(at('data'), inside, 'rw'), mount(at('data'), '/w/inside')],
      [mount(at('data'), inside), mount(at('data/inner'), '/w/inside')],
      [mount(at('data'), inside), mount(at('data'), '/w/inside', 'ro', ['rbind', 'noexec'])],
    ] as const)
      await assert.rejects(shownAt(here, there), refused);
    assert.deepEqual((await shown({ mounts: [all, mount(join(origin, 'src'), '/w/again')] })).jail.repeated?.length, 2);
  });

  it('is refused without what is mounted inside it, and no other', async () => {
    assert.equal(hasMountsInside('/'), true);
    assert.deepEqual([at('data'), `${base}-no`].map(hasMountsInside), [false, false]);
    const whole = (options: Mount['options']) => shown({ mounts: [mount('/', '/mnt/root', 'ro', options)] });
    await assert.rejects(whole(['bind']), { code: 'ENOTSUP', path: '/mnt/root' });
    await assert.rejects(whole([]), { code: 'ENOTSUP' });
    assert.ok((await whole(['rbind'])).jail.shared.some(({ source }) => source === '/'));
    assert.equal(own(await shown({ mounts: [mount(at('data'), '/mnt/a', 'ro', ['bind'])] }), at('data')).length, 1);
  });

  it('is left to whoever serves it where it is a tree or the objects', async () => {
    const { jail } = await shown({ mounts: [mount('memory:', '/mnt/tree'), mount('/ctx/tool', '/mnt/objects')] });
    assert.ok(!jail.shared.some(({ target }) => target.startsWith('/mnt/')));
    assert.deepEqual(jail.repeated, []);
  });

  it('is of the objects of the user where they have it, and else of the system’s', async () => {
    for (const path of ['objects/shared/both', 'system/shared/both', 'system/shared/theirs'])
      mkdirSync(at(path), { recursive: true });
    const both = [mount('/ctx/shared/both', '/mnt/a'), mount('/ctx/shared/theirs', '/mnt/b')];
    const sources = async (more: Partial<Host>) => {
      const { jail } = await shown({ mounts: both, request: { host: { ...host, ...more } as Host } });
      return jail.shared.filter(({ target }) => target.startsWith('/mnt/')).map(({ source }) => source);
    };
    assert.deepEqual(await sources({ system: at('system') }), [at('objects/shared/both'), at('system/shared/theirs')]);
    await assert.rejects(sources({}), { code: 'ENOENT', operation: 'mount', path: '/ctx/shared/theirs' });
  });

  it('runs no programs where its options say so', async () => {
    const all = [mount(at('data'), '/mnt/a', 'ro', ['rbind', 'noexec']), mount(at('cache'), '/mnt/b')];
    assert.deepEqual((await shown({ mounts: all })).noExecution, ['/mnt/a']);
  });

  it('is a cache of the fork’s where it is one of the person’s, read-only and at its own path', async () => {
    const cache = (source: string) => ({ upper: `upper of ${source}`, work: 'work' });
    const caches = [at('cache'), at('data')];
    const readable = [mount(at('cache'), at('cache')), mount(at('data'), '/mnt/moved')];
    const targets = (given: Awaited<ReturnType<typeof shown>>) =>
      own(given)
        .map(({ target }) => target)
        .sort();
    const with_ = await shown({ mounts: readable, resolved: { caches }, request: { mounts: { ...mounts, cache } } });
    assert.deepEqual(with_.jail.caches, [
      { source: at('cache'), target: at('cache'), upper: `upper of ${at('cache')}`, work: 'work' },
    ]);
    assert.deepEqual(targets(with_), ['/mnt/moved']);
    const written = await shown({
      ...{ mounts: [mount(at('cache'), at('cache'), 'rw')], resolved: { caches } },
      request: { mounts: { ...mounts, cache } },
    });
    assert.deepEqual([written.jail.caches, targets(written)], [[], [at('cache')]]);
    for (const request of [{ mounts: { ...mounts, cache } }, { mounts }]) {
      const given = 'cache' in request.mounts ? [] : caches;
      const plain = await shown({ mounts: readable, resolved: { caches: given }, request });
      assert.deepEqual([plain.jail.caches, targets(plain)], [[], ['/mnt/moved', at('cache')].sort()]);
    }
  });
});

describe('the rest of a view', () => {
  it('has the home that may be written, and another place for it where it may only be read', async () => {
    const homeIn = async (given: Given) => {
      const { jail } = await shown(given);
      const private_ = jail.shared.filter(({ source }) => source === at('private'));
      return [jail.environment['HOME'], jail.person.home, private_];
    };
    const bound = { source: at('private'), target: home, access: 'read write', ofFork: true };
    assert.deepEqual(await homeIn({}), [home, home, [bound]]);
    assert.deepEqual(await homeIn({ mounts: [mount(at('data'), home, 'rw')] }), [home, home, []]);
    assert.deepEqual(await homeIn({ mounts: [mount(at('data'), home)] }), ['/tmp', '/tmp', []]);
  });

  it('has a place for temporary files in the fork, unless the view has one of its own', async () => {
    const temporary = { mounts: { ...mounts, temporary: at('tmp') } };
    const made = (given: Awaited<ReturnType<typeof shown>>) =>
      given.jail.shared.filter(({ target }) => target === '/tmp');
    assert.deepEqual(made(await shown()), []);
    assert.deepEqual(made(await shown({ request: temporary })), [
      { source: at('tmp'), target: '/tmp', access: 'read write', ofFork: true },
    ]);
    const other = await shown({ request: temporary, mounts: [mount(at('data'), '/tmp')] });
    assert.deepEqual(
      made(other).map(({ source }) => source),
      [at('data')],
    );
  });

  it('has the limits and names that its authority has, and the host’s where that says nothing', async () => {
    const plain = (await shown()).jail;
    const { directory, processes, fileBytes, proxyPort, hidden, argv, weakened, person } = plain;
    assert.deepEqual(
      [directory, processes, fileBytes, proxyPort, hidden, argv, weakened],
      [place.directory, 1024, undefined, undefined, [at('store')], ['true', 'x'], []],
    );
    assert.deepEqual([person.name, person.group, plain.hostName], ['user', 'user', 'ctx']);
    const limited = await shown({ authority: { quota: { pids: 7, disk: 4096 } }, request: { weakened: ['seccomp'] } });
    assert.deepEqual([limited.jail.processes, limited.jail.fileBytes, limited.jail.weakened], [7, 4096, ['seccomp']]);
    assert.ok(!('HTTPS_PROXY' in plain.environment) && !('https_proxy' in plain.environment));
    const network = { kind: 'anyPublic' } as unknown as Authority['network'];
    const online = (await shown({ authority: { network } })).jail;
    assert.equal(online.proxyPort, 3128);
    assert.match(online.environment['https_proxy'] ?? online.environment['HTTPS_PROXY'] ?? '', /:3128/);
  });

  it('calls root root, and everybody else user', async () => {
    const owner = { uid: 0, gid: 0, shift: 0x70000000 };
    const { person } = (await shown({ request: { place: { ...place, owner } } })).jail;
    assert.deepEqual([person.uid, person.name, person.group], [0, 'root', 'root']);
  });
});
