/**
 * A run whose owner was killed has a beginning in the record and no end. The process that opens its fork next gives it
 * one: that it was interrupted, and what it had changed by then, which is still its own since nothing has been frozen
 * after it.
 *
 * The fork is locked. What others at work changed meanwhile is among it. Once only: the record itself is asked whether it has an end.
 */
import type { Body } from '../../audit/format.js';
import { agentChain, personChain } from '../../audit/layout.js';
import { recordsIn } from '../../audit/query.js';
import { directoryReader } from '../../audit/reader.js';
import { reportOf } from '../../vault/forks/changes.js';
import { stateAfter } from '../../vault/forks/state-digest.js';
import { forget } from '../../vault/store/group.js';
import type { BegunRun } from '../../vault/store/worker-file.js';
import type { OpenFork } from '../../vault/vault.js';
import type { Host } from '../host.js';
import type { Facts } from './recorded-run.js';

/** How the record says that a run began; undefined where it does not, or says how it ended too. */
export function openBeginning(host: Host, { run, agent }: BegunRun): Body | undefined {
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
  const { dead, others, place } = fork;
  for (const worker of dead) {
    const begun = worker.runs.flatMap((run) => openBeginning(host, run) ?? []);
    if (begun.length > 0) {
      const [after, state] = await Promise.all([
        reportOf(fork, undefined, others.length === 0),
        others.length === 0 ? stateAfter(fork) : null,
      ]);
      const changes = after.changes.map(({ kind, path }) => `${kind} ${path}`);
      for (const each of begun) endInterrupted(host, each, { changes, stateAfter: state });
    }
    forget(place, worker);
  }
}
