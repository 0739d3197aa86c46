/**
 * Who changed a file last: the command, whom it ran for, under which authority, when. From the records of one workspace in
 * the order of time: what a command changed is pending in its fork until it is applied, and forgotten where it is dropped. An
 * apply that was undone makes it pending again. Pure.
 */
import type { FoundRecord } from './query.js';

export interface Blame {
  /** `pending` in the fork, or `applied` to the directory. */
  readonly state: 'pending' | 'applied';
  readonly change: string;
  readonly command: FoundRecord;
  /** The record of the apply that brought it into the directory. */
  readonly applied: FoundRecord | undefined;
  /** A later command that ran on the directory itself: what it did there, no one wrote down. */
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
    // What failed has forgotten nothing.
    case 'drop':
    case 'fork delete':
      return status === 'ok' ? [] : touches;
    case 'rollback': {
      if (status !== 'ok') return touches;
      const made = String(facts['made'] ?? '');
      return covers(facts['paths'], path) ? touches.filter(({ command }) => command.body.ts <= made) : touches;
    }
    default:
      return touches;
  }
}

/** A change that an apply brought into the directory. */
interface AppliedTouch extends Touch {
  readonly by: FoundRecord;
}

/** An apply of one fork, and what was known of the path before it. */
interface Apply {
  readonly by: FoundRecord;
  readonly touches: readonly Touch[];
  readonly applied: AppliedTouch | undefined;
}

/** Itself, or with the directory that holds it. */
const isHeldBack = ({ body }: FoundRecord, path: string) => {
  const list = body.facts?.['heldBack'];
  return Array.isArray(list) && list.some((held) => held === path || path.startsWith(`${String(held)}/`));
};

/** Whether an apply wrote the path; one of a record that names no steps wrote all there was. */
function isWritten({ body }: FoundRecord, path: string): boolean {
  const steps = body.facts?.['steps'];
  if (!Array.isArray(steps)) return true;
  return steps.some((step) => {
    const [action = '', ...name] = String(step).split(' ');
    const written = name.join(' ');
    // One that ends with a slash came, or went, with all that is in it.
    if (written.endsWith('/')) return `${path}/`.startsWith(written);
    return written === path || (action === 'remove' && path.startsWith(`${written}/`));
  });
}

/** What the records of one workspace say of one path, as far as they were read. */
class PathHistory {
  readonly #path: string;
  readonly #pending = new Map<string, readonly Touch[]>();
  readonly #applies = new Map<string, readonly Apply[]>();
  applied: AppliedTouch | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  knows(fork: string): boolean {
    return this.#pending.has(fork);
  }

  /** The newest change of each fork that is not in the directory. */
  get waiting(): readonly Touch[] {
    return [...this.#pending.values()].flatMap((touches) => touches.slice(-1));
  }

  take(record: FoundRecord): void {
    const { type, status, object: fork, facts } = record.body;
    const touches = pendingAfter(this.#pending.get(fork) ?? [], record, this.#path);
    this.#pending.set(fork, touches);
    // What went to another directory stays pending for this one.
    if (status !== 'ok' || facts?.['to'] !== undefined) return;
    if (type === 'apply') this.#apply(record, touches);
    if (type === 'apply undo') this.#undo(fork);
  }

  #apply(by: FoundRecord, touches: readonly Touch[]): void {
    const { object: fork, facts } = by.body;
    const steps = facts?.['steps'];
    // One that wrote nothing is not what the next undo takes back.
    if (!Array.isArray(steps) || steps.length > 0)
      this.#applies.set(fork, [...(this.#applies.get(fork) ?? []), { by, touches, applied: this.applied }]);
    const last = touches.at(-1);
    const isIn = isWritten(by, this.#path);
    if (isIn && last !== undefined) this.applied = { ...last, by };
    // What was neither written nor held back for another time is left as the person has it.
    if (isIn || !isHeldBack(by, this.#path)) this.#pending.set(fork, []);
  }

  #undo(fork: string): void {
    const applies = this.#applies.get(fork) ?? [];
    const last = applies.at(-1);
    if (last === undefined) return;
    this.#applies.set(fork, applies.slice(0, -1));
    this.#pending.set(fork, last.touches);
    if (this.applied?.by === last.by) this.applied = last.applied;
  }
}

/** `path` as the changes of the workspace at `origin` name it. */
export function blame(records: readonly FoundRecord[], origin: string, path: string): Blame | undefined {
  const history = new PathHistory(path);
  let live: FoundRecord | undefined;
  for (const record of records) {
    const { type, object, facts } = record.body;
    if (facts?.['origin'] !== origin && !history.knows(object)) continue;
    if (type === 'exec' && facts?.['live'] === true) live = record;
    else history.take(record);
  }
  const { applied, waiting } = history;
  const newest = [...waiting].sort((a, b) => (a.command.body.ts < b.command.body.ts ? -1 : 1)).at(-1);
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
