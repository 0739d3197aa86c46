/** A fork that no one else is at work on, made ready for a command. */
import { saveCheckpoint } from '../../vault/forks/checkpoint.js';
import { flattenDeltas, flattenTrunk } from '../../vault/forks/flatten.js';
import { addRoots } from '../../vault/forks/roots.js';
import { syncFork } from '../../vault/forks/sync.js';
import { workspaceRoot } from '../../vault/store/layout.js';
import { collectInPassing } from '../../vault/upkeep/collect-in-passing.js';
import type { OpenFork } from '../../vault/vault.js';
import type { Host, Place } from '../host.js';
import type { Permitted } from './authority-for.js';
import type { ExecRequest } from './exec-request.js';
import { refreshGitIndex } from './git-index.js';
import { recordInterrupted } from './interrupted-run.js';
import type { Ready } from './join-fork.js';

/** An approval is of this fork, as it is. Frozen first, so that whatever the command writes is told apart from what was there, and can be undone alone. */
export async function readyFork(
  host: Host,
  place: Place,
  opened: OpenFork,
  { permission, roots }: Permitted,
  request: Pick<ExecRequest, 'argv' | 'weakened' | 'signal' | 'onProgress'>,
): Promise<Ready> {
  await permission.confirm(opened);
  await recordInterrupted(host, opened);
  const saved = saveCheckpoint(opened, { automatic: true, reason: request.argv.join(' ') });
  await flattenTrunk(saved.fork);
  const flat = await flattenDeltas(saved.fork);
  await collectInPassing(opened, flat);
  const rooted = await addRoots(flat, { ...request, paths: roots });
  const synced = await syncFork(rooted.fork, [workspaceRoot, ...rooted.keys], rooted.imported);
  const fork = await refreshGitIndex(host, place, synced, request.weakened, request.signal);
  await permission.confirmDirectories();
  const checkpoint = saved.checkpoint.id;
  return { ...synced, fork, checkpoint, problems: [...rooted.problems, ...synced.problems] };
}
