/**
 * A host tree whose directory a second thread swaps for a link that leads out, during the calls: nothing outside is read, listed or
 * changed. The same calls by path, without the engine, do reach it. `npm run soak` makes a million of them.
 */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { ErrnoError } from '../../src/base/errno.js';
import { hostFileSystem } from '../../src/vfs/engines/host/host.js';
import type { FileSystem, Inode } from '../../src/vfs/filesystem.js';
import { hasSoakTime, randomFrom, testSeed } from '../support/random.js';
import { directoryMode, fileMode, scratch } from './engines.js';

const isSoak = process.env['CTX_SOAK'] === '1';
const tries = isSoak ? 1_000_000 : 10_000;

/** `d` is the directory half of the time, and a link to what is outside the other half. */
const swapper = `
  const { renameSync } = require('node:fs');
  const { workerData: { root, stop } } = require('node:worker_threads');
  const at = (name) => root + '/' + name;
  while (Atomics.load(stop, 0) === 0) {
    renameSync(at('d'), at('aside'));
    renameSync(at('link'), at('d'));
    renameSync(at('d'), at('link'));
    renameSync(at('aside'), at('d'));
    Atomics.add(stop, 1, 1);
  }
`;

describe('a host tree whose directory is swapped for a link meanwhile', () => {
  const place = scratch();
  const root = join(place.path, 'root');
  const outside = join(place.path, 'outside');
  const stop = new Int32Array(new SharedArrayBuffer(8));
  let swapping: Promise<void> | undefined;

  before(() => {
    mkdirSync(join(root, 'd', 'deep'), { recursive: true });
    mkdirSync(join(outside, 'deep'), { recursive: true });
    for (const [directory, text] of [
      [join(root, 'd'), 'inside'],
      [outside, 'OUTSIDE'],
    ] as const) {
      writeFileSync(join(directory, 'f'), text);
      writeFileSync(join(directory, 'deep', 'f'), text);
    }
    symlinkSync(outside, join(root, 'link'));
    const worker = new Worker(swapper, { eval: true, workerData: { root, stop } });
    swapping = new Promise((resolve, reject) => {
      worker.once('error', reject);
      worker.once('exit', () => resolve());
    });
  });
  after(async () => {
    Atomics.store(stop, 0, 1);
    await swapping;
    place.remove();
  });

  test('is left by calls with a path', () => {
    const seen = new Set<string>();
    for (let round = 0; round < 2_000_000 && !seen.has('OUTSIDE'); round += 1) {
      try {
        seen.add(readFileSync(join(root, 'd', 'f'), 'utf8'));
      } catch {
        // Neither is there in between.
      }
    }
    assert.ok(seen.has('OUTSIDE'), 'the attack is one');
  });

  test(`is not left by any of ${tries} calls of the engine`, (context) => {
    const filesystem = hostFileSystem({ path: root, writable: true });
    const random = randomFrom(testSeed);
    let [done, reached] = [0, 0];
    for (; done < tries && (!isSoak || hasSoakTime()); done += 1) {
      try {
        attempt(filesystem, Math.floor(random() * attempts.length));
        reached += 1;
      } catch (error) {
        if (!(error instanceof ErrnoError)) throw error;
        assert.match(error.code, /^(ENOENT|ESTALE|ENOTDIR|ELOOP|EEXIST|EINVAL)$/, error.message);
      }
    }
    filesystem.close();
    context.diagnostic(`${done} calls, ${reached} of them reached the directory, ${Atomics.load(stop, 1)} swaps`);
    assert.ok(reached > done / 1_000, 'some of the calls met the directory');
    assert.equal(readFileSync(join(outside, 'f'), 'utf8'), 'OUTSIDE');
    assert.equal(readFileSync(join(outside, 'deep', 'f'), 'utf8'), 'OUTSIDE');
    assert.deepEqual(readdirSync(outside, { recursive: true }).sort(), ['deep', 'deep/f', 'f']);
  });
});

function entered(filesystem: FileSystem, directory: Inode, name: string): Inode {
  const found = filesystem.lookup(directory, name);
  if (found instanceof Promise || found === undefined) throw new ErrnoError('ENOENT', { operation: 'x', reason: name });
  return found.inode;
}

type Attempt = (filesystem: FileSystem, directory: Inode) => void;

/** In `d`, whatever that is by then. */
const attempts: readonly Attempt[] = [
  (fs, d) => {
    const handle = fs.open(entered(fs, d, 'f'), { read: true, write: false }) as number;
    const text = String(fs.read(handle, 0, 100));
    fs.release(handle);
    assert.equal(text, 'inside');
  },
  (fs, d) => {
    const handle = fs.open(entered(fs, entered(fs, d, 'deep'), 'f'), { read: true, write: true }) as number;
    fs.write(handle, 0, Buffer.from('inside'));
    fs.release(handle);
  },
  (fs, d) => {
    const { handle } = fs.create(d, 'new', fileMode, { read: false, write: true }) as { handle: number };
    fs.write(handle, 0, Buffer.from('made'));
    fs.release(handle);
  },
  (fs, d) => fs.unlink(d, 'new'),
  (fs, d) => void fs.mkdir(d, 'made', directoryMode),
  (fs, d) => fs.rmdir(d, 'made'),
  (fs, d) => void fs.symlink(d, 'pointer', '/etc/passwd', fileMode),
  (fs, d) => {
    const pointer = entered(fs, d, 'pointer');
    assert.equal(fs.readlink(pointer), '/etc/passwd');
    fs.unlink(d, 'pointer');
  },
  (fs, d) => fs.rename(d, 'new', entered(fs, d, 'deep'), 'moved', 'keep'),
  (fs, d) => fs.rename(entered(fs, d, 'deep'), 'moved', d, 'new', 'replace'),
  (fs, d) => void fs.link(entered(fs, d, 'f'), d, 'second'),
  (fs, d) => fs.unlink(d, 'second'),
  (fs, d) => void fs.setattr(entered(fs, d, 'f'), { mode: 0o640, size: 6, modified: 1_600_000_000_000_000_001n }),
  (fs, d) => {
    const names = (fs.readdir(d) as readonly { name: string }[]).map(({ name }) => name);
    assert.ok(names.includes('f'));
  },
];

function attempt(filesystem: FileSystem, index: number): void {
  attempts[index]?.(filesystem, entered(filesystem, filesystem.root, 'd'));
}
