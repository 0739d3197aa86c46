/** Who is at the other end of a unix socket: `native/peer.node`, since Node does not say. */
import type { Socket } from 'node:net';
import { ErrnoError } from '../base/errno.js';
import { installAgain } from '../base/native-program.js';

interface Library {
  /** 0 where it is this process's own user and groups, else an errno. */
  isSelf(descriptor: number): number;
  /** 0 where it is not known. */
  processAt(descriptor: number): number;
}

export interface Peers {
  /** True for a process of our own user and groups alone. */
  isOwn(socket: Socket): boolean;
  /** The process that connected; 0 where it is not known. */
  processAt(socket: Socket): number;
}

/** Node has the descriptor and does not type it. Without one the caller is not known. */
function descriptorOf(socket: Socket): number {
  const { _handle } = socket as unknown as { readonly _handle?: { readonly fd?: unknown } | null };
  return typeof _handle?.fd === 'number' ? _handle.fd : -1;
}

export function loadPeers(library: string): Peers {
  const module = { exports: {} as Library };
  try {
    process.dlopen(module, library);
  } catch (cause) {
    throw new ErrnoError('ENOSYS', {
      operation: 'jail start',
      path: library,
      reason: 'the library that identifies callers is missing',
      remedy: installAgain,
      cause,
    });
  }
  return {
    isOwn: (socket) => module.exports.isSelf(descriptorOf(socket)) === 0,
    processAt: (socket) => module.exports.processAt(descriptorOf(socket)),
  };
}
