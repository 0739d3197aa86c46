/**
 * How much a fork holds, while it is being written: `native/tree usage`, which goes on looking until it is stopped. Nothing
 * is walked in this process.
 */

import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { startProgram } from '../../base/child-process.js';
import { ErrnoError, fromSystemError } from '../../base/errno.js';
import { usagePollMilliseconds } from '../../base/limits/commands.js';
import { endsWithUs } from './tree-program.js';

export interface TreeUsage {
  /** On disk; a hard link once. */
  readonly bytes: number;
  readonly inodes: number;
  /** Directories that could not be looked into, because the tree is too deep: what is in them is in no number. */
  readonly unseen: number;
  /** Everything but directories, how long the regular ones are together, and the longest of them. */
  readonly files: number;
  readonly content: number;
  readonly longest: number;
}

export interface UsageRequest {
  /** Path of the native tree program. */
  readonly program: string;
  readonly roots: readonly string[];
  /** Growth of the whole filesystem that makes it look sooner. */
  readonly wakeBytes?: number | undefined;
  /** Every number that differs from the one before, the first one included. */
  readonly onUsage: (usage: TreeUsage) => void;
  /** It ended without being stopped: no one is counting any more. */
  readonly onLost: (error: ErrnoError) => void;
}

export interface UsageWatch {
  /** Resolves when the trees have been looked at once; rejects where they cannot be. */
  readonly first: Promise<TreeUsage>;
  stop(): Promise<void>;
}

const numbersOfOne = 6;

/** As one that ended at once. */
function neverBegun({ onLost }: UsageRequest, error: ErrnoError): UsageWatch {
  const first = Promise.reject(error);
  first.catch(() => onLost(error));
  return { first, stop: async () => undefined };
}

export function watchUsage(request: UsageRequest): UsageWatch {
  const wake = request.wakeBytes === undefined ? [] : ['--wake-bytes', String(Math.ceil(request.wakeBytes))];
  const words = ['usage', '--every', String(usagePollMilliseconds), ...wake, '--layer', ...request.roots];
  words.push(...endsWithUs());
  let child: ChildProcessByStdio<null, Readable, null>;
  try {
    child = startProgram(request.program, words, { stdio: ['ignore', 'pipe', 'ignore'], env: {} });
  } catch (error) {
    return neverBegun(request, fromSystemError(error, 'count the fork', request.program));
  }
  const closed = once(child, 'close').catch(() => undefined);
  let stopped = false;
  let cut = '';
  const first = new Promise<TreeUsage>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      const fields = (cut + chunk.toString('latin1')).split('\0');
      cut = fields.splice(fields.length - 1 - ((fields.length - 1) % numbersOfOne)).join('\0');
      for (let at = 0; at < fields.length; at += numbersOfOne) {
        const numbers = fields.slice(at, at + numbersOfOne).map(Number);
        const [bytes = 0, inodes = 0, unseen = 0, files = 0, content = 0, longest = 0] = numbers;
        const usage: TreeUsage = { bytes, inodes, unseen, files, content, longest };
        resolve(usage);
        if (!stopped) request.onUsage(usage);
      }
    });
    const lost = (cause?: unknown) => {
      const reason = 'the program that counts what the fork holds has ended';
      const error = new ErrnoError('EIO', { operation: 'count the fork', path: request.program, reason, cause });
      reject(error);
      if (!stopped) request.onLost(error);
      stopped = true;
    };
    child.once('error', lost);
    child.once('close', () => lost());
  });
  // A process that does not wait for the first number hears of a failure by `onLost`.
  first.catch(() => undefined);
  return {
    first,
    async stop() {
      stopped = true;
      child.kill('SIGTERM');
      await closed;
    },
  };
}

/** One look. */
export async function countUsage(program: string, roots: readonly string[]): Promise<TreeUsage> {
  const watch = watchUsage({ program, roots, onUsage: () => undefined, onLost: () => undefined });
  try {
    return await watch.first;
  } finally {
    await watch.stop();
  }
}
