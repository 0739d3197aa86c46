/**
 * That a run is under way is noted before the record says so, and that it has ended after the record does: so the
 * process that comes next knows a run that may have no end in the record.
 */
import type { BegunRun } from '../../vault/store/worker-file.js';

export type LastRun = BegunRun;

/** Says outside of the record that a run is under way, for as long as the record has no end of it. */
export interface RunNote {
  begin(run: LastRun): void;
  end(run: LastRun): void;
}
