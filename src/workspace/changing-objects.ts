/**
 * One change of the objects at a time: each reads control files, judges what would come out of it and writes. Of two at once the first
 * would be lost, and what a person has just taken away would be there again. The lock is the kernel's, and ends with its process.
 */
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { fromSystemError } from '../base/errno.js';
import type { Host } from '../proxy/host.js';
import { makeObjectRoot } from '../vault/store/store-place.js';

/** Not for what asks for it again inside: that would wait for itself. */
export async function whileChanging<T>(
  { root, tree }: Pick<Host, 'root' | 'tree'>,
  act: () => Promise<T> | T,
): Promise<T> {
  const path = join(root, 'objects.lock');
  let descriptor: number;
  try {
    makeObjectRoot(root);
    descriptor = openSync(path, 'a', 0o600);
  } catch (error) {
    throw fromSystemError(error, 'change an object', path);
  }
  try {
    await tree.lock({ descriptor, wait: true });
    return await act();
  } finally {
    closeSync(descriptor);
  }
}
