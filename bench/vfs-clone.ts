/**
 * A clone of a chunked tree takes the same time whatever the tree holds: 100 and 100,000 files, against `cp -a` of the smaller one.
 * Each clone is one transaction that is on the disk when it returns. `npm run bench -- vfs-clone 20000` for another number.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nativeProgram } from '../src/base/native-program.js';
import { openChunkedStore } from '../src/vfs/engines/chunked/chunked.js';
import { InodeFileSystem } from '../src/vfs/engines/inodes/inode-filesystem.js';
import { measure, print } from './measure.js';

const many = Number(process.argv.slice(2).find((word) => /^\d+$/.test(word)) ?? 100_000);
const few = 100;
const home = mkdtempSync(join(tmpdir(), 'ctx-bench-'));
const root = { mode: 0o755, uid: 0, gid: 0 };

async function filled(files: number) {
  const file = join(home, `store-${files}`);
  const opened = await openChunkedStore({
    file,
    writable: true,
    create: true,
    lockLibrary: nativeProgram('flock.node'),
    root,
  });
  const tree = new InodeFileSystem(opened.store, { label: file, writable: true, durable: true });
  let directory = tree.root;
  for (let index = 0; index < files; index += 1) {
    if (index % 100 === 0) directory = tree.mkdir(tree.root, `d${index}`, root).inode;
    const { handle } = tree.create(directory, `f${index}`, root, { read: true, write: true });
    tree.write(handle, 0, Buffer.from(`content of ${index % 1_000}`));
    tree.release(handle);
  }
  tree.sync();
  let clones = 0;
  return {
    name: `clone of ${files} files`,
    run: () => {
      clones += 1;
      opened.store.clone(`clone-${clones}`);
    },
    end: async () => {
      await opened.store.close();
      opened.release();
    },
  };
}

try {
  const copied = join(home, 'copied');
  mkdirSync(copied);
  for (let index = 0; index < few; index += 1) writeFileSync(join(copied, `f${index}`), `content of ${index}`);
  const [small, large] = [await filled(few), await filled(many)];
  const report = await measure({
    title: `a clone of a chunked tree of ${many} files, and of ${few}`,
    anchor: small.name,
    rounds: 25,
    directory: home,
    notes: ['each clone is synced to the disk'],
    subjects: [
      small,
      large,
      {
        name: `cp -a of ${few} files`,
        run: () => spawnSync('cp', ['-a', copied, join(home, 'copy')]),
        after: () => rmSync(join(home, 'copy'), { recursive: true, force: true }),
      },
    ],
  });
  print(report);
  await small.end();
  await large.end();
} finally {
  rmSync(home, { recursive: true, force: true });
}
