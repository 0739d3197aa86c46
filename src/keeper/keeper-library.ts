/** `native/keeper.node`: what a keeper needs of the kernel. Its own file says what each function does. */
import { ErrnoError } from '../base/errno.js';
import { installAgain } from '../base/native-program.js';

export interface KeeperLibrary {
  hold(descriptor: number): number;
  listen(directory: number, name: string): number;
  close(): number;
  next(bytes: Buffer, milliseconds: number): number;
  refuse(): number;
  make(): number;
  drop(): number;
  give(): number;
  await(bytes: Buffer): number;
  become(bytes: Buffer, from: number, to: number): number;
  terminal(): number;
  typed(): number;
  running(): number;
  followed(): number;
  priority(process: number): number;
  alike(process: number, other: number, fields: string, files: string, namespaces: string): number;
  expectPages(): number;
  learnPages(): number;
  try(): number;
  tried(process: number, milliseconds: number): number;
  end(code: number): never;
  endWhenIdle(code: number): number;
}

export function loadKeeperLibrary(path: string): KeeperLibrary {
  const module = { exports: {} as KeeperLibrary };
  try {
    process.dlopen(module, path);
  } catch (cause) {
    throw new ErrnoError('ENOSYS', {
      operation: 'start a keeper',
      path,
      reason: 'the library that copies a process cannot be loaded',
      remedy: installAgain,
      cause,
    });
  }
  return module.exports;
}
