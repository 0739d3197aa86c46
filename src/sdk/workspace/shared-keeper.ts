/**
 * The process that keeps all kept jails of a user: where it is found, and who may ask it. There is one for each set of what a process
 * hands on to those that it starts (rights, limits, namespaces, control group, umask), of what Node reads at its start, and of the
 * places of ctx: a caller would have started a jail that is the same in all of that, and gets nothing from those that asked before.
 */
import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readdirSync, readFileSync, rmSync, statfsSync, statSync } from 'node:fs';
import type { Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { hasCode } from '../../base/errno.js';
import { loadFileLock } from '../../base/file-lock.js';
import { makeDirectory } from '../../base/make-directory.js';
import { loadKeeperLibrary } from '../../keeper/keeper-library.js';
import { differenceOf, readProcessTraits } from '../../keeper/process-traits.js';
import { startVariables } from '../../keeper/served-calls.js';
import { type KeptJailPlace, placeIn } from '../../kept-jail/jail-place.js';
import { withSocketPath } from '../../kept-jail/keep-jail.js';
import { loadPeers } from '../../kept-jail/peer.js';
import type { Host } from '../../proxy/host.js';
import { storePaths } from '../../vault/store/layout.js';
import { placeVariables } from '../../vault/store/store-place.js';

export { withSocketPath };

type Environment = Host['environment'];

export interface KeeperSpot extends KeptJailPlace {
  readonly key: string;
  /** Held for as long as it answers. */
  readonly lock: string;
}

/** For programs of the system that it starts: not that of its starter. */
const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Of the variables of its starter, those that it is started with: the same for all that ask it. */
export function keeperEnvironment(environment: Environment): Record<string, string> {
  const kept = Object.entries(environment).filter(
    ([name, value = '']) =>
      (placeVariables as readonly string[]).includes(name) || startVariables([`${name}=${value}`]) !== '',
  );
  const given = Object.fromEntries(kept.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
  return { ...given, PATH: systemPath };
}

function keyFor(host: Host, build: string): string {
  const { priority } = loadKeeperLibrary(join(dirname(host.jailProgram), 'keeper.node'));
  const { dev, ino } = statSync('/proc/self/exe', { bigint: true });
  const variables = Object.entries(keeperEnvironment(process.env)).map(([name, value]) => `${name}=${value}`);
  const traits = [...readProcessTraits('self', priority(0))].map(([name, text]) => `${name}: ${text}`);
  const personality = readFileSync('/proc/self/personality', 'utf8');
  const parts = [build, `${dev}:${ino}`, ...process.execArgv, personality, ...variables.sort(), ...traits.sort()];
  return createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 16);
}

/** Of a process with the rights and the environment of this one. */
export function keeperSpot(host: Host, build: string): KeeperSpot {
  const key = keyFor(host, build);
  const place = placeIn(join(storePaths(host.store.directory).keptJails, 'shared'), key);
  makeDirectory(place.directory);
  return { ...place, key, lock: join(place.directory, `${key}.lock`) };
}

/** Of a lock that was removed when it was given back another process may have made a new one. */
function isStillAt(path: string, descriptor: number): boolean {
  const [there, here] = [statSync(path, { throwIfNoEntry: false }), fstatSync(descriptor)];
  return there?.ino === here.ino && there.dev === here.dev;
}

/** Returns what gives the place back; undefined where another process has it. */
export function takeKeeperSpot({ lockLibrary }: Host, { lock, complaints }: KeeperSpot): (() => void) | undefined {
  const descriptor = openSync(lock, 'a', 0o600);
  try {
    loadFileLock(lockLibrary, 0, 'place of the process that keeps jails').hold(descriptor, lock);
    if (isStillAt(lock, descriptor)) {
      return () => {
        for (const path of [lock, complaints]) rmSync(path, { force: true });
        closeSync(descriptor);
      };
    }
    closeSync(descriptor);
    return undefined;
  } catch (error) {
    closeSync(descriptor);
    if (hasCode(error, 'EAGAIN')) return undefined;
    throw error;
  }
}

/** Whether the process at the other end would have started this one as it is, by what the kernel says. */
export function likeOurselves(host: Host): (socket: Socket) => boolean {
  const directory = dirname(host.jailProgram);
  const { isOwn, processAt } = loadPeers(join(directory, 'peer.node'));
  const { priority } = loadKeeperLibrary(join(directory, 'keeper.node'));
  return (socket) => {
    const peer = processAt(socket);
    if (!isOwn(socket) || peer === 0) return false;
    const own = readProcessTraits('self', priority(0));
    return differenceOf(own, readProcessTraits(peer, priority(peer))) === undefined;
  };
}

/** By the kernel's numbers for them: on others a call may wait for a server that does not answer, and all kept jails with it. */
const localFilesystems: ReadonlySet<number> = new Set([
  ...[0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x2fc12fc1, 0xca451a4e], // ext, xfs, btrfs, f2fs, zfs, bcachefs
  ...[0x01021994, 0x858458f6, 0x794c7630, 0x73717368, 0xe0f5e1e2], // tmpfs, ramfs, overlay, squashfs, erofs
]);

/** Whether these answer by themselves. What is not there says nothing. */
export function areLocal(paths: readonly string[]): boolean {
  return paths.every((path) => {
    try {
      return localFilesystems.has(Number(statfsSync(path, { bigint: true }).type));
    } catch (error) {
      return hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR') || hasCode(error, 'EACCES');
    }
  });
}

/** So that no kept jail runs out of descriptors because of the others. */
export function hasRoomForAnother(): boolean {
  const [, soft = ''] = /^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
  return soft === 'unlimited' || readdirSync('/proc/self/fd').length < Number(soft) / 2;
}
