/** One line that says how far the first import of a directory is; drawn on a terminal only, and gone when it is done. */
import type { Progress } from '../vault/tree.js';
import { sizeText } from './change-text.js';

export interface ProgressLine {
  update(progress: Progress): void;
  clear(): void;
}

export function progressLine(stream: NodeJS.WriteStream, title: string): ProgressLine {
  if (stream.isTTY !== true) return { update: () => undefined, clear: () => undefined };
  const start = Date.now();
  let drawn = false;
  return {
    update({ files, bytes }) {
      const seconds = (Date.now() - start) / 1000;
      // Nobody needs to read of an import that is over at once.
      if (seconds < 0.3) return;
      drawn = true;
      const rate = sizeText(Math.round(bytes / seconds));
      stream.write(`\r\u001b[K${title}: ${files.toLocaleString('en')} files, ${sizeText(bytes)}, ${rate}/s`);
    },
    clear() {
      if (drawn) stream.write('\r\u001b[K');
      drawn = false;
    },
  };
}
