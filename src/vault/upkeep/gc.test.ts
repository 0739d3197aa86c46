/** Which lists of edits a collection leaves: those that some fork, or a checkpoint of one, has not seen. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { type Checkpoint, type ForkMeta, writeForkMeta } from '../store/fork-meta.js';
import { openStore } from '../store/store.js';
import { writeVaultMeta } from '../store/vault-meta.js';
import { freshPlace, tree } from '../tree/tree-fixture.js';
import { closeFork, newForkMeta, type OpenFork, openFork, writeFork } from '../vault.js';
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
