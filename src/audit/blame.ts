/**
 * Who changed a file last: the command, whom it ran for, under which authority, when. From the records of one workspace in
 * the order of time: what a command changed is pending in its fork until it is applied, and forgotten where it is dropped.
 * Pure.
 */
import type { FoundRecord } from './query.js';

export interface Blame {
  /** `pending` in the fork, or `applied` to the directory. */
  readonly state: 'pending' | 'applied';
  readonly change: string;
  readonly command: FoundRecord;
  /** The record of the apply that brought it into the directory. */
  readonly applied: FoundRecord | undefined;
}

interface Touched {
  readonly change: string;
  readonly command: FoundRecord;
}

/** `added src/a.ts` says what happened to which path. */
function changeOf(record: FoundRecord, path: string): string | undefined {
  const changes = record.body.facts?.['changes'];
  if (!Array.isArray(changes)) return undefined;
  const line = changes.find((each) => {
    const text = String(each);
    const name = text.slice(text.indexOf(' ') + 1);
    // A directory that went or came took what was in it along.
    return name === path || (path.startsWith(`${name}/`) && !text.startsWith('modified '));
  });
  return line === undefined ? undefined : String(line).split(' ', 1)[0];
}

/** `records`: those of the workspace at `origin`; `path` as its changes name it. */
export function blame(records: readonly FoundRecord[], origin: string, path: string): Blame | undefined {
  let pending: Touched | undefined;
  let applied: (Touched & { readonly by: FoundRecord }) | undefined;
  for (const record of records) {
    const { type, status, facts } = record.body;
    if (facts?.['origin'] !== origin) continue;
    if (type === 'exec' && status !== 'begin') {
      const change = changeOf(record, path);
      if (change === 'restored') pending = undefined;
      else if (change !== undefined) pending = { change, command: record };
    } else if (type === 'drop') pending = undefined;
    else if (type === 'apply' && status === 'ok') {
      if (pending !== undefined) applied = { ...pending, by: record };
      pending = undefined;
    }
  }
  if (pending !== undefined) return { state: 'pending', ...pending, applied: undefined };
  if (applied === undefined) return undefined;
  return { state: 'applied', change: applied.change, command: applied.command, applied: applied.by };
}
