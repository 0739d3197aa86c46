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
  /** A later command that ran on the directory itself: what it did there, nobody wrote down. */
  readonly live: FoundRecord | undefined;
}

interface Touch {
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

function covers(paths: unknown, path: string): boolean {
  if (!Array.isArray(paths) || paths.length === 0) return true;
  return paths.some((top) => top === '.' || top === path || path.startsWith(`${top}/`));
}

/** What is pending for one path in one fork, the newest last, after one more record. */
function pendingAfter(touches: readonly Touch[], record: FoundRecord, path: string): readonly Touch[] {
  const { type, status, facts = {} } = record.body;
  switch (type) {
    case 'exec': {
      const change = status === 'begin' ? undefined : changeOf(record, path);
      if (change === undefined) return touches;
      return change === 'restored' ? [] : [...touches, { change, command: record }];
    }
    case 'drop':
    case 'fork delete':
      return [];
    case 'rollback': {
      const made = String(facts['made'] ?? '');
      return covers(facts['paths'], path) ? touches.filter(({ command }) => command.body.ts <= made) : touches;
    }
    default:
      return touches;
  }
}

/** `path` as the changes of the workspace at `origin` name it. */
export function blame(records: readonly FoundRecord[], origin: string, path: string): Blame | undefined {
  const pending = new Map<string, readonly Touch[]>();
  let applied: (Touch & { readonly by: FoundRecord }) | undefined;
  let live: FoundRecord | undefined;
  for (const record of records) {
    const { type, status, object, facts } = record.body;
    const isHere = facts?.['origin'] === origin || pending.has(object);
    if (!isHere) continue;
    if (type === 'exec' && facts?.['live'] === true) {
      live = record;
      continue;
    }
    const touches = pendingAfter(pending.get(object) ?? [], record, path);
    pending.set(object, touches);
    if (type !== 'apply' || status !== 'ok') continue;
    const last = touches.at(-1);
    if (last !== undefined) applied = { ...last, by: record };
    pending.set(object, []);
  }
  const waiting = [...pending.values()].flatMap((touches) => touches.slice(-1));
  const newest = waiting.sort((a, b) => (a.command.body.ts < b.command.body.ts ? -1 : 1)).at(-1);
  if (newest !== undefined) return { state: 'pending', ...newest, applied: undefined, live: undefined };
  if (applied === undefined) return undefined;
  const { change, command, by } = applied;
  return {
    state: 'applied',
    change,
    command,
    applied: by,
    live: live !== undefined && live.body.ts > by.body.ts ? live : undefined,
  };
}
