/** Mounted trees against the machine's own filesystem: a list of calls, and files written at random. Longer with `npm run soak`. */
import assert from 'node:assert/strict';
import {
  closeSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { forEachMountUser } from '../support/mount-users.js';
import { start } from '../support/process.js';
import { ctxProgramFor } from '../support/program.js';
import { randomFrom, testSeed } from '../support/random.js';
import { own, scratch } from './engines.js';
import { calls, outcome } from './posix-calls.js';

const isSoak = process.env['CTX_SOAK'] === '1';
/** Of each engine. */
const fsxMilliseconds = isSoak ? 600_000 : 700;

const kinds = {
  memory: () => 'memory:',
  chunked: (place: string) => `chunked:${join(place, 'store')}`,
  overlay: (place: string) => {
    mkdirSync(join(place, 'lower'));
    const table = '[mount."/"]\nupper = "chunked:upper"\nlower = "host:lower"\n';
    writeFileSync(join(place, 'vfs.toml'), table);
    return join(place, 'vfs.toml');
  },
  host: (place: string) => {
    mkdirSync(join(place, 'shown'));
    return `host:${join(place, 'shown')}`;
  },
} as const;

/** As fsx does: one file, changed at random, and held against what it has to be. */
function playFsx(path: string, seed: number, milliseconds: number): number {
  const random = randomFrom(seed);
  const most = 200_000;
  const below = (limit: number) => Math.floor(random() * limit);
  let expected = Buffer.alloc(0);
  let descriptor = openSync(path, 'w+');
  let done = 0;
  const compare = (from: number, length: number) => {
    const bytes = Buffer.alloc(length);
    const count = readSync(descriptor, bytes, 0, length, from);
    const wanted = expected.subarray(from, from + length);
    const what = `seed ${seed}, operation ${done}: ${length} bytes at ${from} of ${expected.length}`;
    assert.equal(count, wanted.length, what);
    assert.ok(bytes.subarray(0, count).equals(wanted), what);
  };
  const resized = (size: number) => {
    const bytes = Buffer.alloc(size);
    expected.copy(bytes, 0, 0, size);
    expected = bytes;
  };
  try {
    for (const end = Date.now() + milliseconds; Date.now() < end; done += 1) {
      const choice = random();
      if (choice < 0.4) {
        const [from, bytes] = [below(most), Buffer.alloc(1 + below(40_000), 1 + below(255))];
        assert.equal(writeSync(descriptor, bytes, 0, bytes.length, from), bytes.length);
        if (from + bytes.length > expected.length) resized(from + bytes.length);
        bytes.copy(expected, from);
      } else if (choice < 0.75) compare(below(expected.length + 1_000), 1 + below(60_000));
      else if (choice < 0.88) {
        const size = below(most);
        ftruncateSync(descriptor, size);
        resized(size);
      } else if (choice < 0.92) fsyncSync(descriptor);
      else if (choice < 0.96) {
        closeSync(descriptor);
        descriptor = openSync(path, 'r+');
      } else assert.equal(fstatSync(descriptor).size, expected.length);
    }
    compare(0, expected.length + 1);
    assert.ok(readFileSync(path).equals(expected));
    return done;
  } finally {
    closeSync(descriptor);
  }
}

forEachMountUser('a mount and the filesystem of this machine', (user) => {
  // The calls are this process's own, so the mount has to be, too.
  const skip = user.uid === own.uid ? {} : { skip: 'the calls are made by the user of the tests' };
  const place = scratch();
  let program = '';
  before(() => {
    program = ctxProgramFor(user, place.path);
  });
  after(() => place.remove());

  for (const [kind, specification] of Object.entries(kinds)) {
    test(
      `${kind}: every call answers as there, and a file that is written at random is what it has to be`,
      skip,
      async () => {
        const home = join(place.path, kind);
        const [at, native] = [join(home, 'at'), join(home, 'native')];
        for (const path of [home, at, native]) mkdirSync(path);
        const ctx = async (...words: readonly string[]) => {
          const { code, stderr } = await start([program, 'vfs', ...words], { cwd: home }).finished;
          assert.equal(code, 0, stderr);
        };
        await ctx('mount', specification(home), at, '--writable');
        try {
          const wrong: string[] = [];
          for (const [sentence, act] of Object.entries(calls)) {
            const [expected, found] = [native, at].map((root) => {
              const directory = join(root, String(Object.keys(calls).indexOf(sentence)));
              mkdirSync(directory);
              return JSON.stringify(outcome(() => act(directory)));
            });
            if (expected !== found) wrong.push(`${sentence}: expected ${expected}, got ${found}`);
          }
          assert.deepEqual(wrong, []);
          const played = playFsx(join(at, 'fsx'), testSeed, fsxMilliseconds);
          assert.ok(played > 20, `${played} operations`);
        } finally {
          await ctx('unmount', at);
        }
        if (kind === 'chunked') await ctx('check', specification(home));
      },
    );
  }
});
