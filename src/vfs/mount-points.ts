/** The directories that the mounts of a table are on: made where they are not there, so that listings show them. */
import { ErrnoError } from '../base/errno.js';
import { ask, type Steps } from './answer.js';
import { type MountTable, pathOf, type TableMount } from './mount-table.js';
import { textFromName } from './names.js';
import { resolve } from './resolve.js';

/** ENOENT, ENOTDIR where one is missing and cannot be made. */
export function* makeMountPoints(table: MountTable): Steps<void> {
  for (const mount of [...table.mounts].sort((one, other) => one.path.length - other.path.length)) {
    yield* mountPoint(table, mount);
  }
}

function* mountPoint(table: MountTable, { path }: TableMount): Steps<void> {
  for (let depth = 1; depth <= path.length; depth += 1) {
    const at = path.slice(0, depth);
    if (table.at(at) !== undefined && depth < path.length) continue;
    const parent = yield* resolve(table, pathOf(at.slice(0, -1)), { follow: false });
    const { found } = parent;
    const name = at.at(-1) ?? '';
    if (found === undefined) return;
    const { filesystem } = found.mount;
    const there = yield* ask(filesystem.lookup(found.attributes.inode, name));
    if (there?.kind === 'directory') continue;
    if (there !== undefined || !filesystem.capabilities.writable) {
      throw new ErrnoError(there === undefined ? 'ENOENT' : 'ENOTDIR', {
        operation: 'mount',
        path: textFromName(pathOf(at)),
        reason: `expected a directory to mount on in ${filesystem.label}`,
        remedy: there === undefined ? 'make it there, or open that tree as writable' : undefined,
      });
    }
    const { uid, gid } = found.attributes;
    yield* ask(filesystem.mkdir(found.attributes.inode, name, { mode: 0o755, uid, gid }));
  }
}
