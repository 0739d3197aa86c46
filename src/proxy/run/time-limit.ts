/** The clock of one command: warned about, then asked to end, then made to. */
import type { Authority } from '../../authority/authority.js';
import { after } from '../../base/clock.js';
import { limitWarningPercent, terminationGraceMilliseconds } from '../../base/limits/commands.js';
import type { RunningJail } from '../../jail/launch.js';
import type { Outcome } from '../../jail/report.js';
import type { LimitEvents } from '../report/limit-events.js';

/** Resolves with the outcome, and whether the time was up. */
export async function withTimeout(
  jail: RunningJail,
  milliseconds: number | undefined,
  events: LimitEvents,
): Promise<[Outcome, boolean]> {
  if (milliseconds === undefined) return [await jail.done, false];
  let timedOut = false;
  let over = false;
  let stopClock: (() => void) | undefined;
  let stopWarning: (() => void) | undefined;
  const warned = (milliseconds * limitWarningPercent) / 100;
  // Making the jail is our time, not the command's.
  void jail.started.then(() => {
    // The end of a quick command may be known first: a clock that no one stops would keep this process.
    if (over) return;
    stopWarning = after(warned, () => events.observe('wallTime', warned, milliseconds));
    stopClock = after(milliseconds, () => {
      timedOut = true;
      events.observe('wallTime', milliseconds, milliseconds);
      jail.signal('SIGTERM');
      stopClock = after(terminationGraceMilliseconds, () => jail.kill());
    });
  });
  try {
    return [await jail.done, timedOut];
  } finally {
    over = true;
    stopWarning?.();
    stopClock?.();
  }
}

/** What is known of limits only from how the command ended, in words; each is an event, too. */
export interface LimitsByOutcome {
  /** Of what it may write. */
  readonly beyond: readonly string[];
  /** Of what the kernel holds it to. */
  readonly held: readonly string[];
}

export function limitsByOutcome(
  { signal, crowded }: Outcome,
  { quota }: Authority,
  events: LimitEvents,
): LimitsByOutcome {
  const { disk } = quota;
  const isTooLong = signal === 'SIGXFSZ' && disk !== undefined;
  if (isTooLong) events.observe('disk', disk, disk);
  if (crowded !== undefined) events.observe('pids', crowded.threads, crowded.most, true);
  return {
    beyond: isTooLong ? [`disk limit reached: a single file would have exceeded ${disk} bytes`] : [],
    held:
      crowded === undefined
        ? []
        : [`process limit reached: ${crowded.threads} processes and threads of at most ${crowded.most} were seen`],
  };
}
