/** The report of an apply, and what it is put together from. */
import type { Change, Problem, Step } from '../tree/tree.js';
import type { HeldUnit } from './held-units.js';
import type { Sensitive } from './sensitive-changes.js';

/** What an apply did, or would do. */
export interface ApplyReport {
  readonly changes: readonly Change[];
  readonly steps: readonly Step[];
  readonly conflicts: readonly string[];
  /** Conflicts that were in the way. */
  readonly undecided: readonly string[];
  /** Changes by which the fork could act outside later; written only when allowed. */
  readonly sensitive: readonly Sensitive[];
  readonly heldBack: readonly string[];
  /** What of it is held back for a sensitive change, its own or one in the same unit. */
  readonly withheld: readonly string[];
  /** Directories that are held back whole for a sensitive change in them: a package, a repository, an environment. */
  readonly heldUnits: readonly HeldUnit[];
  /** Nothing that was asked for stays in the fork: neither held back nor left out. */
  readonly complete: boolean;
  /** Paths that were asked for and have no change. */
  readonly unmatched: readonly string[];
  /** False when conflicts were in the way, or it was a dry run; then nothing was written but `written`. */
  readonly done: boolean;
  /** Steps that were done although others met a save of the person's, which is among the undecided then. */
  readonly written: readonly Step[];
  /** Files beside such paths that hold an earlier save of the person's. */
  readonly aside: readonly string[];
  readonly problems: readonly Problem[];
}
