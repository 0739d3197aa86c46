/**
 * The small control files of an agent's life: `parent`, `life` and `iso`. One line each; a final newline is allowed,
 * anything else is refused.
 */
import { isObjectName, objectNameRule } from './name.js';
import { quoted, refuse } from './syntax.js';

/** Who made this agent: an agent, and where known its session and the run in it. */
export interface Lineage {
  readonly agent: string;
  readonly session?: string;
  readonly run?: string;
}

/** `owned`: cancelled when its parent dies. `detached`: outlives it, which only a supervisor grants. */
export const lives = Object.freeze(['owned', 'detached'] as const);
export type Life = (typeof lives)[number];

/** The workspace owner's uid, the agent's own uid, ids of its own in a user namespace of the owner's. */
export const isolations = Object.freeze(['shared', 'uid', 'userns'] as const);
export type Isolation = (typeof isolations)[number];

function singleLine(text: string): string {
  return text.endsWith('\n') ? text.slice(0, -1) : text;
}

function oneOf<T extends string>(operation: string, known: readonly T[], text: string): T {
  const value = singleLine(text);
  const found = known.find((word) => word === value);
  return found ?? refuse(operation, `expected one of ${known.join(', ')}, got ${quoted(value)}`);
}

export function parseLife(text: string): Life {
  return oneOf('life', lives, text);
}

export function parseIsolation(text: string): Isolation {
  return oneOf('iso', isolations, text);
}

/** Whether a child's is within its parent's: `userns` is the workspace's owner outside, whom `uid` is kept apart from. */
export function keepsIsolation(held: Isolation, asked: Isolation): boolean {
  return held === 'shared' || asked === held;
}

const keys = ['agent', 'session', 'run'] as const;

/** An empty file says that a person made the agent: undefined. */
export function parseLineage(text: string): Lineage | undefined {
  const line = singleLine(text);
  if (line === '') return undefined;
  const words = line.split(' ');
  if (words.length > keys.length) refuse('parent', `expected agent:NAME [session:NAME [run:ID]], got ${quoted(line)}`);
  const names = words.map((word, index) => {
    const key = keys[index];
    const name = word.slice(`${key}:`.length);
    if (!word.startsWith(`${key}:`)) refuse('parent', `expected ${key}:NAME, got ${quoted(word)}`);
    return isObjectName(name)
      ? name
      : refuse('parent', `expected ${objectNameRule} after ${key}:, got ${quoted(name)}`);
  });
  const [agent = '', session, run] = names;
  return Object.freeze({ agent, ...(session === undefined ? {} : { session }), ...(run === undefined ? {} : { run }) });
}

export function printLineage(lineage: Lineage | undefined): string {
  if (lineage === undefined) return '';
  const session = lineage.session === undefined ? '' : ` session:${lineage.session}`;
  const run = lineage.session === undefined || lineage.run === undefined ? '' : ` run:${lineage.run}`;
  return `agent:${lineage.agent}${session}${run}\n`;
}
