/** Which lists of edits a collection leaves: those that some fork, or a checkpoint of one, has not seen. */
import assert from 'node:assert/strict';
import { closeSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { checkpointsBetweenCollections } from '../../base/limits/store.js';
import { type Checkpoint, type ForkMeta, writeForkMeta } from '../store/fork-meta.js';
import { makeLayer } from '../store/layer-pool.js';
import { storePaths } from '../store/layout.js';
import { takeLock } from '../store/locks.js';
import { readNewest } from '../store/state-file.js';
import { openStore } from '../store/store.js';
import { writeVaultMeta } from '../store/vault-meta.js';
import { freshPlace, tree } from '../tree/tree-fixture.js';
import { closeFork, newForkMeta, type OpenFork, openFork, writeFork } from '../vault.js';
import { collectInPassing } from './collect-in-passing.js';
import { collectGarbage } from './gc.js';

const { at, write } = freshPlace();
const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0, shift: 0 };
const steps = 9;

/** Two forks, both synced when nothing had been edited yet; since then nine edits came. */
async function newVault(): Promise<OpenFork> {
  write('project/own');
  const request = { store: openStore(at('store')), tree, origin: at('project'), owner, wait: true, purpose: 'test' };
  const fork = await openFork(request);
  closeFork(fork);
  for (const name of ['main', 'other']) {
    writeFork(fork, name, newForkMeta(fork, name, { position: 0, base: fork.vault.trunk, deltas: [] }), true);
  }
  writeVaultMeta(fork.paths.meta, { ...fork.vault, position: steps });
  mkdirSync(fork.paths.allEdits, { recursive: true });
  for (let step = 1; step <= steps; step += 1) writeFileSync(fork.paths.edits(step), '{"paths":{}}\n');
  return fork;
}

/** A state that is not synced, with checkpoints that have seen so much. */
function seen({ meta }: OpenFork, position: number, checkpoints: readonly number[]): ForkMeta {
  const { created, base } = meta;
  const saved = checkpoints.map((each, index): Checkpoint => {
    const about = { made: created, automatic: true, reason: 'test', clashes: [] };
    return { id: index + 1, ...about, position: each, base, deltas: [] };
  });
  return { ...meta, position, checkpoints: saved, nextCheckpoint: saved.length + 1 };
}

describe('a collection leaves the lists of edits', () => {
  type Seen = readonly [position: number, ...checkpoints: readonly number[]];
  const cases: readonly (readonly [string, Seen, Seen, number])[] = [
    ['that neither has seen', [0], [0], 1],
    ['that one of two forks has not seen', [9], [4], 5],
    ['that a checkpoint has not seen', [9, 9, 6], [9, 7], 7],
    ['that the oldest checkpoint of all has not seen', [9, 3], [8, 5], 4],
  ];
  for (const [what, [main, ...ofMain], [other, ...ofOther], oldest] of cases) {
    it(`${what}, whatever the state knew that was synced last`, async () => {
      const fork = await newVault();
      const states = { main: seen(fork, main, ofMain), other: seen(fork, other, ofOther) };
      for (const [name, meta] of Object.entries(states)) {
        writeForkMeta(fork.paths.fork(name).directory, { ...meta, live: `live-${name}` }, { durable: false });
      }
      await collectGarbage(fork);
      const left = readdirSync(fork.paths.allEdits).map((name) => Number.parseInt(name, 10));
      const expected = Array.from({ length: steps + 1 - oldest }, (_, index) => oldest + index);
      assert.deepEqual(
        left.toSorted((one, two) => one - two),
        expected,
      );
    });
  }

  it('but none that all have seen', async () => {
    const fork = await newVault();
    for (const name of ['main', 'other']) {
      writeForkMeta(fork.paths.fork(name).directory, seen(fork, steps, [steps]), { durable: false });
    }
    await collectGarbage(fork);
    assert.deepEqual(readdirSync(fork.paths.allEdits), []);
  });
});

describe('a collection that syncs first', () => {
  const bootOf = ({ paths }: OpenFork, name: string) => readNewest(paths.fork(name).directory)?.boot;

  it('makes the states of forks at rest durable, and leaves those that are in use', async () => {
    const fork = await newVault();
    const unsynced = (name: string) =>
      writeForkMeta(
        fork.paths.fork(name).directory,
        { ...seen(fork, steps, []), live: `live-${name}` },
        { durable: false },
      );
    writeFork(fork, 'busy', newForkMeta(fork, 'busy', { position: steps, base: fork.vault.trunk, deltas: [] }), true);
    for (const name of ['main', 'other', 'busy']) unsynced(name);
    const lock = await takeLock(tree, fork.paths.fork('busy').lock, { wait: true, purpose: 'test', what: 'busy' });
    const { busy } = await collectGarbage(fork, new Map(), { sync: true });
    assert.deepEqual(busy, ['busy']);
    assert.deepEqual(
      ['main', 'other', 'busy'].map((name) => bootOf(fork, name) === undefined),
      [true, true, false],
    );
    closeSync(lock);
    for (const name of ['main', 'other']) unsynced(name);
    await collectGarbage(fork);
    assert.notEqual(bootOf(fork, 'main'), undefined, 'it was not asked for');
    const held = await takeLock(tree, fork.paths.fork('main').lock, { wait: true, purpose: 'test', what: 'main' });
    assert.deepEqual((await collectGarbage(fork, new Map([['main', held]]), { sync: true })).busy, []);
    assert.equal(bootOf(fork, 'main'), undefined, 'the caller holds it');
    await tree.lock({ descriptor: held, wait: false });
    closeSync(held);
  });

  it('leaves what a power cut may have touched, be it of the vault or of a fork', async () => {
    const fork = await newVault();
    const { directory } = fork.paths.fork('main');
    const state = () => writeForkMeta(directory, { ...seen(fork, steps, []), live: 'live-main' }, { durable: false });
    const sync = () => collectGarbage(fork, new Map(), { sync: true });
    state();
    writeVaultMeta(fork.paths.meta, { ...fork.vault, position: steps, boot: 'an earlier start' });
    await sync();
    assert.notEqual(bootOf(fork, 'main'), undefined);
    writeVaultMeta(fork.paths.meta, { ...fork.vault, position: steps });
    const meta = readNewest(directory)?.value;
    writeFileSync(`${directory}/state-99.json`, JSON.stringify({ boot: 'an earlier start', state: meta }));
    await sync();
    assert.equal(bootOf(fork, 'main'), 'an earlier start');
    rmSync(`${directory}/state-99.json`);
    await sync();
    assert.equal(bootOf(fork, 'main'), undefined);
    // Of which no state can be read: what it made is not known to be garbage.
    const [ofMain, ofOther] = ['main', 'other'].map((maker) => makeLayer(fork.paths, { fork: maker })) as [
      string,
      string,
    ];
    for (const name of readdirSync(directory).filter((each) => each.startsWith('state')))
      writeFileSync(`${directory}/${name}`, '{');
    assert.deepEqual((await collectGarbage(fork)).layers, [ofOther]);
    assert.ok(existsSync(fork.paths.layer(ofMain)));
    // Somebody may be making a layer in it, which has no maker yet.
    mkdirSync(fork.paths.layer('new'));
    const lock = await takeLock(tree, fork.paths.fork('main').lock, { wait: true, purpose: 'test', what: 'main' });
    assert.deepEqual(await collectGarbage(fork), { layers: [], busy: ['main'] });
    closeSync(lock);
    assert.deepEqual(await collectGarbage(fork), { layers: ['new'], busy: [] });
    rmSync(directory, { recursive: true });
    assert.ok((await collectGarbage(fork)).layers.includes(ofMain));
  });

  it('takes away layers and output of forks at rest alone, and what a maker that is gone left', async () => {
    const fork = await newVault();
    await collectGarbage(fork, new Map(), { sync: true });
    const stray = (maker: string) => makeLayer(fork.paths, { fork: maker });
    const [ofMain, ofOther, ofGone, ofTrunk] = [
      stray('main'),
      stray('other'),
      stray('gone'),
      makeLayer(fork.paths, { trunk: true }),
    ];
    const nameless = `${fork.paths.layers}/nameless`;
    mkdirSync(nameless);
    for (const name of ['main', 'other']) mkdirSync(fork.paths.fork(name).runs);
    const lock = await takeLock(tree, fork.paths.fork('other').lock, { wait: true, purpose: 'test', what: 'other' });
    const first = await collectGarbage(fork, new Map(), { outputs: true });
    assert.deepEqual([[...first.layers].sort(), first.busy], [[ofMain, ofGone, ofTrunk].sort(), ['other']]);
    assert.deepEqual([existsSync(fork.paths.layer(ofOther)), existsSync(nameless)], [true, true]);
    assert.deepEqual(
      ['main', 'other'].map((name) => existsSync(fork.paths.fork(name).runs)),
      [false, true],
    );
    closeSync(lock);
    const second = await collectGarbage(fork);
    assert.deepEqual(
      [[...second.layers].sort(), existsSync(fork.paths.fork('other').runs)],
      [[ofOther, 'nameless'].sort(), true],
    );
    assert.deepEqual(readdirSync(storePaths(fork.store.directory).trash), []);
  });
});

it('garbage is collected in passing once in so many checkpoints, and what fails is no reason to stop', async () => {
  const fork = await newVault();
  const at = (nextCheckpoint: number) => ({ ...fork, meta: { ...fork.meta, nextCheckpoint } });
  const every = checkpointsBetweenCollections;
  const collects = async (before: number, after: number) => {
    const layer = makeLayer(fork.paths, { trunk: true });
    await collectInPassing(at(before), at(after));
    return !existsSync(fork.paths.layer(layer));
  };
  assert.deepEqual(
    [await collects(1, 2), await collects(every - 1, every), await collects(every, every + 1)],
    [false, true, false],
  );
  rmSync(fork.paths.meta);
  await collectInPassing(at(every - 1), at(every));
});

describe('a collection', () => {
  it('goes on where a layer that it listed is gone: a fork in use throws its own away', async () => {
    const fork = await newVault();
    const unnamed = makeLayer(fork.paths, { trunk: true });
    // Listed, and not there.
    symlinkSync(at('nowhere'), fork.paths.layer('gone'));
    const { layers } = await collectGarbage(fork);
    assert.deepEqual([layers.includes(unnamed), layers.includes('gone')], [true, false]);
  });
});
