/** What tools asked of the fork while it was mounted, done once it is not: in the order in which they asked. */
import { ErrnoError } from '../base/errno.js';
import { visible } from '../base/visible-text.js';
import type { ForkWork } from '../proxy/agent-views.js';
import type { Host } from '../proxy/host.js';
import { countChanges } from '../vault/tree/too-deep.js';

interface WorkPlace {
  readonly cwd: string;
  readonly fork: string | undefined;
}

async function done(host: Host, at: WorkPlace, work: ForkWork): Promise<string> {
  const { saveCheckpoint, rollBackFork } = await import('../workspace/history-verbs.js');
  const request = { ...at, wait: false };
  if (work.kind === 'checkpoint') {
    const { id, name } = await saveCheckpoint(host, request, work.name);
    return `saved checkpoint ${id}${name === undefined ? '' : ` (${visible(name)})`}, as fork.checkpoint asked`;
  }
  const { to, undone } = await rollBackFork(host, { ...request, checkpoint: work.checkpoint, paths: [] });
  return `rolled back to checkpoint ${to.id}, as fork.rollback asked: ${countChanges(undone)} changes undone`;
}

/** What was done, and what could not be, in words. Where others are at work on the fork, `pending` keeps what is left for their end. */
export async function settleWork(host: Host, at: WorkPlace, pending: ForkWork[]): Promise<readonly string[]> {
  const said: string[] = [];
  for (let work = pending[0]; work !== undefined; work = pending[0]) {
    try {
      said.push(await done(host, at, work));
    } catch (error) {
      if (!(error instanceof ErrnoError)) throw error;
      if (error.code === 'EBUSY') {
        said.push(`fork.${work.kind} waits: other commands are at work on the fork`);
        return said;
      }
      said.push(`fork.${work.kind} failed: ${visible(error.reason)} (${error.code})`);
    }
    pending.shift();
  }
  return said;
}
