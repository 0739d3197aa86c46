/** Grants as a file that a person writes: a scope and a path of the tree in each line, `fs.read /docs`. */
import { meaningfulLines, quoted, refuseAt, wordsOf } from '../authority/syntax.js';
import type { TreeScope } from '../vfs/tree.js';
import { Guard, scopes, type VfsGrants } from './guard.js';

const operation = 'read grants';

/** EINVAL with file, line and column. */
export function parseGrants(text: string, file: string): VfsGrants {
  const grants: Partial<Record<TreeScope, string[]>> = {};
  for (const { text: line, number } of meaningfulLines(operation, text, file)) {
    const [word, path, ...more] = wordsOf(line);
    const fail = (reason: string, column = 1): never => refuseAt(operation, { file, line: number, column }, reason);
    const scope = scopes.find((known) => known === word?.text);
    if (scope === undefined) return fail(`expected one of ${scopes.join(', ')}, got ${quoted(word?.text ?? '')}`);
    if (path === undefined || more.length > 0) return fail(`expected \`${scope} PATH\``);
    const paths = [...(grants[scope] ?? []), path.text];
    try {
      new Guard({ [scope]: paths });
    } catch {
      fail(`expected an absolute path without '.' and '..', got ${quoted(path.text)}`, path.column);
    }
    grants[scope] = paths;
  }
  return grants;
}
