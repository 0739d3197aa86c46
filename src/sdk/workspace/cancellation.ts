/** A command that is no longer wanted: asked to end, and killed where it does not. */
import { cancelGraceMilliseconds } from '../../base/limits/commands.js';
import type { RunningJail } from '../../jail/launch.js';

/** For `onStarted`: from there on the signal ends the command. What it did until then is in its report. */
export function endedBy(signal: AbortSignal | undefined): (command: RunningJail) => void {
  return (command) => {
    if (signal === undefined) return;
    let timer: NodeJS.Timeout | undefined;
    const end = () => {
      command.signal('SIGTERM');
      timer = setTimeout(() => command.kill(), cancelGraceMilliseconds);
    };
    const forget = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
    };
    command.done.then(forget, forget);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  };
}
