/**
 * An installed package knows what it was made of: `dist/build.json` has its commit and the SHA-256 of every file that is loaded or run. A
 * checkout has no such file, and nothing is checked there.
 *
 * Files are read whole at the first start of a user, and again when one has another size, time or inode than at the last check: a start
 * costs a look at each and no more. What differs is refused; this finds damage, not somebody who can also write the digests.
 */
import { existsSync, lstatSync, readFileSync, realpathSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ErrnoError, hasCode } from './errno.js';
import { makeDirectory } from './make-directory.js';
import { refuseOldNode } from './node-version.js';
import { having, mapOf, parsedAs, text } from './shape.js';

/** What is checked together, when it is first used. */
export type InstalledPart = 'cli' | 'sdk' | 'chunk store';

interface Build {
  readonly version: string;
  readonly commit: string;
  readonly files: Readonly<Record<string, string>>;
}

const buildShape = having({ version: text, commit: text, files: mapOf(text) });

const programs = `dist/native/${process.arch}/`;
const prefixes: Readonly<Record<InstalledPart, readonly string[]>> = {
  cli: ['bin/', 'dist/cli/', programs],
  sdk: ['dist/sdk/', programs],
  'chunk store': ['dist/node_modules/'],
};
const otherMachine = process.arch === 'x64' ? 'lmdb-linux-arm64' : 'lmdb-linux-x64';

export function installationRoot(): string {
  const here = fileURLToPath(import.meta.url);
  return here.slice(0, here.lastIndexOf('/dist/'));
}

/** A package has programs for several machines, a checkout those that were compiled here. */
export function isPackage(root = installationRoot()): boolean {
  return existsSync(join(root, programs));
}

/** Undefined in a checkout. */
export function installedBuild(root = installationRoot()): Build | undefined {
  const path = join(root, 'dist', 'build.json');
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT') && !isPackage(root)) return undefined;
    throw damaged(path, error);
  }
  const build = parsedAs<Build>(text, buildShape);
  if (build === undefined) throw damaged(path);
  return build;
}

function damaged(path: string, cause?: unknown): ErrnoError {
  return new ErrnoError('EIO', {
    operation: 'start ctx',
    path,
    reason: 'this file is not what was packaged: the installation is damaged, and is not used',
    remedy: 'install it again: npm install -g ctxfs-VERSION.tgz, or dpkg -i ctxfs_VERSION_all.deb',
    cause,
  });
}

/** Of a user, for notes that can be made again. */
export function cacheDirectory(environment: Readonly<Record<string, string | undefined>>): string | undefined {
  const { XDG_CACHE_HOME: named = '', HOME: home = '' } = environment;
  if (isAbsolute(named)) return join(named, 'ctxfs');
  return isAbsolute(home) ? join(home, '.cache', 'ctxfs') : undefined;
}

/** What others may write could be a link to anything, and code of theirs: every directory above has to be root's or our own, too. */
function isOwn(directory: string): boolean {
  const own = process.geteuid?.();
  for (let at = directory; ; at = dirname(at)) {
    const about = lstatSync(at, { throwIfNoEntry: false });
    if (about !== undefined && about.uid !== 0 && about.uid !== own) return false;
    if (about?.isSymbolicLink() === true) {
      if (!isOwn(realpathSync(at))) return false;
    } else if (about !== undefined) {
      const isShared = (about.mode & 0o020) !== 0 && about.gid !== 0 && about.gid !== about.uid;
      const isSticky = (about.mode & 0o1000) !== 0 && at !== directory;
      if (((about.mode & 0o002) !== 0 || isShared) && !isSticky) return false;
    }
    if (at === '/') return true;
  }
}

/** The same where it is for this user alone to write: what is there is believed, and run. */
export function ownCacheDirectory(environment: Readonly<Record<string, string | undefined>>): string | undefined {
  const directory = cacheDirectory(environment);
  try {
    return directory !== undefined && isOwn(directory) ? directory : undefined;
  } catch {
    return undefined; // It is not to be seen, or a link that leads nowhere.
  }
}

function signature(root: string, paths: readonly string[]): string {
  const lines = paths.map((path) => {
    const about = statSync(join(root, path), { bigint: true, throwIfNoEntry: false });
    if (about === undefined) throw damaged(join(root, path));
    return `${path} ${about.size} ${about.mtimeNs} ${about.ctimeNs} ${about.dev}:${about.ino}\n`;
  });
  return `${root}\n${lines.join('')}`;
}

function readNote(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined; // None that can be read: everything is checked.
  }
}

function writeNote(path: string, text: string): void {
  const temporary = `${path}.${process.pid}.new`;
  try {
    makeDirectory(dirname(path));
    writeFileSync(temporary, text, { mode: 0o600 });
    renameSync(temporary, path);
  } catch {
    // Without a note the next start checks again.
  }
}

function checkFiles(root: string, files: readonly (readonly [string, string])[]): void {
  const { createHash } = process.getBuiltinModule('node:crypto');
  for (const [path, digest] of files) {
    const found = createHash('sha256')
      .update(readFileSync(join(root, path)))
      .digest('hex');
    if (found !== digest) throw damaged(join(root, path));
  }
}

/** With their digests. */
function filesOf(part: InstalledPart, build: Build): readonly (readonly [string, string])[] {
  const isIn = ([path]: readonly [string, string]) =>
    prefixes[part].some((prefix) => path.startsWith(prefix)) && !path.includes(otherMachine);
  return Object.entries(build.files).filter(isIn);
}

/** Whether this is a package; EIO where a file of the part is not what was packaged, ENOTSUP where Node is too old for it. */
export function checkInstallation(
  part: InstalledPart,
  environment: Readonly<Record<string, string | undefined>> = process.env,
  root = installationRoot(),
): boolean {
  refuseOldNode();
  const build = installedBuild(root);
  if (build === undefined) return false;
  const files = filesOf(part, build);
  const now = `${build.commit}\n${signature(
    root,
    files.map(([path]) => path),
  )}`;
  const directory = ownCacheDirectory(environment);
  const note =
    directory && join(directory, `checked-${part.replace(' ', '-')}${root.replaceAll('/', '%').slice(-150)}`);
  if (note !== undefined && readNote(note) === now) return true;
  checkFiles(root, files);
  if (note !== undefined) writeNote(note, now);
  return true;
}

/**
 * For a process that stays, and starts programs of the installation later: checked now, and the answer says whether everything is
 * as it was then. Always true in a checkout.
 */
export function watchInstallation(part: InstalledPart, root = installationRoot()): () => boolean {
  const build = checkInstallation(part, process.env, root) ? installedBuild(root) : undefined;
  if (build === undefined) return () => true;
  const paths = filesOf(part, build).map(([path]) => path);
  const checked = signature(root, paths);
  return () => {
    try {
      return signature(root, paths) === checked;
    } catch {
      return false; // one is gone
    }
  };
}
