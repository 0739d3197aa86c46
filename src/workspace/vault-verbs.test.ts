/** What an operator does with vaults: made, named, limited, found, checked, collected, deleted, each as its record says. */
import assert from 'node:assert/strict';
import fs, { existsSync, mkdirSync, readdirSync, readlinkSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, it, mock } from 'node:test';
import { currentBoot } from '../base/boot.js';
import type { Host } from '../proxy/host.js';
import { createFork } from '../vault/forks/forks.js';
import { lookAt } from '../vault/forks/vault-fixture.js';
import { makeLayer } from '../vault/store/layer-pool.js';
import { vaultId } from '../vault/store/layout.js';
import { readVaultMeta, writeVaultMeta } from '../vault/store/vault-meta.js';
import { closeFork, openFork } from '../vault/vault.js';
import { createVault, renameVault } from './create-vault.js';
import { changedLimits, confirmRoots, limitsOfVault, limitVault } from './vault-limit-verbs.js';
import {
  collectStore,
  deleteVault,
  exportFork,
  flattenFork,
  formatOf,
  inspectStore,
  readVaults,
  syncFork,
  vaultNamed,
} from './vault-verbs.js';
import { freshWorkspace } from './workspace-fixture.js';

const { at, write, command, host, recorded, shown, access, request, withFork } = freshWorkspace();
const put = (path: string, text: string) => (directory: string) => writeFileSync(join(directory, path), text);
const here = { cwd: '', wait: false };
const project = () => ({ ...here, cwd: at('project') });
const verbs = () =>
  recorded().map(({ type, status, makesRoom }) => `${type} ${status}${makesRoom === true ? ' makes room' : ''}`);
const vaultFile = (name: string) => join(at('store'), 'vault', vaultId(at(name)), 'meta.json');
const meta = (name = 'project') => readVaultMeta(vaultFile(name));

describe('a vault', () => {
  it('is made once, named once, and taken for the one that is asked for', async () => {
    write('project/own', 'mine');
    const made = await createVault(host(), at('project'), { name: 'api', limits: { maxFiles: 900 } });
    assert.deepEqual(
      [
        made.outcome,
        made.problems,
        made.vault.name,
        made.vault.origin,
        made.vault.copied,
        made.vault.layers,
        made.vault.forks,
      ],
      ['made', [], 'api', at('project'), true, 2, ['main']],
    );
    assert.deepEqual([meta()?.name, meta()?.limits], ['api', { maxFiles: 900 }]);
    assert.equal((await createVault(host(), at('project'), { name: 'api' })).outcome, 'there');
    assert.equal((await createVault(host(), at('project'))).outcome, 'there');
    await assert.rejects(createVault(host(), at('project'), { name: 'web' }), { code: 'EEXIST' });
    await assert.rejects(createVault(host(), at('project'), { uncopied: true }), { code: 'EEXIST' });
    await assert.rejects(createVault(host(), at('project'), { limits: { maxFiles: 901 } }), { code: 'EEXIST' });
    const entries = recorded();
    assert.deepEqual(
      entries.slice(0, 2).map(({ status, object, facts }) => [status, object, facts]),
      [
        ['begin', `workspace/${at('project')}`, { name: 'api' }],
        ['ok', `workspace/${at('project')}`, { name: 'api', outcome: 'made' }],
      ],
    );
    assert.deepEqual(entries.map(({ status }) => status).slice(-2), ['begin', 'failed']);
    write('other/own', 'mine');
    assert.equal((await createVault(host(), at('other'))).outcome, 'made');
    await assert.rejects(createVault(host(), at('other'), { name: 'api' }), { code: 'EEXIST' });
    assert.equal((await createVault(host(), at('other'), { name: 'web' })).outcome, 'named');
    assert.deepEqual([meta('other')?.name, meta('project')?.name], ['web', 'api']);
  });

  it('is refused where another process has made something else of it meanwhile, which stays as it is', async () => {
    write('project/own', 'mine');
    await createVault(host(), at('project'));
    const others = [{ name: 'theirs' }, { limits: { maxFiles: 900 } }];
    for (const theirs of others) {
      const before = meta() ?? assert.fail();
      const changed = { ...before, ...theirs };
      // What begins is recorded when the vault was looked at, and not locked yet.
      const append = ({ status }: { status?: string }) => {
        if (status === 'begin') writeVaultMeta(vaultFile('project'), changed);
      };
      const asked = { name: 'ours', limits: { maxFiles: 901 } };
      const late = host({ recorder: { append } as unknown as Host['recorder'] });
      writeVaultMeta(vaultFile('project'), { ...before, limits: asked.limits });
      await assert.rejects(createVault(late, at('project'), asked), { code: 'EEXIST' });
      assert.deepEqual(meta(), changed);
      writeVaultMeta(vaultFile('project'), before);
    }
  });

  it('is of a whole workspace that is a directory, by a name that no number is', async () => {
    write('project/part/own', 'mine');
    mkdirSync(at('project/.git'));
    await assert.rejects(createVault(host(), at('project/part'), { exactly: true }), { code: 'EINVAL' });
    await assert.rejects(createVault(host(), at('project/part/own')), { code: 'ENOTDIR' });
    await assert.rejects(createVault(host(), at('none')), { code: 'ENOENT' });
    for (const name of ['', 'a/b', '0123456789abcdef'])
      await assert.rejects(createVault(host(), at('project'), { name }), { code: 'EINVAL' });
    assert.ok(!existsSync(vaultFile('project')));
    assert.equal((await createVault(host(), at('project/part'))).vault.origin, at('project'));
    assert.equal((await createVault(host(), at('project'), { exactly: true })).outcome, 'there');
  });

  it('is found by its name, its number or its directory, and by nothing else', async () => {
    for (const name of ['project', 'other']) {
      write(`${name}/own`, 'mine');
      await createVault(host(), at(name), { name: `v-${name}` });
    }
    // Its name is that of a directory, which has a vault as well.
    await renameVault(host(), vaultId(at('other')), 'named');
    const found = (cwd: string, wanted?: string) => vaultNamed(host(), at(cwd), wanted).origin;
    for (const [cwd, wanted, name] of [
      ['project', undefined, 'project'],
      ['project', 'named', 'other'],
      ['project', vaultId(at('other')), 'other'],
      ['project', at('other'), 'other'],
      ['project', '../other', 'other'],
      ['project', '.', 'project'],
      ['other', 'v-project', 'project'],
    ] as const)
      assert.equal(found(cwd, wanted), at(name), `${cwd} ${wanted}`);
    mkdirSync(at('empty'));
    for (const [cwd, wanted] of [
      ['project', 'none'],
      ['project', 'v-other'],
      ['empty', undefined],
      ['project', '../empty'],
    ] as const)
      assert.throws(() => found(cwd, wanted), { code: 'ENOENT' });
    // Mostly a variable that is not set.
    assert.throws(() => found('project', ''), { code: 'EINVAL' });
    mkdirSync(at('store/vault/0123456789abcdef'));
    mkdirSync(at('store/vault/stray'));
    assert.deepEqual(
      readVaults(host())
        .vaults.map(({ name }) => name)
        .sort(),
      ['named', 'v-project'],
    );
  });

  it('is renamed in the record, to a name that is free, as long as it is there', async () => {
    for (const name of ['project', 'other']) {
      write(`${name}/own`, 'mine');
      await createVault(host(), at(name), { name });
    }
    recorded();
    const id = vaultId(at('project'));
    assert.equal((await renameVault(host(), id, 'new')).name, 'new');
    assert.equal((await renameVault(host(), id, 'new')).name, 'new');
    for (const [name, code] of [
      ['other', 'EEXIST'],
      ['a b', 'EINVAL'],
    ] as const)
      await assert.rejects(renameVault(host(), id, name), { code });
    await assert.rejects(renameVault(host(), '0'.repeat(16), 'x'), { code: 'ENOENT' });
    assert.deepEqual([verbs(), meta()?.name], [['vault begin', 'vault ok', 'vault begin', 'vault ok'], 'new']);
  });

  it('is not deleted while somebody uses a fork that was made meanwhile', async () => {
    write('project/own', 'mine');
    await command(put('own', 'inside'));
    const main = await openFork(request());
    const deleting = deleteVault(host(), access().id);
    await createFork(access(), 'late', 'trunk');
    const late = await openFork(request({ fork: 'late' }));
    closeFork(main);
    await Promise.race([deleting, new Promise((resolve) => setTimeout(resolve, 200))]);
    assert.ok(existsSync(late.place.directory), 'a jail would lose its layers');
    closeFork(late);
    await deleting;
    assert.equal(existsSync(access().paths.directory), false);
  });

  it('is deleted whole, when nobody uses any of its forks, and no other with it', async () => {
    write('project/own', 'mine');
    await command(put('own', 'inside'));
    await createFork(access(), 'other', 'trunk');
    write('second/own', 'mine');
    await createVault(host(), at('second'));
    recorded();
    let free = false;
    const fork = await openFork(request({ fork: 'other' }));
    const deleting = deleteVault(host(), access().id).then(() => assert.ok(free, 'a jail would lose its layers'));
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.ok(existsSync(vaultFile('project')));
    free = true;
    closeFork(fork);
    await deleting;
    assert.deepEqual(
      [existsSync(access().paths.directory), existsSync(vaultFile('second')), lookAt(at('project'))],
      [false, true, { own: 'mine' }],
    );
    assert.deepEqual(verbs(), ['vault delete begin makes room', 'vault delete ok makes room']);
  });
});

describe('limits', () => {
  it('change by member, and go one by one', () => {
    const before = { maxBytes: 1, maxFiles: 2 };
    for (const [changes, after] of [
      [{}, before],
      [{ maxBytes: undefined }, before],
      [{ maxBytes: null }, { maxFiles: 2 }],
      [
        { maxBytes: 5, maxFileBytes: 7 },
        { maxBytes: 5, maxFiles: 2, maxFileBytes: 7 },
      ],
      [{ maxBytes: null, maxFiles: null, maxFileBytes: null }, {}],
    ] as const)
      assert.deepEqual(changedLimits(before, changes as never), after);
    assert.deepEqual(changedLimits(undefined, { maxBytes: 3 } as never), { maxBytes: 3 });
  });

  it('are set in the record, beside all else that the vault is, and shown with what is used', async () => {
    write('project/own', 'mine');
    await createVault(host(), at('project'), { name: 'api' });
    recorded();
    const id = access().id;
    const set = await limitVault(host(), id, { maxFiles: 100, maxBytes: undefined } as never);
    assert.deepEqual([set.limits, set.usage.inodes > 3, set.usage.bytes > 0], [{ maxFiles: 100 }, true, true]);
    const [begin] = recorded();
    assert.deepEqual([begin?.object, begin?.facts], [`vault/${id}`, { limits: { maxFiles: 100 } }]);
    assert.deepEqual([meta()?.name, meta()?.limits], ['api', { maxFiles: 100 }]);
    assert.deepEqual((await limitsOfVault(host(), id)).limits, { maxFiles: 100 });
    await limitVault(host(), id, { maxFiles: null } as never);
    assert.equal('limits' in (meta() ?? {}), false);
    await assert.rejects(limitVault(host(), '0'.repeat(16), { maxFiles: 1 } as never), { code: 'ENOENT' });
  });
});

it('another directory at its path is none of the vault’s until the person says so', async () => {
  write('project/own', 'mine');
  await command(put('new', 'inside'));
  renameSync(at('project'), at('moved'));
  write('project/own', 'other');
  await assert.rejects(syncFork(host(), project()), { code: 'ESTALE' });
  await confirmRoots(host(), access().id);
  assert.deepEqual((await syncFork(host(), project())).entered, ['own']);
  await assert.rejects(confirmRoots(host(), '0'.repeat(16)), { code: 'ENOENT' });
});

it('edits are taken over, forks merged and written out, by their verbs', async () => {
  write('project/own', 'mine');
  for (const name of ['a', 'b', 'c']) await command(put(name, name));
  write('project/own', 'edited');
  assert.deepEqual(await syncFork(host(), project()), { entered: ['own'], clashes: [], problems: [] });
  const { before, after } = await flattenFork(host(), project());
  assert.deepEqual([before > after, after], [true, 2]);
  assert.deepEqual(await withFork((fork) => shown(fork)), { a: 'a', b: 'b', c: 'c', own: 'edited' });
  assert.deepEqual(await exportFork(host(), project(), at('out')), { problems: [] });
  assert.deepEqual(lookAt(at('out')), { a: 'a', b: 'b', c: 'c', own: 'edited' });
  assert.deepEqual(formatOf(host()), { store: at('store'), format: 2, migrated: null });
});

it('a vault that cannot be read is named, and no other has to wait for it', async () => {
  for (const name of ['project', 'other']) {
    write(`${name}/own`, 'mine');
    await createVault(host(), at(name), { name });
  }
  const [project, other] = [vaultId(at('project')), vaultId(at('other'))];
  writeFileSync(vaultFile('other'), '');
  const stray = await withFork((fork) => makeLayer(fork.paths, { fork: 'none' }));
  const { vaults, faults } = readVaults(host());
  assert.deepEqual(
    [vaults.map(({ id }) => id), faults.map(({ vault, where }) => [vault, where])],
    [[project], [[other, vaultFile('other')]]],
  );
  assert.equal(vaultNamed(host(), at('project'), undefined).name, 'project');
  for (const named of [at('other'), other])
    assert.throws(() => vaultNamed(host(), at('project'), named), { code: 'EIO', path: vaultFile('other') });
  assert.throws(() => vaultNamed(host(), at('project'), 'nosuch'), { code: 'ENOENT' });
  const collected = new Map((await collectStore(host())).map((each) => [each.vault, each]));
  assert.deepEqual([collected.get(project)?.layers, collected.get(project)?.fault], [[stray], undefined]);
  assert.deepEqual([collected.get(other)?.layers, collected.get(other)?.fault?.where], [[], vaultFile('other')]);
});

it('a store is checked, repaired and collected, vault by vault', async () => {
  write('project/own', 'mine');
  for (const name of ['a', 'b']) await command(put(name, name));
  assert.deepEqual(await inspectStore(host()), { format: 2, vaults: 1, faults: [], repaired: [], freeing: 0 });
  recorded();
  const lost = await withFork(({ meta: { deltas } }) => deltas[0] ?? '');
  rmSync(access().paths.layer(lost), { recursive: true });
  const found = await inspectStore(host());
  assert.ok(found.faults.length > 0 && found.faults.every(({ vault }) => vault === access().id));
  assert.deepEqual([found.repaired, verbs()], [[], []]);
  const repaired = await inspectStore(host(), { repair: true });
  assert.ok(repaired.repaired.length > 0 && repaired.faults.length === 0);
  const entries = recorded();
  assert.deepEqual(
    entries.map(({ type, status, object }) => [type, status, object]),
    [
      ['repair', 'begin', `vault/${access().id}`],
      ['repair', 'ok', `vault/${access().id}`],
    ],
  );
  assert.deepEqual([(await inspectStore(host(), { repair: true })).repaired, verbs()], [[], []]);
  await withFork(async (fork) => {
    const stray = makeLayer(fork.paths, { fork: 'none' });
    mkdirSync(fork.place.runs, { recursive: true });
    const [busy] = await collectStore(host());
    assert.deepEqual([busy?.layers, busy?.busy, existsSync(fork.place.runs)], [[stray], ['main'], true]);
  });
  const [collected] = await collectStore(host());
  assert.deepEqual(
    [collected?.vault, collected?.busy, existsSync(access().paths.fork('main').runs)],
    [access().id, [], false],
  );
  assert.deepEqual(readdirSync(at('store/trash')), []);
});

it('what a person decides about a vault is on the disk, also while what its layers hold is not', async () => {
  write('project/own', 'mine');
  await createVault(host(), at('project'));
  const id = access().id;
  const decisions: Readonly<Record<string, () => Promise<unknown>>> = {
    limits: () => limitVault(host(), id, { maxFiles: 900 }),
    name: () => renameVault(host(), id, 'later'),
    'name by create': () => createVault(host(), at('project'), { name: 'api' }),
    place: () => confirmRoots(host(), id),
  };
  for (const [what, decide] of Object.entries(decisions)) {
    const { name: _name, ...unnamed } = meta() ?? assert.fail('there is none');
    writeVaultMeta(vaultFile('project'), { ...unnamed, boot: currentBoot() });
    const synced: string[] = [];
    const real = fs.fsyncSync;
    mock.method(fs, 'fsyncSync', (descriptor: number) => {
      synced.push(readlinkSync(`/proc/self/fd/${descriptor}`));
      real(descriptor);
    });
    syncBuiltinESMExports();
    try {
      await decide();
    } finally {
      mock.restoreAll();
      syncBuiltinESMExports();
    }
    const file = synced.findIndex((path) => path.startsWith(vaultFile('project')));
    assert.ok(file >= 0 && synced.lastIndexOf(dirname(vaultFile('project'))) > file, `${what}: ${synced.join()}`);
    assert.equal(meta()?.boot, currentBoot(), 'the layers are as they were');
  }
});
