/** Where kept jails are announced: STORE/jail/KEY/FORK.socket, with FORK.json beside it. native/call looks in the same place. */
import { join } from 'node:path';
import { encodePath } from '../base/path-bytes.js';
import { storePaths } from '../vault/store/layout.js';

const offsetBasis = 0xcbf29ce484222325n;
const prime = 0x100000001b3n;

/** FNV-1a of the workspace's path: short, and the same few lines in C. Two paths of one key do no harm, see native/call. */
function originKey(origin: string): string {
  let hash = offsetBasis;
  for (const byte of encodePath(origin)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * prime);
  return hash.toString(16).padStart(16, '0');
}

export interface KeptJailPlace {
  readonly directory: string;
  readonly socketName: string;
  readonly socket: string;
  /** Who keeps it. */
  readonly facts: string;
  /** What the process that keeps it writes to its stderr. */
  readonly complaints: string;
}

export function placeIn(directory: string, fork: string): KeptJailPlace {
  const socketName = `${fork}.socket`;
  return {
    directory,
    socketName,
    socket: join(directory, socketName),
    facts: join(directory, `${fork}.json`),
    complaints: join(directory, `${fork}.log`),
  };
}

export function keptJailPlace(store: string, origin: string, fork: string): KeptJailPlace {
  return placeIn(join(storePaths(store).keptJails, originKey(origin)), fork);
}
