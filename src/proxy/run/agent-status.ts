/**
 * `status` and `pid` of an agent while a command runs for it, written by the process that runs it. For people and other
 * agents to look at: nothing decides by them, and what cannot be written is not a failure. Of several at once, the last
 * that began is named, and its end is said.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Agent } from '../../authority/agent.js';
import { writeFileAtomic } from '../../base/atomic-file.js';
import { ErrnoError } from '../../base/errno.js';

function put(directory: string, file: string, text: string): void {
  try {
    writeFileAtomic(join(directory, file), text, { durable: false, mode: 0o644 });
  } catch (error) {
    if (!(error instanceof ErrnoError)) throw error;
  }
}

function isOurs(directory: string): boolean {
  try {
    return readFileSync(join(directory, 'pid'), 'utf8').trim() === String(process.pid);
  } catch {
    return false; // its files are gone, or not ours to read
  }
}

/** Returns what is called when the command has ended. */
export function busy(agent: Pick<Agent, 'directory'> | undefined): () => void {
  if (agent === undefined) return () => undefined;
  const { directory } = agent;
  put(directory, 'pid', `${process.pid}\n`);
  put(directory, 'status', 'busy\n');
  return () => {
    if (!isOurs(directory)) return;
    put(directory, 'status', 'dead\n');
    put(directory, 'pid', '');
  };
}
