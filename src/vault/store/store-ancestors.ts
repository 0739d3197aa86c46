/**
 * Who may write a directory above the store may put another store in its place, as sshd fears for its keys
 * (StrictModes): every directory above has to be root's or the person's own, and writable by no one else, unless it is
 * sticky.
 */
import { readFileSync, type Stats, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname } from 'node:path';
import { realPath } from '../../base/canonical-path.js';
import { ErrnoError } from '../../base/errno.js';
import { shellWord } from '../../base/visible-text.js';

/** Where distributions give each user a group of their own, they let it write: it has the user's name or number. */
function isOwnGroup({ uid, gid }: Pick<Stats, 'uid' | 'gid'>): boolean {
  if (gid === uid) return true;
  try {
    const group = readFileSync('/etc/group', 'utf8')
      .split('\n')
      .find((line) => line.split(':')[2] === String(gid));
    const [name, , , members = ''] = group?.split(':') ?? [];
    const own = userInfo().username;
    return name === own && members.split(',').every((member) => member === '' || member === own);
  } catch {
    return false;
  }
}

/**
 * What belongs to no one of this user namespace belongs to the process that made the namespace, and is as good as
 * root's.
 */
function isUnmapped(uid: number): boolean {
  try {
    const everybody = /^\s*0\s+0\s+4294967295\s*$/.test(readFileSync('/proc/self/uid_map', 'utf8'));
    return !everybody && uid === Number(readFileSync('/proc/sys/kernel/overflowuid', 'utf8'));
  } catch {
    return false;
  }
}

function existingAncestor(place: string): string {
  for (let at = dirname(place); ; at = dirname(at)) {
    if (at === '/' || statSync(at, { throwIfNoEntry: false }) !== undefined) return realPath(at);
  }
}

/** `place` is canonical, or nothing is there yet. */
export function refuseOpenAncestors(place: string, uid: number): void {
  for (let at = existingAncestor(place); ; at = dirname(at)) {
    const about = statSync(at);
    const isTheirs = about.uid !== 0 && about.uid !== uid && !isUnmapped(about.uid);
    const isSticky = (about.mode & 0o1000) !== 0;
    const isOpen = (about.mode & 0o002) !== 0 || ((about.mode & 0o020) !== 0 && about.gid !== 0 && !isOwnGroup(about));
    if (isTheirs || (isOpen && !isSticky)) throw refusal(place, at, about, isTheirs);
    if (at === '/') return;
  }
}

function refusal(place: string, at: string, { uid, mode }: Stats, isTheirs: boolean): ErrnoError {
  return new ErrnoError('EACCES', {
    operation: 'open',
    path: place,
    reason: isTheirs
      ? `another user (uid ${uid}) owns ${at} above it, and could put other files in its place`
      : `others may write ${at} above it (mode ${(mode & 0o7777).toString(8)}), and could put other files in its place`,
    remedy: isTheirs
      ? 'set CTX_DATA, CTX_ROOT or XDG_CONFIG_HOME to a place below directories of your own'
      : `chmod go-w ${shellWord(at)}, or set CTX_DATA, CTX_ROOT or XDG_CONFIG_HOME to another place`,
  });
}
