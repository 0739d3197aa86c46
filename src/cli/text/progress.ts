/** One line that says how far the first import of a directory is; drawn on a terminal only, and gone when it is done. */
import { monotonic } from '../../base/clock.js';
import type { Progress } from '../../sdk/changes.js';
import { sizeText } from './change-text.js';

export interface ProgressLine {
  /** Undefined where no one would see it: what is not shown is not counted either. */
  readonly update: ((progress: Progress) => void) | undefined;
  clear(): void;
}

const barWidth = 24;

function restText(seconds: number): string {
  if (seconds < 1) return 'almost done';
  if (seconds < 90) return `${Math.round(seconds)} s left`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min left` : `${(seconds / 3600).toFixed(1)} h left`;
}

/** How much of it is done, between 0 and 1: small files cost by their number, large ones by their bytes. Pure. */
export function doneShare({ files, bytes, of }: Progress): number | undefined {
  if (of === undefined) return undefined;
  const share = (part: number, whole: number) => (whole === 0 ? 1 : Math.min(1, part / whole));
  return (share(files, of.files) + share(bytes, of.bytes)) / 2;
}

/** Pure. */
export function progressText(progress: Progress, seconds: number): string {
  const { files, bytes } = progress;
  const rate = `${sizeText(Math.round(bytes / seconds))}/s`;
  const sum = `${files.toLocaleString('en')} files, ${sizeText(bytes)}, ${rate}`;
  const share = doneShare(progress);
  if (share === undefined) return sum;
  const full = Math.floor(share * barWidth);
  const bar = `[${'#'.repeat(full)}${'.'.repeat(barWidth - full)}] ${String(Math.floor(share * 100)).padStart(3)} %`;
  return `${bar}  ${sum}${share === 0 ? '' : `, ${restText((seconds * (1 - share)) / share)}`}`;
}

/** Without a terminal no one is shown anything. */
export function progressLine(stream: NodeJS.WriteStream | undefined, title: string): ProgressLine {
  if (stream === undefined) return { update: undefined, clear: () => undefined };
  const start = monotonic();
  let drawn = false;
  return {
    update(progress) {
      const seconds = (monotonic() - start) / 1000;
      // No one needs to read of an import that is over at once.
      if (seconds < 0.3) return;
      drawn = true;
      const line = `${title}: ${progressText(progress, seconds)}`;
      // A line that wraps could not be drawn over.
      stream.write(`\r\u001b[K${line.slice(0, Math.max(20, (stream.columns || 80) - 1))}`);
    },
    clear() {
      if (drawn) stream.write('\r\u001b[K');
      drawn = false;
    },
  };
}
