/**
 * The trunk takes over what a fork wrote into the person's directories: as the fork's own. Whatever else is found there is the person's,
 * saved while the fork wrote, and enters as an edit of theirs: what a fork applied, a later rollback takes back.
 */

import type { OpenFork } from '../vault.js';
import { type Advance, pathCount, type RootPaths, type Taking, takeEdits } from './trunk.js';

/**
 * `looked` is what may have changed, `written` what the fork wrote, by root; `isKnown` of that, what is another entry than the trunk's
 * for certain. Whole trees that were written are not among what was looked at, but for what the person has put into them. The vault's
 * lock is held.
 */
export async function takeWritten(
  fork: OpenFork,
  looked: RootPaths,
  written: RootPaths,
  taking: Pick<Taking, 'isKnown' | 'shown'> = {},
): Promise<Advance> {
  const others = new Map(
    [...looked].map(([key, list]) => {
      const own = new Set(written.get(key) ?? []);
      return [key, list.filter((path) => !own.has(path))] as const;
    }),
  );
  const edits = pathCount(others) === 0 ? undefined : await takeEdits(fork, others);
  const own = new Map([...looked.keys()].map((key) => [key, written.get(key) ?? []]));
  const onEdits = edits === undefined ? fork : { ...fork, vault: edits.vault };
  const advance = await takeEdits(onEdits, own, { by: fork.name, ...taking });
  return { ...advance, problems: [...(edits?.problems ?? []), ...advance.problems] };
}
