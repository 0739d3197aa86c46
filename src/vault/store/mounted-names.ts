/** Other names of a directory: the same one can be reached where its file system, or a part of it, is mounted once more (`mount --bind`). */
import { statSync } from 'node:fs';
import { posix } from 'node:path';

interface MountLine {
  readonly device: string;
  /** What of the file system is mounted. */
  readonly root: string;
  readonly at: string;
}

/** The kernel writes blank, tab, newline and backslash as octal numbers. */
function unescaped(field: string): string {
  return field.replace(/\\([0-7]{3})/g, (_match, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

/** Of `/proc/self/mountinfo`, whose bytes are characters here. */
function mountLines(mountinfo: string): readonly MountLine[] {
  return mountinfo.split('\n').flatMap((line) => {
    const [, , device, root, at] = line.split(' ');
    return device === undefined || root === undefined || at === undefined
      ? []
      : [{ device, root: unescaped(root), at: unescaped(at) }];
  });
}

const holds = (directory: string, path: string) =>
  directory === '/' || path === directory || path.startsWith(`${directory}/`);
const moved = (path: string, from: string, to: string) => posix.join(to, posix.relative(from, path));

export interface OtherName {
  readonly name: string;
  /** What is there, by the name that is known. */
  readonly of: string;
}

/** What `path`, or a part of it, may be reached by besides. Each is to be looked at: something else may be mounted over it. Pure. */
export function namesByMounts(path: string, mountinfo: string): readonly OtherName[] {
  const mounts = mountLines(mountinfo);
  // The last one that is mounted at the longest path is the one that is seen.
  const seen = mounts
    .filter(({ at }) => holds(at, path))
    .reduce<MountLine | undefined>(
      (longest, mount) => (longest !== undefined && longest.at.length > mount.at.length ? longest : mount),
      undefined,
    );
  if (seen === undefined) return [];
  const within = moved(path, seen.at, seen.root);
  return mounts
    .filter(({ device }) => device === seen.device)
    .flatMap(({ root, at }): OtherName[] => {
      if (holds(root, within)) return [{ name: moved(within, root, at), of: path }];
      return holds(within, root) ? [{ name: at, of: moved(root, within, path) }] : [];
    })
    .filter(({ name }) => !holds(path, name));
}

function identityAt(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    // Not there, or not ours to see.
    return undefined;
  }
}

/** Those of several directories, as they are now. */
export function otherNames(paths: readonly string[], mountinfo: string): readonly string[] {
  const names = paths
    .flatMap((path) => namesByMounts(Buffer.from(path).toString('latin1'), mountinfo))
    .map(({ name, of }) => [name, of].map((text) => Buffer.from(text, 'latin1').toString()) as [string, string]);
  const same = names.filter(([name, of]) => identityAt(name) !== undefined && identityAt(name) === identityAt(of));
  return [...new Set(same.map(([name]) => name))];
}
