/** After the machine stopped: every condition that a cut can leave a layer in, at every place where a state names one. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { freshPlace, tree } from '../tree/tree-fixture.js';
import { closeFork, type OpenFork, openFork } from '../vault.js';
import { type Checkpoint, type ForkMeta, forkVersions, isSuspect, readForkMeta } from './fork-meta.js';
import { layerDigest } from './layer-digest.js';
import { makeLayer } from './layer-pool.js';
import { workspaceRoot } from './layout.js';
import { choose, recoverFork, recoverVault } from './recover.js';
import { openStore } from './store.js';
import { readVaultMeta, writeVaultMeta } from './vault-meta.js';

const { at, write } = freshPlace();
const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0, shift: 0 };

async function newFork(): Promise<OpenFork> {
  write('project/own');
  const fork = await openFork({
    store: openStore(at('store')),
    tree,
    origin: at('project'),
    owner,
    wait: true,
    purpose: 'test',
  });
  closeFork(fork);
  return fork;
}

/** As an earlier start of the machine wrote it, without a sync. */
function unsynced({ place }: OpenFork, number: number, state: ForkMeta): void {
  writeFileSync(`${place.directory}/state-${number}.json`, `${JSON.stringify({ boot: 'an earlier start', state })}\n`);
}

async function filled(fork: OpenFork, name: string, hasDigest: boolean): Promise<void> {
  const directory = fork.paths.tree(name, workspaceRoot);
  mkdirSync(directory, { recursive: true });
  writeFileSync(`${directory}/file`, 'text');
  if (hasDigest) writeFileSync(fork.paths.tree(name, 'digest'), `${await layerDigest(fork, name, 0)}\n`);
}

type Condition = (fork: OpenFork, name: string) => void | Promise<void>;
const fileOf = (fork: OpenFork, name: string) => `${fork.paths.tree(name, workspaceRoot)}/file`;

/** What a cut left of a layer, and what can be said about it then. */
const conditions: Readonly<Record<string, readonly [Condition, 'whole' | 'likely whole' | 'damaged']>> = {
  'holds what its digest says': [(fork, name) => filled(fork, name, true), 'whole'],
  'was emptied after its digest was made': [
    async (fork, name) => {
      await filled(fork, name, true);
      truncateSync(fileOf(fork, name));
    },
    'damaged',
  ],
  'lost a file after its digest was made': [
    async (fork, name) => {
      await filled(fork, name, true);
      rmSync(fileOf(fork, name));
    },
    'damaged',
  ],
  'has no digest': [(fork, name) => filled(fork, name, false), 'likely whole'],
  'has half a digest': [
    async (fork, name) => {
      await filled(fork, name, true);
      truncateSync(fork.paths.tree(name, 'digest'), 63);
    },
    'likely whole',
  ],
  'has no digest, and an empty file': [
    async (fork, name) => {
      await filled(fork, name, false);
      writeFileSync(`${fork.paths.tree(name, workspaceRoot)}/empty`, '');
    },
    'damaged',
  ],
  'holds no file': [(fork, name) => void mkdirSync(fork.paths.tree(name, workspaceRoot)), 'whole'],
  'holds no tree': [() => undefined, 'whole'],
  'is missing': [(fork, name) => rmSync(fork.paths.layer(name), { recursive: true }), 'damaged'],
};

const checkpoint = (id: number, meta: ForkMeta, deltas: readonly string[]): Checkpoint => ({
  id,
  made: meta.created,
  automatic: true,
  reason: `command ${id}`,
  clashes: [],
  position: meta.position,
  base: meta.base,
  deltas,
});

/** Where the later state names the layer. */
const places: Readonly<Record<string, (meta: ForkMeta, layer: string) => ForkMeta>> = {
  'the layer that is written to': (meta, layer) => ({ ...meta, live: layer }),
  'a layer below it': (meta, layer) => ({ ...meta, deltas: [layer] }),
  'a layer of a checkpoint': (meta, layer) => ({ ...meta, checkpoints: [checkpoint(1, meta, [layer])] }),
  'a layer of an apply': (meta, layer) => ({ ...meta, applied: [layer] }),
};

const newest = (fork: OpenFork) => readForkMeta(fork.place.directory) as ForkMeta;

describe('a state that was not synced', () => {
  for (const [where, named] of Object.entries(places))
    it(`is believed as far as ${where} can be proved`, async () => {
      const fork = await newFork();
      for (const [what, [make, proof]] of Object.entries(conditions)) {
        const layer = makeLayer(fork.paths, { fork: 'main' });
        await make(fork, layer);
        unsynced(fork, 2, named({ ...fork.meta, live: makeLayer(fork.paths, { fork: 'main' }) }, layer));
        const [later, synced] = forkVersions(fork.place.directory);
        const found = await choose(
          fork,
          [later, synced].flatMap((each) => each ?? []),
        );
        const expected = proof === 'damaged' ? [synced, 'whole'] : [later, proof];
        assert.deepEqual([found.chosen, found.proof], expected, what);
      }
    });

  it('is not believed for a layer that was empty when the state before was synced', async () => {
    const fork = await newFork();
    const { live } = fork.meta;
    await filled(fork, live, true);
    unsynced(fork, 2, { ...fork.meta, checkpoints: [checkpoint(1, fork.meta, [])], nextCheckpoint: 2 });
    assert.deepEqual((await choose(fork, forkVersions(fork.place.directory))).proof, 'whole');
    truncateSync(fileOf(fork, live));
    const { meta, warnings } = await recoverFork(fork, 'main', fork.place);
    assert.equal(warnings.length, 1);
    assert.notEqual(meta.live, live);
    assert.deepEqual([meta.deltas, meta.checkpoints.at(-1)?.deltas], [[], [live]], 'what is left can be looked at');
  });

  it('of the trunk names what is compared with the directory, and may be missing', async () => {
    const fork = await newFork();
    unsynced(fork, 2, { ...fork.meta, base: ['gone'] });
    assert.equal((await choose(fork, forkVersions(fork.place.directory))).chosen?.boot, 'an earlier start');
  });
});

describe('a fork after the machine stopped', () => {
  it('goes on with what is whole, and says nothing', async () => {
    const fork = await newFork();
    const layer = makeLayer(fork.paths, { fork: 'main' });
    await filled(fork, layer, true);
    const live = makeLayer(fork.paths, { fork: 'main' });
    unsynced(fork, 2, { ...fork.meta, deltas: [layer], live });
    assert.ok(isSuspect(fork.place.directory));
    const { meta, warnings } = await recoverFork(fork, 'main', fork.place);
    assert.deepEqual([meta.deltas, meta.live, warnings], [[layer], live, []]);
    assert.ok(!isSuspect(fork.place.directory), 'it is asked once');
    assert.deepEqual(newest(fork).deltas, [layer]);
  });

  it('says that it may not be whole, and what of it is lost', async () => {
    const fork = await newFork();
    const layer = makeLayer(fork.paths, { fork: 'main' });
    await filled(fork, layer, false);
    unsynced(fork, 2, { ...fork.meta, deltas: [layer] });
    assert.match((await recoverFork(fork, 'main', fork.place)).warnings.join(), /not all of it can be checked/);
  });

  it('loses checkpoints and applies that are gone, and no others', async () => {
    const fork = await newFork();
    const there = makeLayer(fork.paths, { fork: 'main' });
    const checkpoints = [checkpoint(1, fork.meta, [there]), checkpoint(2, fork.meta, [there, 'gone'])];
    const state = { ...fork.meta, checkpoints, nextCheckpoint: 3, applied: ['gone', there] };
    // A synced state is not proved; and one that is damaged comes after it.
    writeFileSync(`${fork.place.directory}/state-2.json`, JSON.stringify({ state }));
    writeFileSync(`${fork.place.directory}/state-3.json`, '');
    const { meta, warnings } = await recoverFork(fork, 'main', fork.place);
    assert.deepEqual([meta.checkpoints.map(({ id }) => id), meta.applied], [[1], [there]]);
    assert.deepEqual([warnings.length, meta.nextCheckpoint], [2, 3]);
    assert.notEqual(meta.live, fork.meta.live);
  });

  it('goes back to the state that was synced, and keeps the rest where only its number leads to it', async () => {
    const fork = await newFork();
    const lost = makeLayer(fork.paths, { fork: 'main' });
    const live = makeLayer(fork.paths, { fork: 'main' });
    await conditions['has no digest, and an empty file']?.[0](fork, lost);
    await filled(fork, live, true);
    const checkpoints = [checkpoint(1, fork.meta, []), checkpoint(2, fork.meta, [lost])];
    unsynced(fork, 2, { ...fork.meta, deltas: [lost], live, checkpoints, nextCheckpoint: 9 });
    const { meta, warnings } = await recoverFork(fork, 'main', fork.place);
    assert.deepEqual([meta.deltas, meta.nextCheckpoint], [[], 10]);
    assert.ok(![live, lost, fork.meta.live].includes(meta.live), 'a layer of its own');
    assert.deepEqual(
      meta.checkpoints.map(({ id, undone, deltas }) => [id, undone, deltas]),
      [[9, true, [lost, live]]],
    );
    assert.match(warnings.join('\n'), /2 later commands.*rollback 9/);
    assert.deepEqual(newest(fork), meta);
    // Where nothing is left, there is no checkpoint, and its number is not used again.
    unsynced(fork, 20, { ...fork.meta, deltas: ['gone'], nextCheckpoint: 30 });
    const second = await recoverFork(fork, 'main', fork.place);
    assert.deepEqual([second.meta.checkpoints.length, second.meta.nextCheckpoint], [1, 31]);
    assert.match(second.warnings.join('\n'), /later changes are gone/);
  });

  it('is refused where no state is whole', async () => {
    const fork = await newFork();
    rmSync(`${fork.place.directory}/state-1.json`);
    unsynced(fork, 2, { ...fork.meta, deltas: ['gone'] });
    await assert.rejects(recoverFork(fork, 'main', fork.place), { code: 'EIO' });
    assert.deepEqual(newest(fork).deltas, ['gone'], 'nothing is written');
  });
});

describe('what is left after the machine stopped', () => {
  it('is on the disk before a state names it that counts as synced', async () => {
    const fork = await newFork();
    unsynced(fork, 2, fork.meta);
    writeVaultMeta(fork.paths.meta, { ...fork.vault, boot: 'an earlier start' });
    const suspect: boolean[] = [];
    const isForkSuspect = () => isSuspect(fork.place.directory);
    const isVaultSuspect = () => readVaultMeta(fork.paths.meta)?.boot !== undefined;
    tree.sync = async () => void suspect.push(isForkSuspect(), isVaultSuspect());
    try {
      await recoverFork(fork, 'main', fork.place);
      assert.deepEqual([suspect, isForkSuspect()], [[true, true], false]);
      await recoverVault(fork);
      assert.deepEqual([suspect.slice(2), isVaultSuspect()], [[false, true], false]);
    } finally {
      Reflect.deleteProperty(tree, 'sync');
    }
  });
});

describe('a vault after the machine stopped', () => {
  it('is left as it is where it was synced', async () => {
    const fork = await newFork();
    const before = readFileSync(fork.paths.meta, 'utf8');
    assert.deepEqual(await recoverVault(fork), fork.vault);
    assert.equal(readFileSync(fork.paths.meta, 'utf8'), before);
  });

  it('believes neither its signatures nor its steps, and is newer than any of its forks', async () => {
    const fork = await newFork();
    const [trunk = ''] = fork.vault.trunk;
    writeVaultMeta(fork.paths.meta, { ...fork.vault, position: 2, trunk: [trunk, 'gone'], boot: 'an earlier start' });
    unsynced(fork, 2, { ...fork.meta, position: 4 });
    mkdirSync(fork.paths.scans, { recursive: true });
    writeFileSync(fork.paths.scan(workspaceRoot), 'signatures');
    const after = await recoverVault(fork);
    assert.deepEqual([after?.position, after?.trunk, after?.boot], [5, [trunk], undefined]);
    assert.deepEqual(readVaultMeta(fork.paths.meta), after);
    assert.ok(!existsSync(fork.paths.scan(workspaceRoot)));
    const steps = readdirSync(fork.paths.allEdits).sort();
    assert.deepEqual(steps.length, 3, steps.join(' '));
    for (const position of [3, 4, 5])
      assert.equal(JSON.parse(readFileSync(fork.paths.edits(position), 'utf8')).unknown, true);
    // A trunk of which nothing is left is imported anew, into a layer of its own.
    writeVaultMeta(fork.paths.meta, { ...fork.vault, trunk: ['gone'], boot: 'an earlier start' });
    const [made = ''] = (await recoverVault(fork))?.trunk ?? [];
    assert.ok(existsSync(fork.paths.layer(made)));
  });
});
