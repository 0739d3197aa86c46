/** Writes to a chunk store for ever, and says each number when it has been synced. It is there to be killed. */
import { writeSync } from 'node:fs';
import { chunkedFileSystem } from '../../src/vfs/engines/chunked/chunked.js';
import { directoryMode, fileMode, lockLibrary } from './engines.js';

const file = process.argv[2] ?? '';
const filesystem = await chunkedFileSystem({ file, writable: true, create: true, lockLibrary, root: directoryMode });
const both = { read: true, write: true };
/** A run that was killed may have made it or not. */
const forget = async (name: string) => {
  if ((await filesystem.lookup(filesystem.root, name)) !== undefined) await filesystem.rmdir(filesystem.root, name);
};
const started = Number(process.argv[3] ?? 0);
for (let number = started; ; number += 1) {
  const bytes = Buffer.alloc(1 + ((number * 7_919) % 150_000), number & 255);
  const stale = `new-${number}`;
  if ((await filesystem.lookup(filesystem.root, stale)) !== undefined) await filesystem.unlink(filesystem.root, stale);
  await forget(`d${number}`);
  const { handle } = await filesystem.create(filesystem.root, `new-${number}`, fileMode, both);
  await filesystem.write(handle, 0, bytes);
  await filesystem.rename(filesystem.root, `new-${number}`, filesystem.root, `f${number % 20}`, 'replace');
  await filesystem.setxattr(
    (await filesystem.getattr(filesystem.root)).inode,
    'user.last',
    Buffer.from(`${number}`),
    'any',
  );
  if (number % 3 === 0) await filesystem.mkdir(filesystem.root, `d${number}`, directoryMode);
  if (number % 3 === 1) await forget(`d${number - 1}`);
  await filesystem.fsync(handle);
  await filesystem.release(handle);
  writeSync(1, `${number}\n`);
}
