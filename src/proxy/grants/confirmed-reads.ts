/** What a project's confirmed defaults show of the host: exactly what a person was shown, or nothing. */
import type { ProjectRead } from '../../authority/project-file.js';
import { canonicalAncestor, canonicalPath } from '../../base/canonical-path.js';
import { ErrnoError } from '../../base/errno.js';
import { projectFileName } from './project-trust.js';

/** A link that leads in a circle by now, or to a name that is too long, leads nowhere, and stops no command. */
function ledTo(path: string, look: (path: string) => string | undefined): string | undefined {
  try {
    return look(path);
  } catch (error) {
    if (error instanceof ErrnoError) return undefined;
    throw error;
  }
}

/**
 * What was confirmed is where each leads. A link that has changed since, by a pull or a command on the live directory, leads nowhere. It
 * is asked again when the Authority is made: what is granted is a path that was compared, and never a name that is looked up anew.
 */
export function confirmedReads(reads: readonly ProjectRead[], warnings: string[]): readonly ProjectRead[] {
  return reads.filter(({ path, target }) => {
    if (ledTo(path, canonicalPath) === target) return true;
    const why =
      ledTo(path, canonicalAncestor) === target
        ? 'there is no such path'
        : `it led to ${target} when it was confirmed; ctx trust shows it and asks`;
    warnings.push(`skipped reading ${path} for ${projectFileName}: ${why}`);
    return false;
  });
}
