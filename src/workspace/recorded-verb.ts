/**
 * A verb of a person's, and its record: that it begins, before it does anything; what it will write, before it writes; and how it
 * ended, always. One that failed halfway has done something, too: that is in the record of its end.
 */
import type { RecordEntry, Recorder } from '../audit/record.js';
import type { Json } from '../base/canonical-json.js';
import { ErrnoError, orSystemError } from '../base/errno.js';
import { listedChanges } from '../base/limits/store.js';
import type { Host } from '../proxy/host.js';
import { countSteps } from '../vault/tree/steps.js';
import type { Step } from '../vault/tree/tree.js';

export interface RecordedVerb extends Omit<RecordEntry, 'status' | 'facts'> {
  readonly facts: Readonly<Record<string, Json>>;
}

/** What the verb says of itself while it is under way. */
export interface VerbProgress {
  /**
   * In the record before the first of them is done: the process that is killed in between has done some of these, and
   * nothing else.
   */
  onPlan(steps: readonly Step[]): void;
  onStep(step: Step): void;
}

type Heard = { readonly [Word in keyof VerbProgress]?: VerbProgress[Word] | undefined };

/** Both hear of it: the record, and the one who waits. */
export function both(recorded: Heard, shown: Heard): VerbProgress {
  return {
    onPlan(steps) {
      recorded.onPlan?.(steps);
      shown.onPlan?.(steps);
    },
    onStep(step) {
      recorded.onStep?.(step);
      shown.onStep?.(step);
    },
  };
}

/** How it ended, and what its beginning could not say of it yet. */
export interface Told {
  readonly status: 'ok' | 'failed';
  readonly facts: Readonly<Record<string, Json>>;
}

const nothingMore: Told = { status: 'ok', facts: {} };

/** A whole tree, of which the names are not listed, ends with a slash. */
const lineOf = ({ action, path, unlisted }: Step) => `${action} ${path}${unlisted === undefined ? '' : '/'}`;

/** How many steps there are, where not all of them are listed. */
const countOf = (steps: readonly Step[]): Readonly<Record<string, Json>> =>
  steps.some(({ unlisted }) => unlisted !== undefined) ? { stepCount: countSteps(steps) } : {};

function failure(thrown: unknown): Readonly<Record<string, Json>> {
  const error = orSystemError(thrown);
  return error instanceof ErrnoError
    ? { error: error.code, reason: error.reason }
    : { error: 'EIO', reason: error instanceof Error ? error.message : String(error) };
}

export async function recordedVerb<T>(
  host: Pick<Host, 'recorder'>,
  { facts, ...entry }: RecordedVerb,
  act: (progress: VerbProgress) => Promise<T> | T,
  told: (result: T) => Told = () => nothingMore,
): Promise<T> {
  const { recorder } = host;
  const written: Step[] = [];
  let [planned, done] = [0, 0];
  recorder.append({ ...entry, status: 'begin', facts });
  let result: T;
  try {
    result = await act({
      onPlan(steps) {
        planned += countSteps(steps);
        const told = { ...facts, steps: steps.map(lineOf), ...countOf(steps) };
        recorder.append({ ...entry, status: 'begin', durable: true, facts: told });
      },
      onStep(step) {
        done += 1;
        if (written.length < listedChanges) written.push(step);
      },
    });
  } catch (error) {
    const count = done > written.length ? { stepCount: done } : {};
    const steps = planned === 0 ? {} : { steps: written.map(lineOf), ...count, unwritten: planned - done };
    recordFailure(recorder, { ...entry, facts: { ...facts, ...steps } }, error);
    throw error;
  }
  const end = told(result);
  recorder.append({ ...entry, status: end.status, facts: { ...facts, ...end.facts } });
  return result;
}

/** The same for what is done at once. */
export function recordedAct<T>(
  { recorder }: Pick<Host, 'recorder'>,
  { facts, ...entry }: RecordedVerb,
  act: () => T,
): T {
  recorder.append({ ...entry, status: 'begin', facts });
  let result: T;
  try {
    result = act();
  } catch (error) {
    recordFailure(recorder, { ...entry, facts }, error);
    throw error;
  }
  recorder.append({ ...entry, status: 'ok', facts });
  return result;
}

/** Of the room that is kept for it: what failed may have failed for want of room. */
function recordFailure(recorder: Recorder, { facts, ...entry }: RecordedVerb, thrown: unknown): void {
  recorder.append({ ...entry, status: 'failed', makesRoom: true, facts: { ...facts, ...failure(thrown) } });
}

interface Wrote {
  readonly done: boolean;
  readonly steps: readonly Step[];
  /** Of those, where it was not done: what was written before it stopped. */
  readonly written: readonly Step[];
  readonly conflicts: readonly string[];
}

/** Of a verb that writes steps. */
export function toldSteps({ done, steps, written, conflicts }: Wrote, more: Readonly<Record<string, Json>> = {}): Told {
  const told = done ? steps : written;
  return { status: done ? 'ok' : 'failed', facts: { steps: told.map(lineOf), ...countOf(told), conflicts, ...more } };
}
