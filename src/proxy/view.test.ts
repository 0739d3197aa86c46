import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { jailPlan } from '../jail/plan.js';
import { vaultPaths } from '../vault/layout.js';
import type { OpenVault } from '../vault/vault.js';
import type { Host } from './host.js';
import { jailView } from './view.js';

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

function viewWith(path: readonly string[], cwd = origin) {
  const request = {
    host: {
      store: { directory: store },
      home,
      architecture: 'x64',
      processors: 2,
      environment: { PATH: path.join(':'), SECRET: 'x' },
    } as unknown as Host,
    place: { directory: cwd, origin, owner: { uid: 1000, gid: 1000, shift: 0 } },
    vault: { paths, meta: { layers: ['0', '1'] } } as unknown as OpenVault,
    fork: paths.fork,
    argv: ['true'],
    environmentAdditions: [],
    weakened: [],
  };
  return jailView(request);
}

function shares(path: readonly string[]): string[] {
  return viewWith(path)
    .shared.filter(({ source, target }) => source === target && target.startsWith(base))
    .map(({ target }) => target);
}

describe('what a jail shows', () => {
  it('is the fork at the path of the directory, topmost layer first, named from the vault', () => {
    assert.deepEqual(viewWith([]).overlays, [
      { target: origin, lower: ['layer/1', 'layer/0'], upper: 'fork/main/upper', work: 'fork/main/work' },
    ]);
  });

  it('is a private home instead of the own one, and the git configuration in it', () => {
    const view = viewWith([]);
    assert.deepEqual(view.shared.at(-1), { source: paths.fork.home, target: home, access: 'read write' });
    assert.deepEqual(shares([]), [join(home, '.gitconfig')]);
  });

  it('is what PATH needs, read-only', () => {
    assert.deepEqual(shares([join(home, '.nvm/bin'), join(base, 'opt/tool/bin')]).sort(), [
      join(base, 'opt/tool/bin'),
      join(home, '.gitconfig'),
      join(home, '.nvm'),
    ]);
  });

  it('is never a home or its secrets, not by an innocent name that leads there either', () => {
    for (const [name, target] of [
      ['whole', home],
      ['above', join(base, 'people')],
      ['root', '/'],
      ['keys', join(home, '.ssh')],
      ['share', join(home, '.local/share')],
    ] as const) {
      symlinkSync(target, join(base, 'opt', name));
      assert.deepEqual(shares([join(base, 'opt', name)]), [join(home, '.gitconfig')], name);
    }
  });

  it('never includes the store, even where PATH leads into it', () => {
    mkdirSync(join(store, 'vault/bin'), { recursive: true });
    const plan = jailPlan(viewWith([join(store, 'vault/bin')]));
    const shown = plan.findIndex((operation) => operation.do === 'bind' && operation.target.startsWith(`${store}/`));
    const masked = plan.findIndex((operation) => operation.do === 'mask' && operation.path === store);
    assert.ok(shown >= 0 && masked > shown);
  });

  it('leaves the variables of the caller out', () => {
    assert.equal('SECRET' in viewWith([]).environment, false);
  });
});
