import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { hasCode } from '../../base/errno.js';
import { vaultPaths, workspaceRoot } from '../../vault/store/layout.js';
import { resolveAuthority } from '../grants/authority-of.js';
import { enforcedPlan } from '../grants/enforced-plan.js';
import type { Host } from '../host.js';
import { overlayOf } from './fork-mounts.js';
import { viewOf } from './view.js';

const base = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-view-')));
after(() => rmSync(base, { recursive: true }));
const home = join(base, 'people', 'ada');
const origin = join(home, 'project');
const store = join(home, '.local', 'share', 'ctxfs');
for (const directory of [origin, store, join(home, '.ssh'), join(home, '.nvm/bin'), join(base, 'opt/tool/bin')]) {
  mkdirSync(directory, { recursive: true });
}
writeFileSync(join(home, '.gitconfig'), '');
const paths = vaultPaths(store, '0123456789abcdef');
const privateHome = paths.fork('main').home;
for (const layer of ['0', '1']) mkdirSync(paths.tree(layer, workspaceRoot), { recursive: true });
const overlay = overlayOf(paths, { target: origin, root: workspaceRoot, frozen: ['0', '1'], live: '2' });

interface Grants {
  readonly reads?: readonly string[];
  readonly writes?: readonly string[];
}

async function enforced(path: readonly string[], grants: Grants = {}, ownHome = home) {
  const host = {
    store: { directory: store },
    home: ownHome,
    architecture: 'x64',
    processes: 1024,
    operatorDirectories: [],
    hidden: [store],
    environment: { PATH: path.join(':'), SECRET: 'x' },
  } as unknown as Host;
  const place = { directory: origin, origin, owner: { uid: 1000, gid: 1000, shift: 0 } };
  const request = {
    host,
    place,
    resolved: await resolveAuthority(host, { place, ...grants }),
    mounts: { base: paths.directory, overlays: [overlay], home: privateHome },
    argv: ['true'],
    environmentAdditions: [],
    weakened: [],
  };
  return viewOf(request);
}

async function viewWith(path: readonly string[], grants?: Grants, ownHome?: string) {
  return (await enforced(path, grants, ownHome)).jail;
}

async function shares(path: readonly string[], grants?: Grants): Promise<string[]> {
  return (await viewWith(path, grants)).shared
    .filter(({ source, target }) => source === target && target.startsWith(base))
    .map(({ target }) => target);
}

describe('what a jail shows', () => {
  it('is the fork at the path of the directory, topmost layer first, named from the vault', async () => {
    assert.deepEqual((await viewWith([])).overlays, [
      {
        target: origin,
        lower: ['layer/1/workspace', 'layer/0/workspace'],
        upper: 'layer/2/workspace',
        work: 'layer/2/workspace.work',
      },
    ]);
  });

  it('is a private home instead of the own one, and the git configuration in it', async () => {
    const view = await viewWith([]);
    assert.deepEqual(view.shared.at(-1), { source: privateHome, target: home, access: 'read write', ofFork: true });
    assert.deepEqual(await shares([]), [join(home, '.gitconfig')]);
  });

  it('is what PATH needs, read-only', async () => {
    assert.deepEqual((await shares([join(home, '.nvm/bin'), join(base, 'opt/tool/bin')])).sort(), [
      join(base, 'opt/tool/bin'),
      join(home, '.gitconfig'),
      join(home, '.nvm'),
    ]);
  });

  it('is never a home or its secrets, not by an innocent name that leads there either', async () => {
    for (const [name, target] of [
      ['whole', home],
      ['above', join(base, 'people')],
      ['root', '/'],
      ['keys', join(home, '.ssh')],
      ['share', join(home, '.local/share')],
    ] as const) {
      symlinkSync(target, join(base, 'opt', name));
      assert.deepEqual(await shares([join(base, 'opt', name)]), [join(home, '.gitconfig')], name);
    }
  });

  it('never includes the store, where PATH or a grant leads into it or holds it', async () => {
    mkdirSync(join(store, 'vault/bin'), { recursive: true });
    for (const [path, reads] of [
      [[join(store, 'vault/bin')], [join(store, 'vault')]],
      [[], [home]],
    ] as const) {
      const plan = enforcedPlan(await enforced(path, { reads }));
      const binds = plan.filter((operation) => operation.do === 'bind');
      assert.ok(!binds.some(({ target }) => target.startsWith(store)));
      const shown = plan.findIndex((operation) => operation.do === 'bind' && operation.target === home);
      const masked = plan.findIndex((operation) => operation.do === 'mask' && operation.path === store);
      assert.ok(reads[0] !== home || masked > shown);
    }
  });

  it('is what a task adds, and the most specific of two decides', async () => {
    mkdirSync(join(base, 'data/deep/er'), { recursive: true });
    const grants = { reads: [join(base, 'data'), join(base, 'data/deep/er')], writes: [join(base, 'data/deep')] };
    const { shared } = await viewWith([], grants);
    const added = shared.filter(({ target }) => target.startsWith(join(base, 'data')));
    assert.deepEqual(
      added.map(({ target, access }) => [target.slice(base.length), access]),
      [
        ['/data', 'read only'],
        ['/data/deep', 'read write'],
        ['/data/deep/er', 'read only'],
      ],
    );
  });

  it('narrows the fork in place, and refuses what would need it twice', async () => {
    mkdirSync(join(origin, 'docs/notes'), { recursive: true });
    mkdirSync(join(origin, '.ctx'));
    const { readOnly, jail } = await enforced([], { reads: [join(origin, 'docs')] });
    assert.deepEqual(readOnly, [join(origin, '.ctx'), join(origin, 'docs')]);
    assert.ok(!jail.shared.some(({ target }) => target.startsWith(origin)));
    await assert.rejects(
      enforced([], { reads: [join(origin, 'docs')], writes: [join(origin, 'docs/notes')] }),
      (error) => hasCode(error, 'ENOTSUP'),
    );
  });

  it('is the own home where a grant shows it to be read, and then HOME is a place that can be written', async () => {
    const read = await viewWith([], { reads: [home] });
    assert.deepEqual(
      [read.environment['HOME'], read.shared.some(({ source }) => source === privateHome)],
      ['/tmp', false],
    );
  });

  it('is no private home over the root, where that is the home', async () => {
    const { environment, shared } = await viewWith([], {}, '/');
    assert.deepEqual([environment['HOME'], shared.some(({ target }) => target === '/')], ['/tmp', false]);
  });

  it('is never a writable directory above the store: renaming what is between would bring it to light', async () => {
    for (const path of [home, join(home, '.local')]) {
      await assert.rejects(enforced([], { writes: [path] }), (error) => hasCode(error, 'EINVAL'), path);
    }
  });

  it("refuses the root and the kernel's own trees as grants", async () => {
    for (const path of ['/', '/proc/self', '/dev/null', '/sys']) {
      await assert.rejects(enforced([], { reads: [path] }), (error) => hasCode(error, 'EINVAL'), path);
    }
  });

  it('has the file of a linked worktree, unless something else is there, or it is hidden on purpose', async () => {
    const [seen, hidden, granted] = [join(base, 'trees/seen'), join(store, 'tree'), join(base, 'data/tree')];
    const inside = join(origin, 'tree');
    for (const tree of [seen, hidden, granted, inside]) {
      const own = join(origin, '.git/worktrees', tree.replaceAll('/', '-'));
      for (const directory of [own, tree]) mkdirSync(directory, { recursive: true });
      writeFileSync(join(own, 'gitdir'), `${join(tree, '.git')}\n`);
      writeFileSync(join(tree, '.git'), `gitdir: ${own}\n`);
    }
    const files = async (reads: readonly string[]) =>
      (await viewWith([], { reads })).shared.map(({ source }) => source).filter((path) => path.endsWith('/.git'));
    assert.deepEqual((await files([])).sort(), [join(granted, '.git'), join(seen, '.git')]);
    assert.deepEqual(await files([join(base, 'data')]), [join(seen, '.git')], 'the grant shows it with all around it');
    assert.ok(!(await files([home])).includes(join(hidden, '.git')), 'the mask over the store stays whole');
  });

  it('leaves the variables of the caller out', async () => {
    assert.equal('SECRET' in (await viewWith([])).environment, false);
  });
});
