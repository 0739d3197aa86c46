/** What an apply wrote, as its undo needs it: a list beside the layer that holds what was replaced. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readWholeJson, writeFileAtomic } from '../../base/atomic-file.js';
import { flag, having, integer, list, mapOf, ofShape, oneOf, optional, word } from '../../base/shape.js';
import type { Step } from '../tree/tree.js';
import { treesOf } from './layer-pool.js';
import type { VaultPaths } from './layout.js';

/** Kept beside the layer that holds what an apply replaced. */
export interface AppliedSteps {
  readonly made: string;
  /** The checkpoint of the fork as it was before. */
  readonly checkpoint: number;
  /** Checkpoints that it hid, since their commands can no longer be undone in the fork alone. */
  readonly hidden?: readonly number[] | undefined;
  readonly roots: Readonly<Record<string, readonly Step[]>>;
  /** Files that were only given another time. */
  readonly touched?: Readonly<Record<string, readonly string[]>> | undefined;
  /** Of the steps, those that wrote no other content: a mode, an owner. Undefined in lists of before that was noted. */
  readonly sameContent?: Readonly<Record<string, readonly string[]>> | undefined;
  /** The layer of an apply that was cut off, with which this one went on: both are undone together. */
  readonly after?: string | undefined;
  /** Clashes that the fork had, by shown paths: an undo brings them back. Undefined in lists of before that was noted. */
  readonly clashes?: readonly string[] | undefined;
  /** Its undo has begun to write: it goes on, whatever the person has changed since. */
  readonly undoing?: boolean | undefined;
}

const pathsByRoot = mapOf(list(word));
const stepsShape = having({
  made: word,
  checkpoint: integer(0),
  hidden: optional(list(integer(0))),
  roots: mapOf(
    list(
      having({
        action: oneOf('put', 'remove'),
        path: word,
        tree: optional(having({ entries: integer(0), products: flag })),
      }),
    ),
  ),
  touched: optional(pathsByRoot),
  sameContent: optional(pathsByRoot),
  after: optional(word),
  clashes: optional(list(word)),
  undoing: optional(flag),
});

type Roots = AppliedSteps['roots'];

const mapRoots = (roots: Roots, map: (step: Step) => Step): Roots =>
  Object.fromEntries(Object.entries(roots).map(([key, steps]) => [key, steps.map(map)]));

/** On the disk a whole tree ends with a slash: a version that knows none refuses such a path, and undoes no half of it. */
const written = (step: Step): Step => (step.tree === undefined ? step : { ...step, path: `${step.path}/` });
const read = (step: Step): Step => (step.tree === undefined ? step : { ...step, path: step.path.slice(0, -1) });

/** Undefined where there are none: a power cut may have left an empty file. */
export function readSteps({ paths }: { readonly paths: VaultPaths }, layer: string): AppliedSteps | undefined {
  const about = ofShape<AppliedSteps>(readWholeJson(stepsFile(paths.layer(layer))), stepsShape);
  return about === undefined ? undefined : { ...about, roots: mapRoots(about.roots, read) };
}

export function writeSteps(layerDirectory: string, about: AppliedSteps, { durable }: { readonly durable: boolean }) {
  const text = JSON.stringify({ ...about, roots: mapRoots(about.roots, written) });
  writeFileAtomic(stepsFile(layerDirectory), text, { durable });
}

export const stepsFile = (layerDirectory: string) => join(layerDirectory, 'applied.json');

/** Beside it, too, what was made of the fork's repositories: that was written, and not what the fork had. */
export const originTree = (layerDirectory: string, key: string) => join(layerDirectory, `${key}.home`);

/** Trees of one root that show what an apply wrote, topmost first; `stack` is that of the fork before it. */
export function writtenTrees(paths: VaultPaths, layer: string, stack: readonly string[], key: string): string[] {
  const home = originTree(paths.layer(layer), key);
  return [...(existsSync(home) ? [home] : []), ...treesOf(paths, stack, key)];
}
