/** Checkpoints: which are kept, which are gone back to, and what a rollback of all or of single paths leaves. */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { automaticCheckpoints, checkpointReasonCharacters } from '../../base/limits/store.js';
import { applyFork } from '../apply/apply.js';
import { writeIndex } from '../git/git-index-file.js';
import { type ForkMeta, readForkMeta } from '../store/fork-meta.js';
import { copyTop, treesOf } from '../store/layer-pool.js';
import { workspaceRoot } from '../store/layout.js';
import type { OpenFork } from '../vault.js';
import {
  deleteCheckpoint,
  findCheckpoint,
  isBack,
  lastCheckpoint,
  noteTrees,
  rollBackFork,
  saveCheckpoint,
} from './checkpoint.js';
import { restorePaths } from './restore.js';
import { syncFork } from './sync.js';
import { freshVault, lookAt } from './vault-fixture.js';

const { at, write, withFork, command, shown, access, writeLive } = freshVault();
const put = (path: string, text: string) => (directory: string) => writeFileSync(join(directory, path), text);
const save = (fork: OpenFork, more: Partial<Parameters<typeof saveCheckpoint>[1]> = {}) =>
  saveCheckpoint(fork, { automatic: true, reason: 'test', ...more });
const state = () => readForkMeta(access().paths.fork('main').directory) as ForkMeta;
const ids = ({ checkpoints } = state()) => checkpoints.map(({ id }) => id);
const back = (id: string) => withFork((fork) => rollBackFork(fork, findCheckpoint(fork, id)));
const now = () => withFork((fork) => shown(fork));
const last = () => withFork(async (fork) => (await lastCheckpoint(fork)).to.id);

describe('a checkpoint', () => {
  it('that is automatic takes the place of the last where nothing was written since', async () => {
    const repeats = async (prepare: (fork: OpenFork) => OpenFork | Promise<OpenFork>) =>
      withFork(async (fork) => {
        const before = await prepare(fork);
        const last = before.meta.checkpoints.at(-1)?.id;
        const { checkpoint, fork: after } = save(before);
        assert.deepEqual(
          [after.meta.nextCheckpoint, after.meta.checkpoints.at(-1)?.id],
          [checkpoint.id + 1, checkpoint.id],
        );
        return checkpoint.id === last;
      });
    assert.deepEqual([await repeats((fork) => fork), await repeats((fork) => save(fork).fork)], [false, true]);
    assert.equal(await repeats((fork) => save(fork, { automatic: false, name: 'kept' }).fork), false);
    assert.equal(await repeats((fork) => writeLive(fork, put('a', 'a')).then(() => fork)), false);
    const trees = [{ file: '/t', before: 'x', after: 1 }];
    assert.equal(await repeats((fork) => noteTrees(fork, fork.meta.checkpoints.at(-1)?.id ?? 0, trees)), false);
    assert.equal(await repeats((fork) => rollBackFork(fork, findCheckpoint(fork, '1'))), false);
  });

  it('is found by its number or name, and has the state, the reason and the conflicts of its time', async () => {
    write('project/own', 'mine');
    await command(put('own', 'inside'));
    write('project/own', 'meanwhile');
    await command(put('b', 'b'));
    await withFork((fork) => {
      const mounted = { ...fork, meta: { ...fork.meta, mounted: ['x'] } };
      const { checkpoint, fork: after } = save(mounted, { name: 'named', automatic: false, reason: 'why' });
      assert.deepEqual(
        [after.meta.mounted, checkpoint.clashes, checkpoint.reason, checkpoint.name],
        [undefined, ['own'], 'why', 'named'],
      );
      assert.deepEqual(
        [checkpoint.base, checkpoint.deltas, checkpoint.position],
        [after.meta.base, after.meta.deltas, fork.meta.position],
      );
      assert.notEqual(after.meta.live, fork.meta.live);
      assert.ok(after.meta.deltas.includes(fork.meta.live));
      for (const wanted of ['named', String(checkpoint.id)])
        assert.equal(findCheckpoint(after, wanted).id, checkpoint.id);
      for (const wanted of ['', 'name', '0', '99', `0${checkpoint.id}`])
        assert.throws(() => findCheckpoint(after, wanted), { code: 'ENOENT' });
      for (const name of ['named', 'a b', '', '.x', '1', '007', 'x/y']) {
        assert.throws(() => save(after, { name }), { code: name === 'named' ? 'EEXIST' : 'EINVAL' }, name);
      }
      assert.equal(save(after, { name: 'x1' }).checkpoint.name, 'x1');
      const left = deleteCheckpoint(after, checkpoint).meta.checkpoints;
      assert.deepEqual(
        left,
        after.meta.checkpoints.filter(({ id }) => id !== checkpoint.id),
      );
    });
  });

  it('has as much of its reason as it may, and is durable where that is asked for', async () => {
    await withFork((fork) => {
      const most = checkpointReasonCharacters;
      const of = (length: number) => save(fork, { reason: 'x'.repeat(length) }).checkpoint.reason;
      assert.deepEqual([of(most).length, of(most + 1).length], [most, most]);
      assert.equal(of(most + 1).at(-2), 'x');
      assert.notEqual(of(most + 1).at(-1), 'x');
      assert.deepEqual([state().format, of(1)], [2, 'x']);
    });
  });

  it('that is automatic goes when there are too many of them, the oldest first, and one of a person’s stays', async () => {
    await withFork((fork) => {
      const about = { made: 'then', reason: 'x', clashes: [], position: fork.meta.position, base: fork.meta.base };
      const all = Array.from({ length: automaticCheckpoints + 1 }, (_, index) => ({
        ...about,
        id: index + 1,
        automatic: index !== 1,
        deltas: [`d${index}`],
      }));
      const meta = { ...fork.meta, checkpoints: all, nextCheckpoint: all.length + 1 };
      const first = save({ ...fork, meta }).fork;
      assert.deepEqual(
        ids(first.meta),
        all.map(({ id }) => id + 1),
      );
      assert.equal(first.meta.checkpoints[0]?.automatic, false);
      const exactly = { ...meta, checkpoints: all.slice(2), nextCheckpoint: all.length + 1 };
      assert.equal(save({ ...fork, meta: exactly }).fork.meta.checkpoints.length, automaticCheckpoints);
    });
  });
});

describe('a rollback', () => {
  it('shows what was, is undone by its number, and skips what lies after it', async () => {
    write('project/own', 'mine');
    for (const name of ['a', 'b', 'c']) await command(put(name, name));
    const [first, second] = ids();
    assert.equal(await last(), 3);
    await back(String(second));
    assert.deepEqual(await now(), { a: 'a', own: 'mine' });
    const undone = () => state().checkpoints.flatMap(({ id, undone: is }) => (is === true ? [id] : []));
    assert.deepEqual(
      undone(),
      ids().filter((id) => id > (second ?? 0)),
    );
    assert.equal(await last(), first);
    const later = ids().at(-1);
    await back(String(later));
    assert.deepEqual(await now(), { a: 'a', b: 'b', c: 'c', own: 'mine' });
    assert.ok(!undone().includes(later ?? 0));
    await back('1');
    assert.deepEqual(await now(), { own: 'mine' });
    await assert.rejects(last(), { code: 'ENOENT' });
  });

  it('is of the last command that changed anything: none that left all as it was, nor of paths that are as they were', async () => {
    write('project/dir/own', 'mine');
    /** What a command leaves that made a file and removed it: its directory, as it was. */
    const nothing = () =>
      withFork((opened) => {
        const { fork, checkpoint } = save(opened);
        const live = fork.paths.tree(fork.meta.live, workspaceRoot);
        for (const [from, to] of [
          [at('project'), live],
          [at('project/dir'), join(live, 'dir')],
        ] as const) {
          mkdirSync(to, { recursive: true });
          copyTop(from, to);
        }
        return checkpoint.id;
      });
    assert.equal(await nothing(), 1);
    await assert.rejects(last(), { code: 'ENOENT' });
    await command(put('dir/own', 'first'));
    const first = ids().at(-1);
    assert.equal(await last(), first);
    await nothing();
    assert.equal(await last(), first);
    write('project/edited', 'later');
    await command(() => undefined);
    const count = ids().length;
    assert.equal(await last(), first);
    const restored = (id: number, ...paths: string[]) =>
      withFork(async (fork) => (await restorePaths(fork, findCheckpoint(fork, String(id)), paths)) !== fork);
    assert.deepEqual([await restored(1, 'none', 'edited'), await restored(first ?? 0, 'di')], [false, false]);
    assert.deepEqual([ids().length, await last()], [count, first]);
    assert.equal(await restored(1, 'none', 'dir'), true);
    assert.deepEqual(await now(), { dir: '/', 'dir/own': 'mine', edited: 'later' });
    const trees = [{ file: at('t'), before: 'x', after: 1 }];
    const noted = await nothing();
    await withFork((fork) => noteTrees(fork, noted, trees));
    assert.equal(await last(), noted);
  });

  it('to before an apply takes back what was applied, though nothing else is different', async () => {
    write('project/own', 'mine');
    await command(put('own', 'inside'));
    await withFork((fork) => applyFork(fork, { conflicts: 'refuse', allowSensitive: true }));
    await withFork(async (fork) => {
      const to = findCheckpoint(fork, '1');
      assert.equal(await isBack(fork, to, ['own']), false);
      await restorePaths(fork, to, ['own']);
    });
    assert.deepEqual(await now(), { own: 'mine' });
  });

  it('is not undone by the next one: the checkpoint stands where the fork stands', async () => {
    write('project/own', 'mine');
    await command(put('own', 'inside'));
    await withFork((fork) => applyFork(fork, { conflicts: 'refuse', allowSensitive: true }));
    write('project/theirs', 'edited');
    await command(put('own', 'again'));
    const { meta } = await back('1');
    for (const { id, position, base, deltas } of meta.checkpoints) {
      const isThere = [id === 1, meta.position, meta.base, meta.deltas];
      if (id === 1) assert.deepEqual([true, position, base, deltas], isThere);
      else assert.notDeepEqual([false, position, base, deltas], isThere);
    }
    assert.deepEqual(await now(), { own: 'mine', theirs: 'edited' });
  });

  it('leaves what the person put into a directory that the fork made and applied, and that alone', async () => {
    for (const name of ['own', 'file', 'gone']) write(`project/${name}`, 'mine');
    await command((directory) => {
      for (const name of ['file', 'gone']) rmSync(join(directory, name));
      for (const name of ['d/e', 'empty/f', 'file', 'gone']) mkdirSync(join(directory, name), { recursive: true });
      for (const name of ['d/made', 'd/e/made', 'empty/made', 'file/made', 'gone/made']) put(name, 'inside')(directory);
    });
    await withFork((fork) => applyFork(fork, { conflicts: 'refuse', allowSensitive: true }));
    for (const name of ['d/theirs', 'd/e/theirs', 'file/theirs', 'empty/removed']) write(`project/${name}`, 'edited');
    await withFork((fork) => syncFork(fork));
    rmSync(at('project/empty/removed'));
    await withFork((fork) => syncFork(fork));
    await back('1');
    assert.deepEqual(await now(), {
      ...{ d: '/', 'd/e': '/', 'd/e/theirs': 'edited', 'd/theirs': 'edited' },
      ...{ file: '/', 'file/theirs': 'edited', gone: 'mine', own: 'mine' },
    });
    await withFork((fork) => applyFork(fork, { conflicts: 'refuse', allowSensitive: true }));
    assert.deepEqual(lookAt(at('project')), await now());
  });

  it('leaves what the person edited since, and takes back what the fork applied, as a change of the fork', async () => {
    write('project/own', 'mine');
    await command(put('own', 'first'));
    await withFork((fork) => applyFork(fork, { conflicts: 'refuse', allowSensitive: true }));
    write('project/theirs', 'edited');
    await command((directory) => rmSync(join(directory, 'own')));
    const applied = state().checkpoints[0];
    const fork = await back(String(applied?.id));
    assert.deepEqual(await now(), { own: 'mine', theirs: 'edited' });
    assert.deepEqual(fork.meta.deltas.length, 1);
    await back(String(ids().at(-1)));
    assert.deepEqual(await now(), { theirs: 'edited' });
  });

  it('is a conflict where the person edited what the fork applied: taking that back would undo their edit', async () => {
    for (const name of ['one', 'two']) write(`project/${name}`, 'mine');
    await command((directory) => {
      for (const name of ['one', 'two']) put(name, 'inside')(directory);
    });
    const apply = () => withFork((fork) => applyFork(fork, { conflicts: 'refuse', allowSensitive: true }));
    await apply();
    write('project/one', 'edited');
    await withFork((fork) => syncFork(fork));
    await withFork((fork) => restorePaths(fork, findCheckpoint(fork, '1'), ['one']));
    assert.deepEqual([state().clashes, await now()], [['one'], { one: 'mine', two: 'inside' }]);
    await back('1');
    assert.deepEqual([state().clashes, await now()], [['one'], { one: 'mine', two: 'mine' }]);
    assert.deepEqual([(await apply()).done, lookAt(at('project'))], [false, { one: 'edited', two: 'inside' }]);
    // The rollback is undone, and made again: what it meets is on the checkpoint's own trunk by then.
    await back(String(ids().at(-1)));
    await back('1');
    assert.deepEqual([state().clashes, (await apply()).done], [['one'], false]);
  });

  it('is no conflict over an index that git only wrote again, unless the person changed more of its repository', async () => {
    const index = (id: string, stat: number) => {
      const flags = { stage: 0, assumeUnchanged: false, skipWorktree: false, intentToAdd: false };
      const entry = { ...flags, name: 'a', id: id.repeat(40), mode: 0o100644, stat: Buffer.alloc(40, stat) };
      return writeIndex([entry], 'sha1');
    };
    const all = ['added/index', 'again/index', 'alone/index', 'before/index', 'sub/branch', 'sub/index'];
    const put = (id: string, stat: number, ...paths: readonly string[]) => {
      for (const path of paths) writeFileSync(at('project', path), index(id, stat));
    };
    const applied = async (id: string, ...paths: readonly string[]) => {
      await command((directory) => {
        for (const path of paths) writeFileSync(join(directory, path), index(id, 0));
      });
      await withFork((fork) => applyFork(fork, { conflicts: 'refuse', allowSensitive: true }));
    };
    for (const path of all) write(`project/${path}`, 'mine');
    await applied('b', ...all);
    put('b', 1, 'again/index');
    // What the person adds is theirs, also where the fork's next apply has it, too.
    put('c', 1, 'before/index');
    await applied('d', 'again/index', 'before/index');
    put('d', 1, 'again/index', 'before/index');
    put('b', 1, 'alone/index', 'sub/index');
    put('c', 1, 'added/index');
    write('project/sub/branch', 'edited');
    await withFork((fork) => syncFork(fork));
    await back('1');
    assert.deepEqual(state().clashes, ['added/index', 'before/index', 'sub/branch', 'sub/index']);
  });

  it('of an index that was applied, and that git has only written again since, is no conflict', async () => {
    const entry = {
      stage: 0,
      assumeUnchanged: false,
      skipWorktree: false,
      intentToAdd: false,
      name: 'a',
      mode: 0o100644,
    };
    const index = (id: string, stat: number) =>
      writeIndex([{ ...entry, id: id.repeat(40), stat: Buffer.alloc(40, stat) }], 'sha1');
    write('project/mine');
    writeFileSync(at('project', 'index'), index('a', 0));
    await command((directory) => writeFileSync(join(directory, 'index'), index('b', 0)));
    await withFork((fork) => applyFork(fork, { conflicts: 'refuse', allowSensitive: true }));
    const before = state().checkpoints.find(({ reason }) => reason === 'ctx apply');
    writeFileSync(at('project', 'index'), index('b', 1));
    await withFork((fork) => syncFork(fork));
    await back(String(before?.id));
    assert.deepEqual(state().clashes, []);
  });

  it('forgets a conflict that it takes back, and has those again that were at its time', async () => {
    write('project/own', 'mine');
    write('project/other', 'mine');
    await command(put('own', 'inside'));
    write('project/own', 'meanwhile');
    await command(put('other', 'inside'));
    write('project/other', 'meanwhile');
    await command(() => undefined);
    assert.deepEqual(state().clashes, ['other', 'own']);
    const all = ids();
    await back(String(all[0]));
    await withFork((fork) => syncFork(fork));
    assert.deepEqual([state().clashes, await now()], [[], { other: 'meanwhile', own: 'meanwhile' }]);
    await back(String(ids().at(-1)));
    assert.deepEqual([state().clashes, await now()], [['other', 'own'], { other: 'inside', own: 'inside' }]);
  });

  it('of single paths leaves all others, and the trunk that the fork is on', async () => {
    write('project/dir/own', 'mine');
    write('project/gone', 'mine');
    await command((directory) => {
      for (const name of ['dir/own', 'dir/made', 'top']) put(name, 'first')(directory);
      rmSync(join(directory, 'gone'));
    });
    await command((directory) => {
      for (const name of ['dir/own', 'dir/made', 'top']) put(name, 'second')(directory);
      chmodSync(directory, 0o711);
    });
    write('project/edited', 'later');
    const [first = 0, second = 0] = ids();
    const restore = (id: number, ...paths: string[]) =>
      withFork((fork) => restorePaths(fork, findCheckpoint(fork, String(id)), paths));
    const count = ids().length;
    const timeOf = (path: string) =>
      withFork(async (fork) => {
        const { meta, paths } = fork;
        const trees = treesOf(paths, [...meta.base, ...meta.deltas, meta.live], workspaceRoot);
        const tree = trees.find((each) => existsSync(join(each, path))) ?? assert.fail(path);
        return statSync(join(tree, path), { bigint: true }).mtimeNs;
      });
    const before = await timeOf('dir/made');
    await restore(second, 'dir/made');
    assert.ok((await timeOf('dir/made')) > before, 'what is built of it is older');
    assert.equal(ids().length, count + 1);
    assert.deepEqual(await now(), { dir: '/', 'dir/made': 'first', 'dir/own': 'second', top: 'second' });
    await restore(first, 'dir', 'gone');
    assert.deepEqual(await now(), { dir: '/', 'dir/own': 'mine', gone: 'mine', top: 'second' });
    const { mode } = statSync(at('project'));
    assert.notEqual(mode & 0o777, 0o711);
    const whole = await restore(second, '.');
    const top = whole.paths.tree(whole.meta.deltas.at(-1) ?? '', workspaceRoot);
    assert.equal(statSync(top).mode, mode);
    assert.deepEqual(await now(), { dir: '/', 'dir/made': 'first', 'dir/own': 'first', top: 'first' });
    await assert.rejects(restore(first, '/elsewhere'), { code: 'EINVAL' });
    await assert.rejects(restore(first, 'dir', at('other')), { code: 'EINVAL' });
    await withFork((fork) => syncFork(fork));
    assert.equal((await now())['edited'], 'later');
  });
});

it('trees are noted for one command, added to what is known, and leave the others as they are', async () => {
  await command(put('a', 'a'));
  await command(put('b', 'b'));
  const tree = (file: string) => ({ file, before: 'x', after: 1 });
  const noted = () => state().checkpoints.map(({ trees = [] }) => trees.map(({ file }) => file));
  const note = (id: number, ...files: string[]) => withFork((fork) => noteTrees(fork, id, files.map(tree)));
  await note(1, '/a');
  await note(2, '/b');
  await note(1, '/c');
  assert.deepEqual(noted(), [['/a', '/c'], ['/b']]);
  await note(2);
  await note(99, '/d');
  assert.deepEqual(noted(), [['/a', '/c'], []]);
});
