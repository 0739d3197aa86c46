/**
 * What a migration does, as data: a list of small steps that is on the disk before the first is taken. Each step sees from the disk
 * whether it was taken, so that the list can be gone through again after a kill, forwards or backwards, from any point.
 */

import { chmodSync, lstatSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import { writeFileAtomic } from '../../base/atomic-file.js';
import { ErrnoError, hasCode } from '../../base/errno.js';
import { makeDirectory } from '../../base/make-directory.js';
import { having, integer, list, membersOf, optional, refuseShape, type Shape, text, word } from '../../base/shape.js';
import { moveTree } from '../store/trash.js';

export type MigrationStep =
  | { readonly step: 'make'; readonly path: string }
  /** `mode` is the one that the directory has: to move one that may not be written changes it for the time of the move. */
  | { readonly step: 'move'; readonly from: string; readonly to: string; readonly mode: number }
  /** `before` is what the file held; without it there was none. */
  | { readonly step: 'write'; readonly path: string; readonly text: string; readonly before?: string | undefined }
  /** Nothing to do. What the directory holds when the migration is done: anything else is of a later command. */
  | { readonly step: 'hold'; readonly path: string; readonly names: readonly string[] };

const stepShapes: Readonly<Record<MigrationStep['step'], Shape>> = {
  make: having({ path: word }),
  move: having({ from: word, to: word, mode: integer(0, 0o7777) }),
  write: having({ path: word, text, before: optional(text) }),
  hold: having({ path: word, names: list(word) }),
};

/** One that was written down. */
export const stepShape: Shape = (value, at) => {
  const { step } = membersOf(value);
  const shape = Object.entries(stepShapes).find(([name]) => name === step)?.[1];
  (shape ?? refuseShape(`${at}.step`, 'the name of a step', step))(value, at);
};

const isThere = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

function move(from: string, to: string, mode: number): void {
  if (isThere(from)) {
    if (isThere(to)) {
      const reason = `expected ${from} or ${to}, found both`;
      throw new ErrnoError('EIO', { operation: 'migrate the store', path: to, reason });
    }
    moveTree(from, to);
  }
  const about = lstatSync(to);
  if (!about.isSymbolicLink() && (about.mode & 0o7777) !== mode) chmodSync(to, mode);
}

/** Written under a name that the next one knows, since a kill leaves it. Not synced: one that a power cut emptied is written again. */
const draftOf = (path: string) => `${path}.migrating`;

function write(path: string, text: string): void {
  if (readText(path) !== text) writeFileAtomic(path, text, { durable: false, beside: draftOf(path) });
  rmSync(draftOf(path), { force: true });
}

export function takeStep(step: MigrationStep): void {
  if (step.step === 'make') makeDirectory(step.path);
  if (step.step === 'move') move(step.from, step.to, step.mode);
  if (step.step === 'write') write(step.path, step.text);
}

export function takeBack(step: MigrationStep): void {
  if (step.step === 'move') move(step.to, step.from, step.mode);
  if (step.step === 'make' && isThere(step.path)) rmdirSync(step.path);
  if (step.step !== 'write') return;
  if (step.before !== undefined) write(step.path, step.before);
  else for (const path of [step.path, draftOf(step.path)]) rmSync(path, { force: true });
}

/** Of verbs that only look, in a fork's directory: nothing is lost with them, and the older format has no use for them. */
const leftByLooks = ['lock', 'queue', 'joined', 'group'];

/** What is not as the step left it; undefined where all is. */
function changedSince(step: MigrationStep): string | undefined {
  if (step.step === 'move') return isThere(step.to) && !isThere(step.from) ? undefined : step.to;
  if (step.step === 'write') return readText(step.path) === step.text ? undefined : step.path;
  if (step.step === 'make') return isThere(step.path) ? undefined : step.path;
  const found = isThere(step.path) ? readdirSync(step.path).filter((name) => !leftByLooks.includes(name)) : [];
  const isSame = found.length === step.names.length && found.every((name) => step.names.includes(name));
  return isSame ? undefined : step.path;
}

/** The first path that somebody changed after the migration: then it cannot be taken back. */
export function firstChange(steps: readonly MigrationStep[]): string | undefined {
  for (const step of steps) {
    const path = changedSince(step);
    if (path !== undefined) return path;
  }
  return undefined;
}
