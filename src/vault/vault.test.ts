/** Opening a vault and a fork: which directory it is of, who may come in, and with what a lost state goes on. */
import assert from 'node:assert/strict';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { isLiveTouched, prepareCache, prepareHome, prepareRoot, prepareTemporary, writtenTrees } from './fork-trees.js';
import { createFork } from './forks/forks.js';
import { syncFork } from './forks/sync.js';
import { freshVault, tree } from './forks/vault-fixture.js';
import { readForkMeta } from './store/fork-meta.js';
import { rootKey, storePaths, workspaceRoot } from './store/layout.js';
import { lookAtRoot } from './store/trunk-look.js';
import { readVaultMeta, writeVaultMeta } from './store/vault-meta.js';
import { type CopyOptions, type Problem, Tree } from './tree/tree.js';
import { isRoot, program } from './tree/tree-fixture.js';
import {
  closeFork,
  forkToRead,
  importVault,
  lookAhead,
  type OpenFork,
  openExistingFork,
  openFork,
  vaultAccess,
} from './vault.js';

const { at, write, withFork, command, access, request, shown } = freshVault();
const put = (path: string, text: string) => (directory: string) => writeFileSync(join(directory, path), text);

/** Whose copy takes until it is stopped. */
class SlowTree extends Tree {
  override async copy({ signal }: CopyOptions): Promise<Problem[]> {
    await new Promise((resolve) => signal?.addEventListener('abort', resolve));
    throw signal?.reason;
  }
}

describe('a vault', () => {
  it('of a directory that is much larger than projects are is made only where that was asked for', async () => {
    for (const name of ['a', 'b', 'c']) write(`project/${name}`, 'mine');
    const slow = request({ tree: new SlowTree({ program }) });
    for (const unasked of [
      { mostBytes: 1, mostFiles: 1000 },
      { mostBytes: 1e9, mostFiles: 2 },
    ]) {
      await assert.rejects(openFork({ ...slow, unasked }), {
        code: 'E2BIG',
        path: at('project'),
        remedy: /ctx vault create copies this directory all the same, ctx vault create --no-copy/,
      });
      assert.equal(readVaultMeta(access().paths.meta), undefined);
      assert.equal(existsSync(access().paths.layers), false);
    }
    assert.equal((await importVault(request())).problems?.length, 0);
  });

  it('is imported once, with what cannot be copied named, and is whole before anything names it', async () => {
    write('project/own', 'mine');
    const { paths } = access();
    const named: boolean[] = [];
    tree.before = (job) => void (job === 'sync' && named.push(existsSync(paths.fork('main').directory)));
    const first = await importVault(request({ vaultName: 'api', limits: { maxFiles: 1000 } })).finally(() => {
      tree.before = undefined;
    });
    assert.deepEqual([named, first.problems], [[false], []]);
    const { trunk, position, current, roots, name, limits, format, uncopied, known } = first.vault;
    assert.deepEqual(
      [trunk.length, position, current, roots, name, limits, format, uncopied],
      [1, 0, 'main', { [workspaceRoot]: at('project') }, 'api', { maxFiles: 1000 }, 2, undefined],
    );
    assert.match(known?.[workspaceRoot]?.is ?? '', /^\d+:\d+$/);
    const again = await importVault(request({ unasked: { mostBytes: 0, mostFiles: 0 } }));
    assert.deepEqual([again.problems, again.vault.created], [undefined, first.vault.created]);
    for (const directory of [access().paths.layers, access().paths.forks])
      assert.equal(statSync(directory).mode & 0o777, 0o700);
    const fork = await openExistingFork(request());
    assert.deepEqual([fork?.imported, fork?.problems, fork?.name], [false, [], 'main']);
    closeFork(fork as OpenFork);
  });

  it('that was not imported to its end leaves nothing, and what an earlier one left goes', async () => {
    write('project/own', 'mine');
    mkdirSync(access().paths.layer('stray'), { recursive: true });
    await assert.rejects(importVault(request({ signal: AbortSignal.abort() })), { code: 'ECANCELED' });
    assert.deepEqual(
      [existsSync(access().paths.meta), existsSync(access().paths.layers), existsSync(access().paths.forks)],
      [false, false, false],
    );
    assert.equal(await openExistingFork(request()), undefined);
    assert.equal(forkToRead(request()), undefined);
    const { imported, meta } = await withFork((fork) => fork);
    assert.deepEqual(
      [imported, existsSync(access().paths.layer('stray')), meta.checkpoints, meta.nextCheckpoint],
      [true, false, [], 1],
    );
  });

  it('stays whole where what is in the trash cannot be deleted', async () => {
    write('project/own', 'mine');
    write('store/trash/other');
    request();
    tree.emptyLater = () => {
      throw Object.assign(new Error('EIO'), { code: 'EIO' });
    };
    const { vault } = await importVault(request()).finally(() => Reflect.deleteProperty(tree, 'emptyLater'));
    assert.ok(existsSync(access().paths.layer(vault.trunk[0] ?? '')));
    assert.deepEqual(await withFork(shown), { own: 'mine' });
  });

  it('is of one directory, by its path and its number, for who writes and for who only looks', async () => {
    write('project/own', 'mine');
    await withFork(() => undefined);
    const { paths } = access();
    const meta = readVaultMeta(paths.meta) ?? assert.fail();
    // Of another directory, whole; and of two at once.
    for (const roots of [{ [workspaceRoot]: at('other') }, meta.roots]) {
      writeVaultMeta(paths.meta, { ...meta, origin: at('other'), roots });
      for (const act of [
        () => openFork(request()),
        () => openExistingFork(request()),
        () => importVault(request()),
        async () => forkToRead(request()),
      ])
        await assert.rejects(act(), { code: 'EIO' });
      assert.equal(lookAhead(request()), undefined);
    }
    writeVaultMeta(paths.meta, meta);
    renameSync(at('project'), at('moved'));
    write('project/own', 'other');
    // Of a process that has not seen the directory before.
    const looking = forkToRead(request({ tree: new Tree({ program }) })) as OpenFork;
    const look = { access: looking, key: workspaceRoot, path: at('project'), into: at('scan') };
    await assert.rejects(lookAtRoot(look), { code: 'ESTALE' });
    await assert.rejects(openFork(request({ look: true })), { code: 'ESTALE' });
    // The directory is the one that the vault knows until a person says otherwise.
    assert.deepEqual(readVaultMeta(paths.meta)?.known, meta.known);
  });

  it('without the numbers of its directories, or with those of an earlier start, records them', async () => {
    write('project/own', 'mine');
    await withFork(() => undefined);
    const { paths } = access();
    const meta = readVaultMeta(paths.meta) ?? assert.fail();
    const { known, ...without } = meta;
    writeVaultMeta(paths.meta, without);
    await importVault(request({ store: { ...request().store, migrated: 1 } }));
    assert.equal(readVaultMeta(paths.meta)?.known, undefined, 'a migration can still be taken back');
    await importVault(request());
    assert.deepEqual(readVaultMeta(paths.meta)?.known, known);
    writeVaultMeta(paths.meta, {
      ...meta,
      known: { [workspaceRoot]: { is: known?.[workspaceRoot]?.is ?? '', boot: 'earlier' } },
    });
    closeFork((await openExistingFork(request())) as OpenFork);
    assert.deepEqual(readVaultMeta(paths.meta)?.known, known);
  });
});

describe('a fork', () => {
  it('that is opened has what was thrown away deleted, in the background, unless somebody does so already', async () => {
    write('project/own', 'mine');
    await withFork(() => undefined);
    const { trash } = storePaths(at('store'));
    const begun: string[] = [];
    tree.emptyLater = (directory) => void begun.push(directory);
    try {
      await withFork(() => undefined);
      assert.deepEqual(begun, [], 'there is nothing in it');
      mkdirSync(join(trash, 'left'));
      await withFork(() => undefined);
      assert.deepEqual(begun, [trash]);
      const descriptor = openSync(trash, 'r');
      await tree.lock({ descriptor, wait: false });
      await withFork(() => undefined).finally(() => closeSync(descriptor));
      assert.deepEqual(begun, [trash]);
    } finally {
      Reflect.deleteProperty(tree, 'emptyLater');
    }
  });

  it('is the one that is named, or the one in use, and none that is not there', async () => {
    await command(put('own', 'inside'));
    await createFork(access(), 'other', 'trunk');
    assert.deepEqual(
      [await withFork((fork) => fork.name), await withFork((fork) => fork.name, { fork: 'other' })],
      ['main', 'other'],
    );
    for (const act of [
      () => openFork(request({ fork: 'none' })),
      () => openExistingFork(request({ fork: 'none' })),
      async () => forkToRead(request({ fork: 'none' })),
    ])
      await assert.rejects(act(), { code: 'ENOENT' });
    const read = forkToRead(request({ fork: 'other' }));
    assert.deepEqual([read?.name, read?.lockDescriptor, read?.others], ['other', -1, []]);
    read?.unlock();
  });

  it('is one process’s at a time: others wait, or are refused at once', async () => {
    await command(put('own', 'inside'));
    const first = await openFork(request());
    await assert.rejects(openFork(request({ atOnce: true })), { code: 'EBUSY' });
    let isOpen = true;
    const waiting = openFork(request()).then((fork) => [isOpen, fork] as const);
    const stopping = new AbortController();
    const cancelled = openFork(request({ signal: stopping.signal }));
    stopping.abort();
    await assert.rejects(cancelled, { code: 'ECANCELED' });
    isOpen = false;
    closeFork(first);
    const [was, second] = await waiting;
    assert.equal(was, false);
    closeFork(second);
    closeFork(await openFork(request({ atOnce: true })));
  });

  it('is told what the directory changed, where it asked for that', async () => {
    write('project/own', 'mine');
    await withFork((fork) => assert.deepEqual([fork.imported, fork.drift], [true, undefined]), { look: true });
    write('project/own', 'edited');
    assert.deepEqual(await withFork((fork) => fork.drift, {}), undefined);
    assert.deepEqual(await withFork((fork) => fork.drift?.map(({ path }) => path), { look: true }), ['own']);
  });

  it('of before the machine stopped goes on with what is whole, and its vault is compared anew', async () => {
    write('project/own', 'mine');
    await command(put('own', 'inside'));
    await command(put('new', 'inside'));
    const { directory } = access().paths.fork('main');
    const meta = readVaultMeta(access().paths.meta) ?? assert.fail();
    writeVaultMeta(access().paths.meta, { ...meta, boot: 'earlier' });
    for (const name of readdirSync(directory).filter((each) => each.startsWith('state'))) {
      const state = JSON.parse(readFileSync(join(directory, name), 'utf8'));
      writeFileSync(
        join(directory, name),
        JSON.stringify({ boot: 'earlier', ...state }).replace(/"boot":"[^"]*"/, '"boot":"earlier"'),
      );
    }
    const fork = await withFork((opened) => opened, { look: true });
    assert.equal(fork.drift, undefined, 'what it looked at was held against signatures that may be lost');
    assert.notEqual(fork.vault.boot, 'earlier');
    assert.equal(fork.meta.checkpoints.length, 2);
    assert.deepEqual(await withFork((opened) => shown(opened)), { new: 'inside', own: 'inside' });
    write('project/more', 'edited');
    assert.ok((await withFork((opened) => syncFork(opened))).entered.includes('more'));
  });

  it('whose state is damaged starts afresh only for who is about to forget it, and its lock is free after either', async () => {
    write('project/own', 'mine');
    await command(put('own', 'inside'));
    const { directory } = access().paths.fork('main');
    const damage = () => {
      for (const name of readdirSync(directory).filter((each) => each.startsWith('state')))
        writeFileSync(join(directory, name), '{');
    };
    damage();
    for (let count = 0; count < 2; count += 1)
      await assert.rejects(openFork(request({ atOnce: true })), { code: 'EIO' });
    const afresh = await withFork((fork) => fork, { afresh: true });
    assert.deepEqual(
      [afresh.warnings?.length, afresh.meta.deltas, afresh.meta.base, readForkMeta(directory)?.live],
      [1, [], afresh.vault.trunk, afresh.meta.live],
    );
    assert.deepEqual(await withFork((fork) => shown(fork)), { own: 'mine' });
    assert.deepEqual((await withFork((fork) => fork, { afresh: true })).warnings, []);
  });
});

describe('directories of a fork', () => {
  it('are made once, closed to others, and counted where they are', async () => {
    write('project/own', 'mine');
    write('cache/x', 'x');
    await withFork((fork) => {
      assert.equal(isLiveTouched(fork), false);
      prepareRoot(fork, workspaceRoot);
      const live = fork.paths.tree(fork.meta.live, workspaceRoot);
      assert.deepEqual(
        [isLiveTouched(fork), statSync(live).mode, existsSync(fork.paths.work(fork.meta.live, workspaceRoot))],
        [false, statSync(at('project')).mode, true],
      );
      writeFileSync(join(live, 'x'), '');
      assert.equal(isLiveTouched(fork), true);
      const home = prepareHome(fork);
      writeFileSync(join(home, 'x'), '');
      assert.deepEqual([prepareHome(fork), readdirSync(home), statSync(home).mode & 0o777], [home, ['x'], 0o700]);
      assert.equal(statSync(prepareTemporary(fork)).mode & 0o7777, 0o1777);
      assert.deepEqual(writtenTrees(fork), [live, home, prepareTemporary(fork)]);
      const own = prepareCache(fork, at('cache'), 'fork');
      const shared = prepareCache(fork, at('cache'), 'share');
      assert.deepEqual([own.work, shared.work], [`${own.upper}.work`, `${shared.upper}.work`]);
      assert.ok(
        own.upper.startsWith(`${fork.place.caches}/`) &&
          shared.upper.startsWith(at('store', 'cache', `${fork.owner.uid}/`)),
      );
      assert.equal(statSync(own.upper).mode, statSync(at('cache')).mode);
      writeFileSync(join(own.upper, 'x'), '');
      assert.deepEqual([prepareCache(fork, at('cache'), 'fork'), readdirSync(own.upper)], [own, ['x']]);
      assert.deepEqual(writtenTrees(fork).slice(-1), [fork.place.caches]);
      const held: string[] = [];
      const hold = (_: number, path: string) =>
        held.push(`${path} ${existsSync(join(path.replace('.lock', ''), rootKey(at('project'))))}`);
      const locking = { ...fork, tree: { fileLock: () => ({ hold }) } as unknown as Tree };
      for (const keeping of ['share', 'share', 'fork'] as const) prepareCache(locking, at('project'), keeping);
      assert.deepEqual(held, [`${at('store', 'cache', String(fork.owner.uid))}.lock false`], 'others share it');
    });
  });

  it('belong to whom root’s commands run as, and /tmp to root inside', { skip: !isRoot && 'needs root' }, async () => {
    write('project/own', 'mine');
    const shifted = { uid: 7, gid: 8, shift: 1_000_000 };
    const fork = await openFork(request({ owner: shifted }));
    const ownerOf = (path: string) => [statSync(path).uid, statSync(path).gid];
    assert.deepEqual(
      [ownerOf(prepareHome(fork)), ownerOf(prepareTemporary(fork))],
      [
        [1_000_007, 1_000_008],
        [1_000_000, 1_000_000],
      ],
    );
    const { upper, work } = prepareCache(fork, at('project'), 'fork');
    assert.deepEqual(
      [ownerOf(upper), ownerOf(work)],
      [
        [1_000_000, 1_000_000],
        [1_000_007, 1_000_008],
      ],
    );
    prepareRoot(fork, workspaceRoot);
    assert.deepEqual(ownerOf(fork.paths.work(fork.meta.live, workspaceRoot)), [1_000_007, 1_000_008]);
    closeFork(fork);
    assert.equal(vaultAccess(request({ owner: shifted })).owner, shifted);
  });
});
