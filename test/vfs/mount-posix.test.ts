/**
 * Mounted trees against the machine's own filesystem: a list of calls, files written at random, and random calls.
 * Longer with `npm run soak`.
 */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { forEachMountUser } from '../support/mount-users.js';
import { start } from '../support/process.js';
import { checkout, ctxProgramFor } from '../support/program.js';
import { testSeed } from '../support/random.js';
import { own, scratch } from './engines.js';
import { calls, outcome } from './posix-calls.js';

const isSoak = process.env['CTX_SOAK'] === '1';
/** Of each engine. */
const fsxSeconds = isSoak ? 600 : 0.7;
const fsx = join(checkout, 'test', 'vfs', 'fsx.py');
const sideBySide = join(checkout, 'test', 'vfs', 'side-by-side.py');
/** Of each engine, what it does not have of what a disk has: docs/vfs.md says so. */
const without: Readonly<Record<string, readonly string[]>> = {
  host: ['attributes', 'room', 'exchange', 'pipes', 'stale'],
  overlay: ['stale'],
};

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
          const words = [join(at, 'fsx'), String(testSeed), String(fsxSeconds)];
          const played = await start(['python3', fsx, ...words], { timeoutSeconds: fsxSeconds + 120 }).finished;
          assert.equal(played.code, 0, played.stdout + played.stderr);
          assert.ok(Number(played.stdout) > 20, `${played.stdout} operations`);
          const places = [native, at].map((root) => join(root, 'beside'));
          for (const path of places) mkdirSync(path);
          const compared = await start(
            ['python3', sideBySide, ...places, String(testSeed), String(fsxSeconds), ...(without[kind] ?? [])],
            { timeoutSeconds: fsxSeconds + 120 },
          ).finished;
          assert.equal(compared.code, 0, compared.stdout + compared.stderr);
        } finally {
          await ctx('unmount', at);
        }
        if (kind === 'chunked') await ctx('check', specification(home));
      },
    );
  }
});
