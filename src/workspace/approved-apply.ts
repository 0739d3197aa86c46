/**
 * Apply for somebody who may only ask for it: a program that speaks for a model. A person answers, as for a command that needs
 * an approval; the answer holds for this fork as it was when it was asked. Sensitive changes stay behind, and conflicts refuse:
 * those are the person's own to decide, with `ctx apply`.
 */
import { ErrnoError } from '../base/errno.js';
import { type ApprovalRequest, awaitApproval } from '../proxy/approval/await-approval.js';
import type { Decided } from '../proxy/approval/decision.js';
import { type Host, placeOf } from '../proxy/host.js';
import { resolvedFor } from '../proxy/run/authority-for.js';
import type { ExecRequest } from '../proxy/run/exec-request.js';
import type { ApplyReport } from '../vault/apply/apply-report.js';
import { countSteps, stepText } from '../vault/tree/steps.js';
import { applyFork, type ForkRequest } from './fork-verbs.js';

export interface ApprovedApplyRequest extends ForkRequest, Omit<ExecRequest, 'argv' | 'streams'> {
  /** As the fork's changes name them; without any, everything. */
  readonly only: readonly string[] | undefined;
}

/** What the person is told; each path is on a line of its own, and none of them in the sentence. */
function decidedOn({ steps }: ApplyReport): Decided {
  const count = countSteps(steps);
  const reason = `it would write ${count} ${count === 1 ? 'change' : 'changes'} of the fork into your own directory`;
  return { action: 'require_approval', categories: ['mutating'], reason, rule: 'default', words: [] };
}

/** Throws EACCES where the answer is no, or none came; ESTALE where the fork has changed since it was asked. */
export async function applyByApproval(host: Host, asked: ApprovedApplyRequest): Promise<ApplyReport> {
  const { only, ...request } = asked;
  const choices = { conflicts: 'refuse', ours: [], theirs: [], only, allowSensitive: false } as const;
  const planned = await applyFork(host, request, { ...choices, dryRun: true });
  // No one is asked about what cannot happen.
  if (planned.undecided.length > 0 || planned.steps.length === 0) return planned;
  const place = placeOf(host, request.cwd);
  const agent = request.agent === undefined ? undefined : await host.agents(request.agent);
  const words = [...(request.fork === undefined ? [] : ['--fork', request.fork]), ...(only ?? [])];
  const command: ExecRequest & ApprovalRequest = {
    ...request,
    argv: ['ctx', 'apply', ...words],
    streams: 'capture',
    verb: 'apply',
    steps: planned.steps.map((step) => `${step.action} ${stepText(step)}`),
  };
  const resolved = await resolvedFor(host, place, command, agent);
  try {
    const { confirm } = await awaitApproval({ host, place, resolved, request: command, decided: decidedOn(planned) });
    return await applyFork(host, request, choices, confirm);
  } catch (error) {
    if (error instanceof ErrnoError) {
      const facts = { origin: place.origin, error: error.code, reason: error.reason };
      const object = `workspace/${place.origin}`;
      host.recorder.append({ type: 'apply', object, status: 'denied', layer: 'proxy', agent: agent?.name, facts });
    }
    throw error;
  }
}
