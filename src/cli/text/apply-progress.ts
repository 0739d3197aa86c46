/** One line that says how many changes have come home; drawn on a terminal only, and gone when it is done. */
import type { ApplyOptions } from '../../sdk/workspace/fork.js';

const drawnMilliseconds = 100;
const quietMilliseconds = 500;

export interface ApplyProgress {
  readonly onProgress: ApplyOptions['onProgress'];
  clear(): void;
}

export function applyProgress(stream: NodeJS.WriteStream, title: string): ApplyProgress {
  if (stream.isTTY !== true) return { onProgress: undefined, clear: () => undefined };
  let last = Date.now() + quietMilliseconds - drawnMilliseconds;
  let drawn = false;
  return {
    onProgress(done, of) {
      const now = Date.now();
      // Nobody needs to read of one that is over at once.
      if (now - last < drawnMilliseconds) return;
      last = now;
      drawn = true;
      const line = `${title}: ${done.toLocaleString('en')} of ${of.toLocaleString('en')} changes`;
      stream.write(`\r\u001b[K${line.slice(0, Math.max(20, (stream.columns || 80) - 1))}`);
    },
    clear() {
      if (drawn) stream.write('\r\u001b[K');
      drawn = false;
    },
  };
}
