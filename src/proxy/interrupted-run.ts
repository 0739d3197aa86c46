/**
 * A run whose owner was killed has a beginning in the record and no end. Whoever opens its fork next gives it one: that it was
 * interrupted, and what it had changed by then, which is still its own since nothing has been frozen after it.
 *
 * The fork is locked, so nothing runs in it. Once only: the record itself is asked whether it has an end.
 */
import type { Body } from '../audit/format.js';
import { agentChain, personChain } from '../audit/layout.js';
import { recordsIn } from '../audit/query.js';
import { directoryReader } from '../audit/reader.js';
import { reportOf } from '../vault/changes.js';
import { stateAfter } from '../vault/state-digest.js';
import type { OpenFork } from '../vault/vault.js';
import type { Host } from './host.js';
import { forkNote, type LastRun, unendedRun } from './last-run.js';
import type { Facts } from './recorded-run.js';

/** How the record says that a run began; undefined where it does not, or says how it ended too. */
export function openBeginning(host: Host, { run, agent }: LastRun): Body | undefined {
  const chain = agent === null ? personChain : agentChain(agent);
  const records = [...recordsIn(directoryReader(host.audit.record), chain)]
    .map(({ body }) => body)
    .filter(({ type, facts }) => type === 'exec' && facts?.['run'] === run);
  return records.length === 1 ? records.find(({ status }) => status === 'begin') : undefined;
}

export function endInterrupted(host: Host, { object, session, agent, facts }: Body, did: Facts): void {
  host.recorder.append({
    type: 'exec',
    object,
    status: 'failed',
    agent,
    session,
    // Also on a full disk, where the verb that finds it may be the one that makes room.
    makesRoom: true,
    facts: { ...facts, interrupted: true, ...did },
  });
}

export async function recordInterrupted(host: Host, fork: OpenFork): Promise<void> {
  const { lastRun } = fork.place;
  const found = unendedRun(lastRun);
  if (found === undefined) return;
  const begin = openBeginning(host, found);
  if (begin !== undefined) {
    const [after, state] = await Promise.all([reportOf(fork), stateAfter(fork)]);
    const changes = after.changes.map(({ kind, path }) => `${kind} ${path}`);
    endInterrupted(host, begin, { changes, stateAfter: state });
  }
  forkNote(lastRun).end(found);
}
