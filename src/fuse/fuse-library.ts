/** `native/fuse.node`: what serving FUSE needs of the kernel. It loads no other module of Node's. */
import { createRequire } from 'node:module';

export interface FuseLibrary {
  pair(): readonly [ours: number, theirs: number] | number;
  /** With as many bytes as `about` has, where it is given. */
  receive(socket: number, about?: Buffer): number;
  /** A socket that listens at this path; a number below 0 is a negative errno. */
  listen(path: string): number;
  wait(descriptor: number, milliseconds: number): number;
  /** From Node's event loop; what is returned ends it, before the descriptor is closed. A number is a negative errno. */
  watch(descriptor: number, readable: () => void): (() => void) | number;
}

export function fuseLibrary(path: string): FuseLibrary {
  return createRequire(import.meta.url)(path) as FuseLibrary;
}
