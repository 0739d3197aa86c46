/**
 * What the person's own directories hold, as a digest: what they edit enters the fork before the next command, so that
 * an approval is of it too. By inode and the kernel's own time of the last change, which no one can set: equal digests
 * are equal contents.
 */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ErrnoError } from '../../base/errno.js';
import { makeDirectory } from '../../base/make-directory.js';
import { sha256 } from '../../base/sha256.js';
import { uniqueName } from '../../base/unique-name.js';
import { storePaths } from '../../vault/store/layout.js';
import { isSettled } from '../../vault/tree/signature-paths.js';
import type { Host } from '../host.js';

async function stateOf({ store, tree }: Pick<Host, 'store' | 'tree'>, root: string): Promise<string> {
  const { approvals } = storePaths(store.directory);
  makeDirectory(approvals);
  const signatures = join(approvals, `scan-${uniqueName()}`);
  try {
    await tree.scan({ root, signatures, skip: [{ device: store.device, inode: store.inode }] });
    const bytes = readFileSync(signatures);
    // What is being written now is like no other state.
    if (!isSettled(bytes)) return uniqueName();
    const { createHash } = await import('node:crypto');
    return createHash('sha256').update(bytes).digest('hex');
  } catch (error) {
    if (error instanceof ErrnoError && error.code !== 'ECANCELED') return uniqueName();
    throw error;
  } finally {
    rmSync(signatures, { force: true });
  }
}

/** Of the workspace, and of the further directories that are written; what cannot be read is like no other state. */
export async function directoryState(
  host: Pick<Host, 'store' | 'tree'>,
  directories: readonly string[],
): Promise<string> {
  const states = [...new Set(directories)].map(async (path) => `${path}\0${await stateOf(host, path)}`);
  return `sha256:${sha256((await Promise.all(states)).join('\0'))}`;
}
