/** What a fork changes, chosen by paths, and each change with its contents. */
import { diffedFileBytes, filesDiffedAtOnce, fullyDiffedFileBytes } from '../base/limits/store.js';
import { type Host, placeOf } from '../proxy/host.js';
import type { TextChange } from '../vault/forks/changes.js';
import { isRepositoryData } from '../vault/forks/repository-data.js';
import type { Change } from '../vault/tree/tree.js';
import { type ForkStatus, type LookRequest, lookAtFork, readFork } from './fork-status.js';
import { shownFrom } from './shown-from.js';

export interface DiffRequest extends LookRequest {
  /** Files or directories as somebody in `cwd` means them; without any, everything. */
  readonly paths: readonly string[];
}

export interface ForkDiff {
  readonly status: ForkStatus;
  /** Changes that are not among those that were visited, because there are too many. */
  readonly left: number;
  /** The same, since they are git's own bookkeeping, which is not for reading; anyone who names it gets it. */
  readonly repository: number;
}

function chosen({ changes }: ForkStatus, roots: readonly string[]): readonly Change[] {
  if (roots.length === 0) return changes;
  return changes.filter(({ path }) =>
    roots.some((root) => root === '.' || path === root || path.startsWith(`${root}/`)),
  );
}

/** Those that are shown, and those of git's own. */
function shownOf(status: ForkStatus, roots: readonly string[]): readonly [readonly Change[], readonly Change[]] {
  const all = chosen(status, roots);
  if (roots.length > 0) return [all, []];
  return [all.filter((change) => !isRepositoryData(change)), all.filter(isRepositoryData)];
}

export async function statusOfFork(host: Host, { paths, ...request }: DiffRequest): Promise<ForkStatus> {
  const roots = shownFrom(placeOf(host, request.cwd), paths);
  const status = await lookAtFork(host, { ...request, about: roots });
  return { ...status, changes: chosen(status, roots) };
}

/** `visit` is given each change with both its sides, in their order. */
export async function diffOfFork(
  host: Host,
  { paths, full = false, ...request }: DiffRequest & { readonly full?: boolean | undefined },
  visit: (text: TextChange) => void | Promise<void>,
): Promise<ForkDiff> {
  const roots = shownFrom(placeOf(host, request.cwd), paths);
  const most = full ? fullyDiffedFileBytes : diffedFileBytes;
  const files = full ? Number.POSITIVE_INFINITY : filesDiffedAtOnce;
  const choose = (found: ForkStatus) => shownOf(found, roots)[0].slice(0, files);
  const status = await readFork(host, { ...request, about: roots }, { choose, visit, most });
  const [all, repository] = shownOf(status, roots);
  return {
    status: { ...status, changes: chosen(status, roots) },
    left: Math.max(0, all.length - files),
    repository: repository.length,
  };
}
