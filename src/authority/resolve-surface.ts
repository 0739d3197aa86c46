/**
 * From a task to its Surface. Pure: what is on the host (roots, which directories are repositories, the environment)
 * comes in as facts; which of the paths exist is asked later, when mounts are made.
 */
import { contains } from './absolute-path.js';
import { resolveScope, type Scope } from './scope.js';
import { makeSurface, type Surface } from './surface.js';
import { type DroppedTemplate, defaultToolingPaths, expandPaths, type PathEnvironment } from './tooling-paths.js';
import { isNearWorkspace, type WorkspaceFile, type WorkspaceRepository } from './workspace-file.js';

/** Paths an operator adds; templates as for tooling. */
export interface Additions {
  readonly reads?: readonly string[];
  readonly writes?: readonly string[];
}

export interface SurfaceRequest {
  readonly scope: Scope;
  readonly cwd: string;
  readonly projectRoot?: string | undefined;
  readonly repositoryRoot?: string | undefined;
  readonly workspace?: WorkspaceFile | undefined;
  /** The workspace's `.ctx/`, where it has one. */
  readonly workspaceMetadata?: string | undefined;
  /** Canonical path of a workspace's repository or pool, or undefined where no repository (or pool) is there. */
  readonly canonicalRepository?: (path: string) => string | undefined;
  readonly environment: PathEnvironment;
  readonly toolingTemplates?: readonly string[];
  readonly task?: Additions;
  readonly agent?: Additions;
  readonly systemReads: readonly string[];
  readonly hidden: readonly string[];
}

export interface ResolvedSurface {
  readonly surface: Surface;
  /** Templates whose variable is not set, and listed repositories that are none: warnings for the operator. */
  readonly dropped: readonly DroppedTemplate[];
}

interface CanonicalRepository {
  readonly path: string | undefined;
  readonly worktrees: string | undefined;
}

/** The worktree around `cwd`: the entry of the pool, not the pool, so that one task does not write another's tree. */
function worktreeAround(pool: string, cwd: string): string | undefined {
  if (!contains(pool, cwd) || pool === cwd) return undefined;
  const start = pool === '/' ? 1 : pool.length + 1;
  const end = cwd.indexOf('/', start);
  return end < 0 ? cwd : cwd.slice(0, end);
}

export function resolveSurface(request: SurfaceRequest): ResolvedSurface {
  const dropped: DroppedTemplate[] = [];
  const canonical = (path: string | undefined): string | undefined => {
    if (path === undefined) return undefined;
    const found = request.canonicalRepository?.(path);
    if (found !== undefined && isNearWorkspace(request.workspace?.root ?? '/', found)) return found;
    dropped.push(
      Object.freeze({
        template: path,
        reason:
          'the workspace file lists it, but there is no repository there, or the path leads away from the workspace',
      }),
    );
    return undefined;
  };
  const repositories: CanonicalRepository[] = (request.workspace?.repositories ?? []).map(
    ({ path, worktrees }: WorkspaceRepository) => ({ path: canonical(path), worktrees: canonical(worktrees) }),
  );
  const pooled = repositories
    .map(({ worktrees }) => (worktrees === undefined ? undefined : worktreeAround(worktrees, request.cwd)))
    .find((worktree) => worktree !== undefined);
  const cwd = resolveScope(request.scope, { ...request, repositoryRoot: request.repositoryRoot ?? pooled });
  const own = ({ path, worktrees }: CanonicalRepository) =>
    (path !== undefined && (contains(path, cwd) || contains(cwd, path))) ||
    (worktrees !== undefined && contains(worktrees, cwd));
  const siblings = repositories.flatMap((repository) =>
    own(repository) || repository.path === undefined ? [] : [repository.path],
  );

  const expanded = (templates: readonly string[]): readonly string[] => {
    const result = expandPaths(templates, request.environment);
    dropped.push(...result.dropped);
    return result.paths;
  };
  const { workspaceMetadata } = request;
  const surface = makeSurface({
    cwd,
    additionalWrites: expanded([...(request.task?.writes ?? []), ...(request.agent?.writes ?? [])]),
    siblingReads: siblings,
    workspaceMetadata: workspaceMetadata === undefined ? [] : [workspaceMetadata],
    toolingPaths: expanded(request.toolingTemplates ?? defaultToolingPaths),
    additionalReads: expanded([...(request.task?.reads ?? []), ...(request.agent?.reads ?? [])]),
    systemReads: request.systemReads,
    hidden: request.hidden,
  });
  return Object.freeze({ surface, dropped: Object.freeze(dropped) });
}
