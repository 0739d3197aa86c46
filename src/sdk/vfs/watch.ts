/** Changes of a directory as `fs.promises.watch` gives them. */
import type { TreeChange } from '../../vfs/filesystem.js';
import { textFromName } from '../../vfs/names.js';
import { nodeError } from './node-error.js';

export interface WatchOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface VfsWatchEvent {
  readonly eventType: 'rename' | 'change';
  readonly filename: string;
}

/** Events that no one has taken yet; what is beyond is dropped, as the kernel does. */
const mostWaiting = 16_384;

export async function* watched(
  start: (changed: (change: TreeChange) => void) => Promise<() => void>,
  { signal }: WatchOptions,
): AsyncGenerator<VfsWatchEvent> {
  const waiting: VfsWatchEvent[] = [];
  let wake: () => void = () => undefined;
  const stop = await start(({ kind, name }) => {
    if (waiting.length < mostWaiting) waiting.push({ eventType: kind, filename: textFromName(name) });
    wake();
  }).catch((error: unknown) => {
    throw nodeError(error, 'watch');
  });
  const aborted = () => wake();
  signal?.addEventListener('abort', aborted);
  try {
    for (;;) {
      if (signal?.aborted === true) throw signal.reason;
      const event = waiting.shift();
      if (event !== undefined) yield event;
      else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    stop();
    signal?.removeEventListener('abort', aborted);
  }
}
