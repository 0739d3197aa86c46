/** What a project's confirmed defaults show of the host: exactly what a person was shown, or nothing. */
import type { ProjectRead } from '../../authority/project-file.js';
import { canonicalAncestor, canonicalPath } from '../../base/canonical-path.js';
import { projectFileName } from './project-trust.js';

/**
 * What was confirmed is where each leads. A link that has changed since, by a pull or a command on the live directory, leads nowhere. It
 * is asked again when the Authority is made: what is granted is a path that was compared, and never a name that is looked up anew.
 */
export function confirmedReads(reads: readonly ProjectRead[], warnings: string[]): readonly ProjectRead[] {
  return reads.filter(({ path, target }) => {
    if (canonicalPath(path) === target) return true;
    const why =
      canonicalAncestor(path) === target
        ? 'there is no such path'
        : `it led to ${target} when it was confirmed; ctx trust shows it and asks`;
    warnings.push(`skipped reading ${path} for ${projectFileName}: ${why}`);
    return false;
  });
}
