/** Every fault that a vault can have: found by an inspection, which changes nothing, and gone or said after a repair. */
import assert from 'node:assert/strict';
import { closeSync, mkdirSync, openSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { stepsFile } from '../store/applied-steps.js';
import { type Checkpoint, type ForkMeta, readableForkMeta, writeForkMeta } from '../store/fork-meta.js';
import { layerDigest } from '../store/layer-digest.js';
import { makeLayer } from '../store/layer-pool.js';
import { workspaceRoot } from '../store/layout.js';
import { takeLock } from '../store/locks.js';
import { openStore } from '../store/store.js';
import { readVaultMeta, writeVaultMeta } from '../store/vault-meta.js';
import type { Tree } from '../tree/tree.js';
import { freshPlace, tree } from '../tree/tree-fixture.js';
import { closeFork, newForkMeta, type OpenFork, openFork, writeFork } from '../vault.js';
import { inspectVault } from './fsck.js';
import { repairVault } from './repair.js';

const { at, write } = freshPlace();
const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0, shift: 0 };

/** A vault with two forks, each with a frozen layer, a checkpoint and an apply. */
async function newVault(): Promise<OpenFork> {
  write('project/own');
  const request = { store: openStore(at('store')), tree, origin: at('project'), owner, wait: true, purpose: 'test' };
  const fork = await openFork(request);
  closeFork(fork);
  writeFork(fork, 'other', newForkMeta(fork, 'other', { position: 0, base: fork.vault.trunk, deltas: [] }), true);
  for (const name of ['main', 'other']) {
    const [delta, applied] = [await frozen(fork, name), await frozen(fork, name)];
    writeFileSync(stepsFile(fork.paths.layer(applied)), '{}');
    change(fork, name, (meta) => ({
      ...meta,
      deltas: [delta],
      applied: [applied],
      checkpoints: [checkpoint(1, meta, [delta])],
      nextCheckpoint: 2,
    }));
  }
  return fork;
}

const checkpoint = (id: number, { created, base }: ForkMeta, deltas: readonly string[]): Checkpoint => ({
  id,
  made: created,
  automatic: true,
  reason: 'test',
  clashes: [],
  position: 0,
  base,
  deltas,
});

async function frozen(fork: OpenFork, name: string): Promise<string> {
  const layer = makeLayer(fork.paths, { fork: name });
  mkdirSync(fork.paths.tree(layer, workspaceRoot));
  writeFileSync(`${fork.paths.tree(layer, workspaceRoot)}/file`, name);
  writeFileSync(fork.paths.tree(layer, 'digest'), `${await layerDigest(fork, layer, 0)}\n`);
  return layer;
}

const metaOf = ({ paths }: OpenFork, name = 'main') => readableForkMeta(paths.fork(name).directory) as ForkMeta;
const deltaOf = (fork: OpenFork, name = 'main') => metaOf(fork, name).deltas[0] ?? '';

function change(fork: OpenFork, name: string, by: (meta: ForkMeta) => ForkMeta): void {
  writeForkMeta(fork.paths.fork(name).directory, by(metaOf(fork, name)), { durable: true });
}

/** The position of the trunk, with a list of edits for all but the last step. */
function stepOn({ paths, vault }: OpenFork, position: number): void {
  writeVaultMeta(paths.meta, { ...vault, position });
  mkdirSync(paths.allEdits, { recursive: true });
  for (let step = 1; step < position; step += 1) writeFileSync(paths.edits(step), '{"paths":{}}\n');
}

type Damage = (fork: OpenFork) => void;
/** What is done to the vault; what an inspection says; what a repair says, and what is left after it. */
const damages: readonly (readonly [name: string, Damage, found: RegExp, repaired: RegExp, left: RegExp | undefined])[] =
  [
    [
      'a layer is gone',
      (fork) => rmSync(fork.paths.layer(deltaOf(fork)), { recursive: true }),
      /^fork main names a layer that is missing\ncheckpoint 1 of fork main names a layer that is missing$/,
      /1 layers are gone.*\n.*1 checkpoints are gone/,
      undefined,
    ],
    [
      'a layer has lost its tree',
      (fork) => rmSync(fork.paths.tree(deltaOf(fork), workspaceRoot), { recursive: true }),
      /^fork main names a layer that holds no tree\n.*checkpoint 1 .*holds no tree\n.*digest differs$/,
      /^$/,
      /digest differs/,
    ],
    [
      'a layer has changed',
      (fork) => truncateSync(`${fork.paths.tree(deltaOf(fork, 'other'), workspaceRoot)}/file`),
      /^a frozen layer has changed: its digest differs$/,
      /^$/,
      /digest differs/,
    ],
    [
      'the layer that a fork writes into is gone',
      (fork) => rmSync(fork.paths.layer(metaOf(fork).live), { recursive: true }),
      /^fork main names a layer that is missing$/,
      /^fork main: the layer that it writes into was gone, with what was written last$/,
      undefined,
    ],
    [
      'the layer of an apply is gone',
      (fork) => rmSync(fork.paths.layer(metaOf(fork).applied?.[0] ?? ''), { recursive: true }),
      /^fork main names a layer that is missing$/,
      /^fork main: 1 applies can no longer be undone$/,
      undefined,
    ],
    [
      'a fork writes into what an apply of its own replaced',
      (fork) => change(fork, 'main', (meta) => ({ ...meta, live: meta.applied?.[0] ?? '' })),
      /^fork main writes into a layer that is frozen$/,
      /^$/,
      /frozen/,
    ],
    [
      'an older state of a fork is damaged',
      ({ paths }) => writeFileSync(`${paths.fork('main').directory}/state-0.json`, '{'),
      /^a state of fork main is damaged$/,
      /^$/,
      undefined,
    ],
    [
      'the trunk has lost a layer',
      ({ paths, vault }) => writeVaultMeta(paths.meta, { ...vault, trunk: [...vault.trunk, 'gone'] }),
      /^the trunk names a layer that is missing$/,
      /^your directory is compared again/,
      undefined,
    ],
    [
      'the copy of the directory is gone',
      ({ paths, vault }) => rmSync(paths.layer(vault.trunk[0] ?? ''), { recursive: true }),
      /^the trunk names a layer that is missing\nfork main names a layer that is missing\n/,
      /^your directory is compared again.*\n.*\nfork main: 1 checkpoints are gone\nfork other: 1 checkpoints are gone$/,
      undefined,
    ],
    [
      'a fork is ahead of the trunk',
      (fork) => change(fork, 'other', (meta) => ({ ...meta, position: 1 })),
      /^fork other needs a trunk that is newer than the vault's$/,
      /^$/,
      /newer than/,
    ],
    [
      'a checkpoint is ahead of the trunk',
      (fork) =>
        change(fork, 'other', (meta) => ({ ...meta, checkpoints: [{ ...checkpoint(1, meta, []), position: 1 }] })),
      /^fork other needs a trunk that is newer than the vault's$/,
      /^$/,
      /newer than/,
    ],
    [
      'two checkpoints have one number',
      (fork) =>
        change(fork, 'main', (meta) => ({
          ...meta,
          checkpoints: [...meta.checkpoints, ...meta.checkpoints],
        })),
      /^fork main has two checkpoints with the same number$/,
      /^$/,
      /same number/,
    ],
    [
      'the next checkpoint would have a number that is used',
      (fork) => change(fork, 'main', (meta) => ({ ...meta, nextCheckpoint: 1 })),
      /^fork main has two checkpoints with the same number$/,
      /^$/,
      /same number/,
    ],
    [
      'a fork writes into what a checkpoint of its own holds',
      (fork) => change(fork, 'main', (meta) => ({ ...meta, live: deltaOf(fork), deltas: [] })),
      /^fork main writes into a layer that is frozen$/,
      /^$/,
      /frozen/,
    ],
    [
      'a fork writes into a layer of another',
      (fork) => change(fork, 'main', (meta) => ({ ...meta, live: deltaOf(fork, 'other') })),
      /^fork main writes into a layer of fork other$/,
      /^$/,
      /of fork other/,
    ],
    [
      'the list of an apply is damaged',
      (fork) => truncateSync(stepsFile(fork.paths.layer(metaOf(fork).applied?.[0] ?? ''))),
      /^an apply of fork main cannot be undone: its list is damaged$/,
      /fork main: 1 applies can no longer be undone/,
      undefined,
    ],
    [
      'a list of edits is missing that a fork behind the trunk needs',
      (fork) => {
        stepOn(fork, 2);
        change(fork, 'main', (meta) => ({ ...meta, position: 2 }));
      },
      /^a list of your edits is damaged or missing$/,
      /1 lists of your edits are gone/,
      undefined,
    ],
    [
      'a state of a fork is damaged',
      ({ paths }) => writeFileSync(`${paths.fork('main').directory}/state-99.json`, '{'),
      /^a state of fork main is damaged$/,
      /^fork main: the machine stopped/,
      undefined,
    ],
    [
      'no state of a fork can be read',
      ({ paths }) => writeFileSync(`${paths.fork('other').directory}/state-99.json`, '{"state":{"format":1}}'),
      /expected a fork of format/,
      /fork other: it could not be read and was reset/,
      undefined,
    ],
    [
      'the fork in use is missing',
      ({ paths }) => rmSync(paths.fork('main').directory, { recursive: true }),
      /^the fork in use, main, is missing$/,
      /^fork main: it was missing and was made anew; its changes are lost$/,
      undefined,
    ],
    [
      'a fork in use that is not main is missing',
      ({ paths, vault }) => writeVaultMeta(paths.meta, { ...vault, current: 'none' }),
      /^the fork in use, none, is missing$/,
      /^fork none: it was in use and is missing; main is in use now$/,
      undefined,
    ],
    [
      'all forks are missing',
      ({ paths }) => rmSync(paths.forks, { recursive: true }),
      /^the fork in use, main, is missing$/,
      /^fork main: it was missing and was made anew; its changes are lost$/,
      undefined,
    ],
    [
      'something else is among the forks',
      ({ paths }) => mkdirSync(`${paths.forks}/No Fork`),
      /^expected a fork’s name$/,
      /^$/,
      /expected a fork/,
    ],
    [
      'a layer belongs to no fork',
      (fork) => mkdirSync(fork.paths.tree('stray', workspaceRoot), { recursive: true }),
      /^a layer that belongs to no fork$/,
      /^$/,
      /belongs to no fork/,
    ],
    [
      'the newest state of the vault is damaged',
      ({ paths, vault }) => {
        writeVaultMeta(paths.meta, { ...vault, boot: 'an earlier start' });
        truncateSync(paths.meta, 3);
      },
      /^the newest state of the vault is damaged$/,
      /your directory is compared again/,
      undefined,
    ],
  ];

const said = async (fork: OpenFork) => (await inspectVault(fork)).map(({ what }) => what).join('\n');

describe('a vault', () => {
  it('is whole, and a repair of it does nothing', async () => {
    const fork = await newVault();
    const before = [metaOf(fork), metaOf(fork, 'other'), readVaultMeta(fork.paths.meta)];
    assert.deepEqual([await said(fork), await repairVault(fork)], ['', []]);
    assert.deepEqual([metaOf(fork), metaOf(fork, 'other'), readVaultMeta(fork.paths.meta)], before);
  });

  for (const [name, damage, found, repaired, left] of damages)
    it(`is not whole where ${name}`, async () => {
      const fork = await newVault();
      damage(fork);
      assert.match(await said(fork), found);
      assert.match(await said(fork), found, 'an inspection changes nothing');
      assert.match((await repairVault(fork)).join('\n'), repaired);
      if (left === undefined) assert.equal(await said(fork), '');
      else assert.match(await said(fork), left);
    });

  it('is on the disk before a state names what was repaired of it', async () => {
    const fork = await newVault();
    rmSync(fork.paths.layer(deltaOf(fork)), { recursive: true });
    const before = metaOf(fork);
    const states: boolean[] = [];
    tree.sync = async () => void states.push(metaOf(fork) === before);
    await repairVault(fork).finally(() => Reflect.deleteProperty(tree, 'sync'));
    assert.deepEqual([states, metaOf(fork) === before], [[true], false]);
  });

  it('is repaired but for a fork that somebody uses', async () => {
    const fork = await newVault();
    rmSync(fork.paths.layer(deltaOf(fork)), { recursive: true });
    renameSync(fork.paths.layer(deltaOf(fork, 'other')), at('away'));
    const lock = await takeLock(tree, fork.paths.fork('main').lock, { wait: false, purpose: 'test', what: 'main' });
    const done = (await repairVault(fork).finally(() => closeSync(lock))).join('\n');
    assert.match(done, /^fork main: in use, and left alone\nfork other: 1 layers are gone/);
    assert.deepEqual([metaOf(fork).deltas.length, metaOf(fork, 'other').deltas.length], [1, 0]);
    // A command that runs has let go of the fork's lock, and has the layers mounted.
    const { group } = fork.paths.fork('main');
    mkdirSync(group, { recursive: true });
    const worker = openSync(`${group}/0`, 'w');
    await tree.lock({ descriptor: worker, wait: false });
    assert.match((await repairVault(fork)).join('\n'), /^fork main: in use, and left alone$/);
    closeSync(worker);
    assert.match((await repairVault(fork)).join('\n'), /^fork main: 1 layers are gone/);
  });
});

it('what others take away while it looks is no fault', async () => {
  const fork = await newVault();
  let looks = 0;
  const digest: Tree['digest'] = (asked) => {
    looks += 1;
    if (looks === 1) {
      change(fork, 'main', (meta) => ({ ...meta, deltas: [], applied: [], checkpoints: [] }));
      for (const layer of asked.layers) rmSync(layer, { recursive: true });
    }
    return tree.digest(asked);
  };
  assert.deepEqual(await inspectVault({ ...fork, tree: { digest } as Tree }), []);
  assert.ok(looks > 1);
});
