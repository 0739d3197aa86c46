/** A fork's workspace written out whole, with its owners: to an empty directory, or as a tar file by way of one. */
import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { ErrnoError } from '../base/errno.js';
import { makeLayer, treesOf } from './layer-pool.js';
import { workspaceRoot } from './layout.js';
import { discard } from './trash.js';
import type { Problem } from './tree.js';
import type { OpenFork } from './vault.js';

/** Every entry that a stack shows, in walk order, is an addition to nothing. */
async function writeOut(fork: OpenFork, directory: string): Promise<readonly Problem[]> {
  const { paths, meta, tree, owner } = fork;
  const layers = treesOf(paths, [...meta.base, ...meta.deltas, meta.live], workspaceRoot);
  const entries = await tree.diff({ uppers: layers, lowers: [] });
  const writable = entries.filter(({ type }) => type !== 'socket' && type !== 'device');
  const plan = writable.map(({ path }) => ({ action: 'put' as const, path }));
  await tree.apply({ uppers: layers, root: directory, shift: owner.shift, plan });
  return entries
    .filter((entry) => !writable.includes(entry))
    .map(({ path, type }) => ({ path, code: 'ENOTSUP', reason: `a ${type} is not exported` }));
}

async function pack(directory: string, file: string): Promise<void> {
  const words = ['--create', '--file', file, '--directory', directory, '--sparse', '--xattrs', '--numeric-owner', '.'];
  try {
    await promisify(execFile)('/usr/bin/tar', words, { env: { LC_ALL: 'C' } });
  } catch (error) {
    const { message } = error as Error;
    throw new ErrnoError('EIO', { operation: 'export', path: file, reason: `tar failed: ${message}`, cause: error });
  }
}

/** `to` ends in `.tar`, or is a directory that is there and empty. */
export async function exportTree(fork: OpenFork, to: string): Promise<readonly Problem[]> {
  if (!to.endsWith('.tar')) return writeOut(fork, to);
  // A layer of nobody's, which this fork's lock keeps: another directory's verbs may empty the trash meanwhile.
  const layer = makeLayer(fork.paths, { fork: fork.name });
  const draft = fork.paths.tree(layer, 'export');
  mkdirSync(draft, { mode: 0o755 });
  try {
    const problems = await writeOut(fork, draft);
    await pack(draft, resolve(to));
    return problems;
  } finally {
    await discard(fork.store, fork.tree, [fork.paths.layer(layer)]);
  }
}
