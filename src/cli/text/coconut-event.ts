/**
 * The names that another system's audit chain, Coconut OS's, has for what our records say, for those who read both. docs/audit-format.md
 * has them as a table. Pure.
 */
import { visible } from '../../base/visible-text.js';
import type { FoundRecord } from '../../sdk/operator/record.js';

const grants = ['agent.new', 'agent.grant', 'approval.grant'];
const uses = ['tool.call', 'call', 'connect'];

/** Undefined where it has no name for it. */
export function coconutEvent({ body: { type, status, agent, facts } }: FoundRecord): string | undefined {
  // What a parent hears of its child's denial is not a second one.
  if (type === 'child.denied') return undefined;
  if (type === 'audit.alert') return 'audit_alert';
  if (type === 'limit') return 'resource_limit';
  if (status === 'denied') return 'cap_deny';
  if (grants.includes(type)) return status === 'ok' ? 'cap_grant' : undefined;
  if (uses.includes(type)) return status === 'begin' ? 'cap_use' : undefined;
  if (type !== 'exec' || agent === null) return undefined;
  // A command beside another one is what that one uses.
  if (facts?.['caller'] !== undefined) return status === 'begin' ? 'cap_use' : undefined;
  return status === 'begin' ? 'agent_spawn' : 'agent_exit';
}

export function coconutLine(event: string, { body: { ts, agent, object } }: FoundRecord): string {
  return `${ts}  ${event.padEnd(14)}  aid=${agent ?? '-'}  ${visible(object)}`;
}
