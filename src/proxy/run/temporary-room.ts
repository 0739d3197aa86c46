/**
 * How large a fork's `/tmp` may grow. It is a directory of the store, so no filesystem of its own answers ENOSPC: it is counted, and a
 * command that fills it is ended. Counting walks it, so the filesystem is asked first, which costs one system call: only where that
 * has grown by a part of what is left is it worth a walk. What commands add below that step is counted with a later one.
 */
import { statfsSync } from 'node:fs';
import { hasCode } from '../../base/errno.js';
import { groupPollMilliseconds } from '../../base/limits/commands.js';
import { temporaryBytes, temporaryFiles } from '../../base/limits/store.js';
import { countUsage, type TreeUsage } from '../../vault/tree/usage.js';

export interface TemporaryRequest {
  /** Of the host; undefined where `/tmp` ends with the command. */
  readonly directory: string | undefined;
  readonly treeProgram: string;
  /** Ends the command, with the reason in words. */
  readonly end: (reason: string) => void;
  /** Smaller in tests. */
  readonly limits?: TemporaryLimits;
  /** Of the filesystem; in tests one that no one else uses. */
  readonly inUse?: (directory: string) => Counted | undefined;
}

export interface TemporaryLimits {
  readonly bytes: number;
  readonly files: number;
}

export interface TemporaryWatch {
  stop(): Promise<void>;
}

type Counted = Pick<TreeUsage, 'bytes' | 'inodes'>;

/** A walk is worth it where the filesystem has grown by as much. */
const steps = 64;

/** All that is in use on the filesystem of a directory; undefined where somebody has removed it: nothing can be made there any more. */
function inUseAt(directory: string): Counted | undefined {
  try {
    const { blocks, bfree, bsize, files, ffree } = statfsSync(directory);
    return { bytes: (blocks - bfree) * bsize, inodes: files - ffree };
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

function isWorthCounting(limits: TemporaryLimits, before: Counted | undefined, now: Counted | undefined): boolean {
  if (before === undefined || now === undefined) return false;
  return now.bytes - before.bytes > limits.bytes / steps || now.inodes - before.inodes > limits.files / steps;
}

/** In words what is above a limit; undefined where nothing is. Pure. */
export function temporaryExcess({ bytes, files }: TemporaryLimits, used: Counted): string | undefined {
  if (used.bytes <= bytes && used.inodes <= files) return undefined;
  const held = used.bytes > bytes ? `${used.bytes} of ${bytes} bytes` : `${used.inodes} of ${files} files`;
  return `/tmp is full: it holds ${held}; the command was ended, and what it left there stays until it is deleted or ctx drop`;
}

export function watchTemporary(request: TemporaryRequest): TemporaryWatch {
  const { directory, treeProgram, end, inUse = inUseAt } = request;
  if (directory === undefined) return { stop: async () => undefined };
  const limits = request.limits ?? { bytes: temporaryBytes, files: temporaryFiles };
  let before = inUse(directory);
  let counting: Promise<void> | undefined;
  let isFull = false;
  const count = async () => {
    const used = inUse(directory);
    const reason = temporaryExcess(limits, await countUsage(treeProgram, [directory]));
    before = used;
    if (reason === undefined || isFull) return;
    isFull = true;
    end(reason);
  };
  const look = (): void => {
    if (isFull || counting !== undefined || !isWorthCounting(limits, before, inUse(directory))) return;
    // A directory that cannot be counted now is counted at the next look.
    counting = count()
      .catch(() => undefined)
      .finally(() => {
        counting = undefined;
      });
  };
  const timer = setInterval(look, groupPollMilliseconds);
  return {
    async stop() {
      clearInterval(timer);
      await counting;
      look();
      await counting;
    },
  };
}
