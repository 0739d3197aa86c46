/**
 * Serves a guarded tree in memory at argv[2] until its input ends: `f` in `/shown`, which a line on its input takes away. Says a word
 * for each. With `forgetful` in argv[3] the kernel is not notified of it: what a mount without that would do.
 */
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { mountPoint } from '../../src/fuse/mount.js';
import { serveAt } from '../../src/fuse/served-mount.js';
import { Guard } from '../../src/guard/guard.js';
import { guardedFileSystem } from '../../src/guard/guarded-filesystem.js';
import { memoryFileSystem } from '../../src/vfs/engines/memory/memory.js';
import type { FileSystem } from '../../src/vfs/filesystem.js';
import { directoryMode, fileMode } from './engines.js';

const [, , at = '', how] = process.argv;
const root = fileURLToPath(import.meta.url).split('/dist/')[0];
const memory = memoryFileSystem({ root: directoryMode });
const directory = (await memory.mkdir(memory.root, 'shown', directoryMode)).inode;
const { handle } = await memory.create(directory, 'f', fileMode, { read: true, write: true });
await memory.write(handle, 0, Buffer.from('secret\n'));
await memory.release(handle);

const guard = new Guard({ 'fs.read': ['/shown'] });
const guarded = guardedFileSystem(memory, guard);
const silent = (inner: FileSystem): FileSystem =>
  new Proxy(inner, {
    get: (target, member) =>
      member === 'invalidated' ? () => () => undefined : (Reflect.get(target, member, target) as unknown),
  });
const ending = new AbortController();
createInterface({ input: process.stdin })
  .on('line', () => void guard.grant({ 'fs.read': ['/elsewhere'] }).then(() => console.log('revoked')))
  .on('close', () => ending.abort());
await serveAt({
  directory: mountPoint(at),
  writable: false,
  library: `${root}/dist/native/fuse.node`,
  signal: ending.signal,
  shared: false,
  idleMilliseconds: 20,
  open: () => (how === 'forgetful' ? silent(guarded) : guarded),
  mounted: () => console.log('mounted'),
});
