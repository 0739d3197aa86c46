/**
 * Scope: which directory becomes the writable cwd of a task that was asked for in `cwd`. `any` is the directory as
 * asked; `repository` the root of the repository around it; `project` the root of the project around it. What the
 * roots are is a fact the caller looked up; a root that is missing or does not hold the cwd is refused.
 */
import { contains, isNormalPath, normalPathRule } from './absolute-path.js';
import { quoted, refuse } from './syntax.js';

export const scopes = Object.freeze(['project', 'repository', 'any'] as const);
export type Scope = (typeof scopes)[number];

export interface ScopeFacts {
  /** Canonical. */
  readonly cwd: string;
  readonly projectRoot?: string | undefined;
  readonly repositoryRoot?: string | undefined;
}

export function parseScope(text: string): Scope {
  const scope = scopes.find((word) => word === text);
  return scope ?? refuse('scope', `expected one of ${scopes.join(', ')}, got ${quoted(text)}`);
}

export function resolveScope(scope: Scope, facts: ScopeFacts): string {
  const { cwd } = facts;
  if (!isNormalPath(cwd)) return refuse('scope', `expected ${normalPathRule}, got ${quoted(cwd)}`);
  switch (scope) {
    case 'any':
      return cwd;
    case 'project':
    case 'repository': {
      const root = scope === 'project' ? facts.projectRoot : facts.repositoryRoot;
      if (root === undefined) {
        return refuse('scope', `no ${scope} around ${quoted(cwd)}`, `use scope any, or run inside a ${scope}`);
      }
      if (!isNormalPath(root) || !contains(root, cwd)) {
        return refuse('scope', `expected a ${scope} root that holds ${quoted(cwd)}, got ${quoted(root)}`);
      }
      return root;
    }
    default:
      return refuse('scope', `expected one of ${scopes.join(', ')}, got ${quoted(String(scope))}`);
  }
}
