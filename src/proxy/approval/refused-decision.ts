/** A command that was refused by a decision: the error carries it, for the record and for those that read JSON. */
import { ErrnoError } from '../../base/errno.js';
import type { Decision } from './decision.js';

/** EACCES: this command is not to run. */
export function refusedBy({ action, categories, reason, rule }: Decision, why: string, remedy?: string): ErrnoError {
  const cause: Decision = { action, categories, reason, rule };
  return new ErrnoError('EACCES', { operation: 'decide', reason: why, remedy, cause });
}

export function decisionOf(error: unknown): Decision | undefined {
  const cause = error instanceof ErrnoError && error.operation === 'decide' ? error.cause : undefined;
  return typeof cause === 'object' && cause !== null && 'action' in cause ? (cause as Decision) : undefined;
}
