/** What a fork changes, by its roots, since a checkpoint, by its last command; and what of conflicts is left. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type ForkMeta, readForkMeta } from '../store/fork-meta.js';
import { rootKey, workspaceRoot } from '../store/layout.js';
import { change } from '../tree/change-fixture.js';
import type { OpenFork } from '../vault.js';
import {
  commandChanges,
  countForkChanges,
  forkChanges,
  forkChangesByRoot,
  liveChanges,
  readChanges,
  reportOf,
  standingClashes,
  timedForkChanges,
} from './changes.js';
import { findCheckpoint, rollBackFork, saveCheckpoint } from './checkpoint.js';
import { flattenDeltas } from './flatten.js';
import { addRoots } from './roots.js';
import { syncFork } from './sync.js';
import { freshVault } from './vault-fixture.js';

const { at, write, withFork, command, access, writeLive } = freshVault();
const put = (path: string, text: string) => (directory: string) => writeFileSync(join(directory, path), text);
const listed = (changes: readonly { readonly kind: string; readonly path: string }[]) =>
  changes.map(({ kind, path }) => `${kind} ${path}`);
const state = () => readForkMeta(access().paths.fork('main').directory) as ForkMeta;

/** Three commands in the workspace and in a second directory; the fork is given as the last has left it. */
async function work<T>(use: (fork: OpenFork) => Promise<T>): Promise<T> {
  write('project/a', 'a');
  write('project/gone', 'x');
  write('more/own', 'mine');
  const key = rootKey(at('more'));
  await withFork(async (fork) => {
    const added = await addRoots(fork, { paths: [at('more')] });
    await syncFork(added.fork, [workspaceRoot, ...added.keys]);
  });
  const act = (workspace: (directory: string) => void, more: (directory: string) => void) =>
    withFork(async (opened) => {
      const { fork } = await syncFork(saveCheckpoint(opened, { automatic: true, reason: 'x' }).fork, [
        workspaceRoot,
        key,
      ]);
      await writeLive(fork, workspace);
      await writeLive(fork, more, key);
    });
  await act(put('a', 'first'), put('own', 'first'));
  await act(
    (directory) => {
      put('b', 'second')(directory);
      rmSync(join(directory, 'gone'));
    },
    put('new', 'second'),
  );
  await act(put('a', 'a'), put('new', 'third'));
  return withFork(use);
}

const more = (name: string) => at('more', name);

describe('changes', () => {
  it('are those of all roots, of all commands or since a checkpoint, or of the last command alone', async () => {
    await work(async (fork) => {
      const all = ['added b', 'deleted gone', `added ${more('new')}`, `modified ${more('own')}`];
      const since = (id: string) => forkChanges(fork, findCheckpoint(fork, id));
      assert.deepEqual(listed(await forkChanges(fork)), all);
      assert.deepEqual(listed(await since('1')), all);
      assert.deepEqual(listed(await since('2')), ['modified a', 'added b', 'deleted gone', `added ${more('new')}`]);
      assert.deepEqual(listed(await since('3')), ['modified a', `modified ${more('new')}`]);
      assert.deepEqual(listed(await liveChanges(fork)), ['modified a', `modified ${more('new')}`]);
      // Of a root that the paths are not all of, everything is listed: who asks looks for what it asked for.
      const within = async (...about: string[]) =>
        listed(await forkChanges(fork, undefined, about)).filter((each) => !each.includes('/'));
      assert.deepEqual(
        [await within('a'), await within('b'), await within('gone', 'b')],
        [[], ['added b'], ['added b', 'deleted gone']],
      );
      assert.deepEqual(
        [await within('.'), await within('b', at('more'))],
        [
          ['added b', 'deleted gone'],
          ['added b', 'deleted gone'],
        ],
      );
      const other = async (...about: string[]) =>
        listed(await forkChanges(fork, undefined, about)).filter((each) => each.includes('/'));
      assert.deepEqual(await other(more('own')), [`modified ${more('own')}`]);
      assert.deepEqual((await other(at('more'))).length, 2);
      for (const most of [1, 3, 4, 5]) assert.equal(await countForkChanges(fork, most), Math.min(most, 4));
      const byRoot = await forkChangesByRoot(fork, undefined, { entries: 1 });
      assert.deepEqual([...byRoot.keys()], [workspaceRoot, rootKey(at('more'))]);
    });
  });

  it('since a checkpoint are the same after its layers were merged, and a root that came later is held against the trunk', async () => {
    await work(async (fork) => {
      const before = listed(await forkChanges(fork, findCheckpoint(fork, '2')));
      const flat = await flattenDeltas(saveCheckpoint(fork, { automatic: false, reason: 'x' }).fork, true);
      assert.equal(flat.meta.deltas.length, 1);
      assert.deepEqual(listed(await forkChanges(flat, findCheckpoint(flat, '2'))), before);
      assert.deepEqual(await liveChanges(flat), []);
      const first = { ...findCheckpoint(flat, '2'), base: [flat.meta.base[0] ?? ''] };
      const early = listed(await forkChanges(flat, { ...first, deltas: ['none'] }));
      assert.deepEqual(early, ['added b', 'deleted gone', `added ${more('new')}`, `modified ${more('own')}`]);
    });
  });

  it('are reported as what the command did, and what is as the person has it again as restored', async () => {
    await work(async (fork) => {
      const { changes, pending } = await reportOf(fork);
      assert.deepEqual(listed(changes), ['restored a', `modified ${more('new')}`]);
      assert.deepEqual(listed(pending), ['added b', 'deleted gone', `added ${more('new')}`, `modified ${more('own')}`]);
      const quiet = await reportOf(fork, false);
      assert.deepEqual([quiet.changes, quiet.pending.length], [[], 4]);
    });
    const fresh = await withFork(async (fork) => [await reportOf(fork, false), await reportOf(fork, true)], {
      fork: 'main',
    });
    assert.equal(fresh[0]?.pending.length, 4);
  });

  it('are not said to be put back where another command makes them while they are read', async () => {
    await work(async (fork) => {
      let reads = 0;
      const tree = Object.create(fork.tree, {
        diff: {
          value: async (...given: Parameters<typeof fork.tree.diff>) => {
            const found = await fork.tree.diff(...given);
            const written = fork.paths.tree(fork.meta.live, workspaceRoot);
            // Behind the reading of this root: others are read at the same time.
            if (given[0].uppers.includes(written)) put(`late-${reads++}`, 'of another')(written);
            return found;
          },
        },
      }) as typeof fork.tree;
      const { changes, pending } = await reportOf({ ...fork, tree }, true, false);
      assert.deepEqual(listed(changes), ['restored a', `modified ${more('new')}`]);
      assert.ok(listed(pending).includes('added late-0'), `${listed(pending)}`);
    });
  });

  it('of the first command are all that is different', async () => {
    write('project/a', 'a');
    await command(put('b', 'b'));
    await withFork(async (fork) => {
      const { changes, pending } = await reportOf(fork);
      assert.deepEqual([listed(changes), listed(pending)], [['added b'], ['added b']]);
      assert.deepEqual(await reportOf({ ...fork, meta: { ...fork.meta, live: 'none' } }), { changes: [], pending: [] });
    });
  });

  it('are read with both sides, in their order, as far as is asked for', async () => {
    await work(async (fork) => {
      const changes = await forkChanges(fork);
      const texts = async (since?: string, limits = {}) =>
        (await readChanges(fork, changes, since === undefined ? undefined : findCheckpoint(fork, since), limits)).map(
          ({ change: { path }, before, after }) => [
            path,
            before.type,
            String(before.bytes),
            after.type,
            String(after.bytes),
          ],
        );
      assert.deepEqual(await texts(), [
        ['b', 'missing', '', 'file', 'second'],
        ['gone', 'file', 'x', 'missing', ''],
        [more('new'), 'missing', '', 'file', 'third'],
        [more('own'), 'file', 'mine', 'file', 'first'],
      ]);
      assert.deepEqual(
        (await texts('3')).map(([, , before, , after]) => [before, after]),
        [
          ['second', 'second'],
          ['', ''],
          ['second', 'third'],
          ['first', 'first'],
        ],
      );
      assert.deepEqual(
        (await texts(undefined, { most: 1 })).map(([, , , , after]) => after),
        ['s', '', 't', 'f'],
      );
      const top = change('.', { kind: 'modified', type: 'directory', mode: 0o700 });
      const [only] = await readChanges(fork, [top]);
      assert.deepEqual([only?.before.type, only?.after.type, only?.after.mode], ['directory', 'directory', 0o700]);
    });
  });
});

describe('a change is restored', () => {
  const done = (path: string, unlisted?: number) =>
    change(path, { kind: 'modified', ...(unlisted === undefined ? {} : { unlisted }) });
  const kinds = (list: Parameters<typeof commandChanges>[0], pending: Parameters<typeof commandChanges>[1]) =>
    commandChanges(list, pending).map(({ kind }) => kind);

  it('where nothing that is different has its path, or has it below itself unlisted', () => {
    assert.deepEqual(kinds([done('a'), done('b')], [done('b')]), ['restored', 'modified']);
    assert.deepEqual(kinds([done('d/a'), done('dd/a'), done('d')], [done('d', 5)]), [
      'modified',
      'restored',
      'modified',
    ]);
    assert.deepEqual(kinds([done('d/a')], [done('d')]), ['restored']);
    assert.deepEqual(kinds([done('a', 3)], []), ['modified']);
    assert.deepEqual(kinds([done('a')], [done('.', 9)]), ['modified']);
    assert.deepEqual(kinds([done('a')], [done('.')]), ['restored']);
    assert.deepEqual(kinds([], [done('a')]), []);
  });
});

describe('an index of git’s that was only written again', () => {
  it('is a change to no one, and neither is it where it was written with others', async () => {
    const git = (cwd: string, ...words: string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...words], { cwd });
    write('project/a', 'a');
    git(at('project'), 'init', '-q');
    git(at('project'), 'add', '.');
    git(at('project'), 'commit', '-qm', 'x');
    await command((directory) => {
      writeFileSync(join(directory, 'a'), 'a');
      git(directory, 'status');
      writeFileSync(join(directory, 'index'), 'x');
    });
    await withFork(async (fork) => {
      assert.deepEqual(listed(await forkChanges(fork)), ['added index']);
      const { changes, pending } = await reportOf(fork);
      assert.deepEqual([listed(changes), listed(pending)], [['added index'], ['added index']]);
    });
    await command((directory) => {
      writeFileSync(join(directory, 'a'), 'b');
      git(directory, 'add', '.');
    });
    await withFork(async (fork) => assert.ok(listed(await forkChanges(fork)).includes('modified .git/index')));
  });
});

it('a conflict stands as long as the fork shows anything else than the person has', async () => {
  write('project/a', 'mine');
  write('project/b', 'mine');
  await command((directory) => {
    put('a', 'inside')(directory);
    put('b', 'inside')(directory);
  });
  write('project/a', 'meanwhile');
  write('project/b', 'meanwhile');
  await command(put('b', 'meanwhile'));
  assert.deepEqual(state().clashes, ['a', 'b']);
  await withFork(async (fork) => {
    assert.deepEqual(await standingClashes(fork), ['a']);
    assert.deepEqual(await standingClashes({ ...fork, meta: { ...fork.meta, clashes: [] } }), []);
  });
  await command(() => undefined);
  assert.deepEqual(state().clashes, ['a']);
  await withFork((fork) => rollBackFork(fork, findCheckpoint(fork, '1')));
  await withFork((fork) => syncFork(fork));
  assert.deepEqual(state().clashes, []);
});

it('whole trees are one change where all of them is plain, and times are of files that both have', async () => {
  write('project/old/a', 'a');
  write('project/own', 'mine');
  await command((directory) => {
    for (const name of ['new/x', 'new/deep']) mkdirSync(join(directory, name), { recursive: true });
    for (const name of ['new/x/1', 'new/x/2', 'new/3']) put(name, name)(directory);
    rmSync(join(directory, 'old'), { recursive: true });
    symlinkSync('x', join(directory, 'link'));
    chmodSync(join(directory, 'own'), 0o700);
  });
  await withFork(async (fork) => {
    const found = async (isPlain: (path: string) => boolean) => {
      const folding = {
        least: 1,
        most: 100,
        isPlain: ({ path }: { readonly path: string }) => isPlain(path),
        isProduct: () => false,
      };
      const { changes, times } = await timedForkChanges(fork, () => folding);
      const list = (changes.get(workspaceRoot) ?? []).map(
        ({ kind, path, tree }) => `${kind} ${path}${tree === undefined ? '' : `/${tree.entries}`}`,
      );
      assert.deepEqual(
        (times.get(workspaceRoot) ?? []).map(({ path, state }) => [path, state]),
        [['own', 'modified']],
      );
      return list;
    };
    const rest = ['deleted old/1', 'modified own'];
    assert.deepEqual(await found(() => true), ['added link', 'added new/5', ...rest]);
    const apart = ['added new', 'added new/3', 'added new/deep', 'added new/x', 'added new/x/1', 'added new/x/2'];
    assert.deepEqual(await found((path) => path !== 'new/x/1'), ['added link', ...apart, ...rest]);
  });
});
