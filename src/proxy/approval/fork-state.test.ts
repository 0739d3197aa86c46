/** What a command that was approved once sees of its fork: each change of it, in each place, is another state. */
import assert from 'node:assert/strict';
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { stateDigestMostBytes } from '../../base/limits/store.js';
import { prepareHome, prepareRoot, prepareTemporary } from '../../vault/fork-trees.js';
import { workspaceRoot } from '../../vault/store/layout.js';
import { closeFork, type OpenFork, openFork } from '../../vault/vault.js';
import { testHost } from '../host-fixture.js';
import { forkState, noFork } from './fork-state.js';

const { host, project, base } = testHost();
const owner = { uid: host.uid, gid: host.gid, shift: 0 };

async function usedFork(origin: string): Promise<OpenFork> {
  const { store, tree } = host;
  const fork = await openFork({ store, tree, origin, owner, wait: false, purpose: 'test' });
  prepareHome(fork);
  prepareTemporary(fork);
  prepareRoot(fork, workspaceRoot);
  closeFork(fork);
  return fork;
}

/** Longer than the kernel's clock stands still: what is written within one tick of it has one time. */
const tick = () => sleep(20);

function fill(directory: string): void {
  mkdirSync(join(directory, 'dir'), { recursive: true });
  mkdirSync(join(directory, 'empty'));
  writeFileSync(join(directory, 'file'), 'good');
  writeFileSync(join(directory, 'other'), 'well');
  symlinkSync('good', join(directory, 'link'));
  // Of a whole second, which can be given back to the nanosecond.
  for (const name of ['file', 'other']) utimesSync(join(directory, name), 1_700_000_000, 1_700_000_000);
}

/** Does it, and gives the file its times back, which whoever may write it may do. */
function unseen(path: string, act: () => void): void {
  const { atime, mtime } = lstatSync(path);
  act();
  utimesSync(path, atime, mtime);
}

const changes: Readonly<Record<string, (at: (name: string) => string) => void>> = {
  'another text, as long, of the same time': (at) => unseen(at('file'), () => writeFileSync(at('file'), 'evil')),
  'another file, as long, of the same time': (at) =>
    unseen(at('file'), () => {
      writeFileSync(at('new'), 'evil');
      renameSync(at('new'), at('file'));
    }),
  'a longer text': (at) => writeFileSync(at('file'), 'good and more'),
  'another mode': (at) => unseen(at('file'), () => chmodSync(at('file'), 0o755)),
  'another mode of a directory': (at) => chmodSync(at('dir'), 0o700),
  'a link that leads elsewhere': (at) => {
    rmSync(at('link'));
    symlinkSync('evil', at('link'));
  },
  'a new file': (at) => writeFileSync(at('dir/new'), ''),
  'a second name': (at) => linkSync(at('file'), at('dir/second')),
  'a new directory': (at) => mkdirSync(at('new')),
  'another name': (at) => renameSync(at('other'), at('renamed')),
  'two that change places': (at) => {
    renameSync(at('other'), at('kept'));
    renameSync(at('file'), at('other'));
    renameSync(at('kept'), at('file'));
  },
  'a file that is gone': (at) => rmSync(at('other')),
  'a directory that is gone': (at) => rmdirSync(at('empty')),
  'a directory in the place of a file': (at) => {
    rmSync(at('other'));
    mkdirSync(at('other'));
  },
};

it('is another after each change of a home, whichever it is, of /tmp, caches and what commands wrote', async () => {
  const cwd = project({ file: 'of the person' });
  assert.equal(await forkState(host, { origin: cwd }, undefined), noFork);
  const fork = await usedFork(cwd);
  const { home, temporary, caches } = fork.place;
  const live = fork.paths.tree(fork.meta.live, workspaceRoot);
  const otherHome = join(base, 'harness-home');
  const places: Readonly<Record<string, readonly [directory: string, home?: string]>> = {
    home: [home],
    'another home': [otherHome, otherHome],
    '/tmp': [temporary],
    '/tmp, with another home': [temporary, otherHome],
    caches: [join(caches, 'key')],
    'what commands wrote': [live],
    'more than is read': [live],
  };
  for (const [place, [directory, given]] of Object.entries(places)) {
    const stateNow = () => forkState(host, { origin: cwd }, undefined, given);
    for (const [what, change] of Object.entries(changes)) {
      for (const name of ['dir', 'empty', 'file', 'other', 'link', 'new', 'renamed'])
        rmSync(join(directory, name), { recursive: true, force: true });
      fill(directory);
      if (place === 'more than is read') {
        writeFileSync(join(directory, 'dir/large'), '');
        truncateSync(join(directory, 'dir/large'), stateDigestMostBytes + 1);
      }
      await tick();
      const before = await stateNow();
      assert.equal(await stateNow(), before, `${place}: nothing has changed`);
      change((name) => join(directory, name));
      assert.notEqual(await stateNow(), before, `${place}: ${what}`);
    }
  }
});

it('is not of a home that the command does not see', async () => {
  const cwd = project();
  const { home } = (await usedFork(cwd)).place;
  const otherHome = join(base, 'unseen-home');
  for (const [seen, notSeen] of [
    [otherHome, home],
    [undefined, otherHome],
  ] as const) {
    mkdirSync(notSeen, { recursive: true });
    const before = await forkState(host, { origin: cwd }, undefined, seen);
    writeFileSync(join(notSeen, '.profile'), 'evil');
    assert.equal(await forkState(host, { origin: cwd }, undefined, seen), before);
  }
});
