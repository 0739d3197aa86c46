/**
 * What the programs of PATH need beyond the directories it names, as this host has it. A name on PATH may be a link to where pipx, uv or npm
 * installed the program: then that is shown, too. Links of a directory that an agent may have written are not followed: they
 * lead wherever it likes.
 */
import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { posix } from 'node:path';
import { contains } from '../../authority/absolute-path.js';
import { javaReads, linkedReads, type ProgramPaths } from '../../authority/program-paths.js';
import { systemDirectories } from '../../authority/system-profile.js';
import { canonicalPath } from '../../base/canonical-path.js';
import { fromSystemError, hasCode } from '../../base/errno.js';
import { programLinks } from '../../base/limits/objects.js';

function linksIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.isSymbolicLink())
      .slice(0, programLinks)
      .map(({ name }) => `${directory}/${name}`);
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR') || hasCode(error, 'EACCES')) return [];
    throw fromSystemError(error, 'list the programs of PATH', directory);
  }
}

/** As the link's own text says, which is enough to know that its target is shown already. */
function firstStep(link: string): string {
  return posix.resolve(posix.dirname(link), readlinkSync(link));
}

/** `untrusted` are directories that an agent writes, or has been granted: what is in them is no installation of the person's. */
export function programRoots(programs: ProgramPaths, home: string, untrusted: readonly string[]): readonly string[] {
  const shown = new Set<string>();
  const isShown = (path: string) =>
    systemDirectories.some((directory) => contains(directory, path)) ||
    programs.reads.some((read) => contains(read, path)) ||
    [...shown].some((read) => contains(read, path));
  const isUntrusted = (path: string) => untrusted.some((directory) => contains(directory, path));
  const add = (reads: readonly string[]) => {
    for (const read of reads) shown.add(read);
  };
  const follow = (directory: string): void => {
    add(javaReads(directory, existsSync));
    for (const link of linksIn(directory)) {
      if (isShown(firstStep(link))) continue;
      const program = canonicalPath(link);
      if (program === undefined || isShown(program) || isUntrusted(program)) continue;
      const reads = linkedReads(program, home);
      add(reads);
      // The Python of a virtual environment is itself a link, to the one it was made with.
      const installed = posix.dirname(program);
      if (reads.includes(installed)) follow(installed);
    }
  };
  for (const entry of programs.search) {
    if (systemDirectories.some((directory) => contains(directory, entry))) continue;
    const directory = canonicalPath(entry);
    // Within what is shown whole, as a version manager is, links lead to what is in it.
    const isWhole = programs.reads.some((read) => read !== entry && contains(read, entry));
    if (directory !== undefined && !isWhole && !isUntrusted(directory)) follow(directory);
  }
  return [...shown];
}
