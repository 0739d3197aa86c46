/** What the owner of one jail reports, as it comes. */
import { decodePath } from '../base/path-bytes.js';
import { heldCacheOf } from './held-cache.js';
import { type BesideAsker, endedEarly, endedSilently, type Launch } from './launch-request.js';
import {
  type HeldCache,
  type HeldFiles,
  heldOf,
  type Outcome,
  outcomeOf,
  type Report,
  splitReports,
} from './report.js';

export class JailReports {
  /** Resolves when the command has been executed. */
  readonly started: Promise<void>;
  #tellStarted: () => void = () => undefined;
  readonly #onHeld: ((held: HeldFiles) => void) | undefined;
  readonly #beside: BesideAsker | undefined;
  readonly #reports: Report[] = [];
  readonly #heldCaches: HeldCache[] = [];
  #text = '';
  #hasStarted = false;

  constructor({ onHeld, beside }: Pick<Launch, 'onHeld' | 'beside'>) {
    this.#onHeld = onHeld;
    this.#beside = beside;
    this.started = new Promise((resolve) => {
      this.#tellStarted = resolve;
    });
  }

  take(chunk: Buffer): void {
    const { reports, left } = splitReports(this.#text + decodePath(chunk));
    this.#text = left;
    for (const report of reports) {
      const held = heldOf(report);
      const heldCache = heldCacheOf(report);
      // Of the whole jail, whichever of its commands it names.
      if (held !== undefined) this.#onHeld?.(held);
      else if (report.id !== 0) this.#beside?.take(report);
      else if (heldCache !== undefined) this.#heldCaches.push(heldCache);
      else this.#reports.push(report);
      if (report.id !== 0 || report.what !== 'started') continue;
      this.#hasStarted = true;
      this.#tellStarted();
    }
  }

  /** The command's end was told: nothing runs, is mounted or is held any more. */
  get areWhole(): boolean {
    return this.#reports.some(({ what }) => what === 'exited');
  }

  /**
   * How the command ended; throws what kept it from starting. `how`: what the jail program itself ended with; `isAsked`: it was sent a
   * signal, or its lifeline was let go of.
   */
  outcome(how: string | number | null, isAsked = false): Outcome {
    const outcome = outcomeOf(this.#reports);
    if (outcome === undefined) throw isAsked && !this.#hasStarted ? endedEarly() : endedSilently(how);
    return this.#heldCaches.length === 0 ? outcome : { ...outcome, heldCaches: this.#heldCaches };
  }
}
