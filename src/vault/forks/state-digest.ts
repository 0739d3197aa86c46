/**
 * What a fork holds, as one digest: the names of the trunk's layers, which never change, then each delta's content above
 * them. So it costs what the changes cost: a layer that is frozen is digested once, and its digest is kept beside its trees.
 *
 *   state of no delta   BLAKE3("ctxfs state v1\nVAULT\nLAYER\nLAYER\n...")
 *   state               BLAKE3(state below it || digest of the layer)
 *   digest of a layer   BLAKE3("ROOT TREE\n..."), its roots in order, TREE as native/tree/digest.c has it
 *
 * Equal digests are equal states. The same state may have two: where deltas were merged, or the trunk is another.
 */
import { existsSync, readFileSync } from 'node:fs';
import { writeFileAtomic } from '../../base/atomic-file.js';
import { Blake3 } from '../../base/blake3.js';
import { ErrnoError } from '../../base/errno.js';
import { stateDigestBytes, stateDigestMostBytes } from '../../base/limits/store.js';
import { isLiveTouched } from '../fork-trees.js';
import { layerDigest } from '../store/layer-digest.js';
import type { OpenFork } from '../vault.js';

const fileName = 'digest';
/** In the place of a digest, so that no one tries again. */
const tooLarge = 'large';

/** By file: what was read once stays so, since a layer that has a digest never changes. */
const readDigests = new Map<string, string>();
const mostReadDigests = 10_000;

/** Of a layer that no one writes any more; `tooLarge`, or undefined where no one asked yet. */
function keptDigest({ paths }: OpenFork, layer: string): string | undefined {
  const path = paths.tree(layer, fileName);
  const known = readDigests.get(path);
  if (known !== undefined) return known;
  if (!existsSync(path)) return undefined;
  const text = readFileSync(path, 'utf8').trimEnd();
  if (text !== tooLarge && !/^[0-9a-f]{64}$/.test(text)) return undefined;
  if (readDigests.size >= mostReadDigests) readDigests.clear();
  readDigests.set(path, text);
  return text;
}

async function digestOf(fork: OpenFork, layer: string, most: number): Promise<string | undefined> {
  const kept = keptDigest(fork, layer);
  if (kept !== undefined) return kept === tooLarge ? undefined : kept;
  const digest = await layerDigest(fork, layer, most);
  const isWhole = digest !== undefined;
  if (isWhole || most === stateDigestMostBytes) {
    writeFileAtomic(fork.paths.tree(layer, fileName), `${digest ?? tooLarge}\n`, { durable: false });
  }
  return digest;
}

async function stateOf(fork: OpenFork, layers: readonly string[], most: number): Promise<string | null> {
  const blake3 = new Blake3();
  let state = blake3.hex(Buffer.from(['ctxfs state v1', fork.id, ...fork.meta.base, ''].join('\n')));
  try {
    for (const layer of layers) {
      const digest = await digestOf(fork, layer, most);
      if (digest === undefined) return null;
      state = blake3.hex(Buffer.from(`${state}${digest}`, 'hex'));
    }
  } catch (error) {
    // What cannot be known is said to be unknown: a tree of an agent's making keeps no one from working.
    if (error instanceof ErrnoError) return null;
    throw error;
  }
  return state;
}

/** Before a command: of everything frozen. Null where it cannot be known. */
export function stateBefore(fork: OpenFork): Promise<string | null> {
  return stateOf(fork, fork.meta.deltas, stateDigestMostBytes);
}

/**
 * After a command, whose layer no one writes any more: the next one freezes it before anything else. Null where the
 * command wrote so much that its report would wait; then the next command's `stateBefore` has it.
 */
export function stateAfter(fork: OpenFork, touched = isLiveTouched(fork)): Promise<string | null> {
  const { deltas, live } = fork.meta;
  return stateOf(fork, touched ? [...deltas, live] : deltas, stateDigestBytes);
}
