/**
 * How often an agent has been used, where its `expiry` says how often it may be. The number is in its control
 * directory, in a file `uses`: gone with the agent, and in no jail. A use is counted, on disk, before it happens, and
 * against every agent of its line; what cannot be counted is refused.
 */
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Agent } from '../../authority/agent.js';
import { lifetimeFault } from '../../authority/quota.js';
import { coach } from '../../authority/refusal.js';
import { writeFileAtomic } from '../../base/atomic-file.js';
import { ErrnoError, fromSystemError, hasCode } from '../../base/errno.js';
import type { Host } from '../host.js';
import type { ResolvedAuthority } from './authority-of.js';

function usedSoFar(path: string): number {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return 0;
    throw fromSystemError(error, 'count the use', path);
  }
  if (/^(?:0|[1-9][0-9]{0,15})\n$/.test(text)) return Number(text);
  throw new ErrnoError('EIO', {
    operation: 'count the use',
    path,
    reason: 'expected one number: how often the agent was used',
    remedy: 'write how often, or remove the file to begin at 0',
  });
}

/** How much of the uses that an Authority's lifetime allows is used, by it or by those it descends from. */
export function usedSoFarOf({ authority, line }: Pick<ResolvedAuthority, 'authority' | 'line'>): number {
  const { uses } = authority.lifetime;
  if (uses === undefined) return 0;
  const left = line.flatMap(({ directory, lifetime }) =>
    lifetime.uses === undefined ? [] : [lifetime.uses - usedSoFar(join(directory, 'uses'))],
  );
  // An agent's uses are at most its parent's, so the one that has least left decides.
  return uses - Math.min(uses, ...left);
}

/** One at a time: the lock is the kernel's, and ends with the process that holds it. */
async function locked<T>(host: Pick<Host, 'tree'>, path: string, act: () => T): Promise<T> {
  let descriptor: number;
  try {
    descriptor = openSync(path, 'a', 0o600);
  } catch (error) {
    throw fromSystemError(error, 'count the use', path);
  }
  try {
    await host.tree.lock({ descriptor, wait: true });
    return act();
  } finally {
    closeSync(descriptor);
  }
}

/** EACCES where one of the line is used up; then nothing is counted for those that come after it. */
export async function countUse(host: Pick<Host, 'tree' | 'now'>, line: readonly Agent[]): Promise<void> {
  for (const { name, directory, lifetime } of line) {
    if (lifetime.uses === undefined) continue;
    const path = join(directory, 'uses');
    await locked(host, join(directory, 'uses.lock'), () => {
      const used = usedSoFar(path);
      const fault = lifetimeFault(lifetime, host.now().getTime(), used);
      if (fault !== undefined) {
        const remedy = `ctx agent set ${name} expiry 'uses ${used + 1}' allows one more`;
        throw new ErrnoError('EACCES', { operation: `agent ${name}`, reason: coach({ kind: fault }), remedy });
      }
      writeFileAtomic(path, `${used + 1}\n`, { durable: true, mode: 0o600 });
    });
  }
}
