/** A fork's workspace written out whole, with its owners, links and times: to a new directory, or as a tar file by way of one. */
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, unlinkSync } from 'node:fs';
import { startProgram } from '../../base/child-process.js';
import { ErrnoError, fromSystemError, hasCode } from '../../base/errno.js';
import { freshDirectory, inParent } from '../../base/fresh-directory.js';
import { nativeErrorBytes } from '../../base/limits/store.js';
import { makeLayer, treesOf } from '../store/layer-pool.js';
import { workspaceRoot } from '../store/layout.js';
import { topPath } from '../store/root-paths.js';
import { discard } from '../store/trash.js';
import type { Problem } from '../tree/tree.js';
import type { OpenFork } from '../vault.js';

/** Every entry that a stack shows, in walk order, is an addition to nothing. */
async function writeOut(fork: OpenFork, directory: string): Promise<readonly Problem[]> {
  const { paths, meta, tree, owner } = fork;
  const layers = treesOf(paths, [...meta.base, ...meta.deltas, meta.live], workspaceRoot);
  const entries = await tree.diff({ uppers: layers, lowers: [] });
  const writable = entries.filter(({ type }) => type !== 'socket' && type !== 'device');
  const plan = [topPath, ...writable.map(({ path }) => path)].map((path) => ({ action: 'put' as const, path }));
  await tree.apply({ uppers: layers, root: directory, shift: owner.shift, plan, whole: true });
  return entries
    .filter((entry) => !writable.includes(entry))
    .map(({ path, type }) => ({ path, code: 'ENOTSUP', reason: `a ${type} is not exported` }));
}

/** Tar reads as the owner of everything in it, whatever the modes say: as `native/tree` does, which wrote it. */
const asOwner = ['/usr/bin/unshare', '--user', '--map-current-user', '--keep-caps'];

/** Killed with us, and not left to fill a disk; asked for after the change of user, which would undo it. */
const endsWithUs = ['/usr/bin/setpriv', '--pdeathsig', 'KILL'];

async function pack(directory: string, into: number, path: string): Promise<void> {
  const tar = [
    ...endsWithUs,
    '/usr/bin/tar',
    '--create',
    '--directory',
    directory,
    '--sparse',
    '--xattrs',
    '--numeric-owner',
    '.',
  ];
  const [program = '', ...words] = process.getuid?.() === 0 ? tar : [...asOwner, ...tar];
  const child = startProgram(program, words, { env: { LC_ALL: 'C' }, stdio: ['ignore', into, 'pipe'] });
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    if (said.length < nativeErrorBytes) said += text;
  });
  const [code, signal] = await once(child, 'close').catch((cause: Error) => [cause.message, null]);
  if (code === 0) return;
  const reason = `tar failed (${signal ?? code})${said === '' ? '' : `: ${said.trim()}`}`;
  throw new ErrnoError('EIO', { operation: 'export', path, reason, remedy: 'export to a directory instead' });
}

/** What is there already is the person's. */
function freshFile(path: string): number {
  try {
    return inParent(path, 'export', (at) => openSync(at, 'wx', 0o666));
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw fromSystemError(error, 'export', path);
    const reason = 'expected a path that does not exist yet';
    throw new ErrnoError('EEXIST', { operation: 'export', path, reason, remedy: 'name another place' });
  }
}

async function exportDirectory(fork: OpenFork, to: string): Promise<readonly Problem[]> {
  const { path, identity } = freshDirectory(to, 'export', 0o777);
  fork.tree.know(path, identity);
  return writeOut(fork, path);
}

async function exportFile(fork: OpenFork, to: string): Promise<readonly Problem[]> {
  const file = freshFile(to);
  // A layer of no one's, which this fork's lock keeps: another directory's verbs may empty the trash meanwhile.
  const layer = makeLayer(fork.paths, { fork: fork.name });
  const draft = fork.paths.tree(layer, 'export');
  try {
    mkdirSync(draft, { mode: 0o755 });
    const problems = await writeOut(fork, draft);
    await pack(draft, file, to);
    return problems;
  } catch (error) {
    inParent(to, 'export', (at) => unlinkSync(at));
    throw error;
  } finally {
    closeSync(file);
    await discard(fork.store, fork.tree, [fork.paths.layer(layer)]);
  }
}

/** `to` is absolute: a file that ends in `.tar`, or a directory; one that is there has to be empty. */
export function exportFork(fork: OpenFork, to: string): Promise<readonly Problem[]> {
  return to.endsWith('.tar') ? exportFile(fork, to) : exportDirectory(fork, to);
}
