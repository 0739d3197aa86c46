/**
 * Landlock rules of a jail: a second, independent wall inside the first. Whatever the mounts allow by mistake, only the
 * listed roots can be written. Pure.
 *
 * Landlock does not cover stat, chmod, chown, utime, xattrs or UDP: mounts, dropped capabilities and the network namespace do.
 */
import type { Operation } from './operation.js';

/** LANDLOCK_ACCESS_FS_*, in the order of their bits. */
const right = {
  execute: 1n << 0n,
  writeFile: 1n << 1n,
  readFile: 1n << 2n,
  readDirectory: 1n << 3n,
  all: (1n << 16n) - 1n,
  truncate: 1n << 14n,
  deviceRequest: 1n << 15n,
} as const;

const reading = right.execute | right.readFile | right.readDirectory;

/** Signals to, and abstract sockets of, processes that do not descend from the one that was restricted. */
export const ownProcessesAlone = 0b11;

export function landlockOperations(writable: readonly string[], scopes: number): readonly Operation[] {
  const rules: readonly (readonly [string, bigint])[] = [
    ['/', reading],
    ['/dev', reading | right.writeFile | right.truncate | right.deviceRequest],
    ['/proc', reading | right.writeFile | right.truncate],
    ...writable.map((path) => [path, right.all] as const),
  ];
  return [
    { do: 'landlock', rights: right.all, scopes },
    ...rules.map(([path, rights]): Operation => ({ do: 'landlock rule', path, rights })),
  ];
}
