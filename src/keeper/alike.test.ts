import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { nativeProgram } from '../base/native-program.js';
import { loadKeeperLibrary } from './keeper-library.js';
import { comparedAtOnce, differenceOf, readProcessTraits } from './process-traits.js';

const library = loadKeeperLibrary(nativeProgram('keeper.node'));
const { fields, files, namespaces } = comparedAtOnce;
const isRoot = process.geteuid?.() === 0;

/** A process that was changed by these words of a shell, and waits. */
async function changedBy(words: string): Promise<ChildProcess> {
  const child = spawn('sh', ['-c', `${words} sh -c 'echo; exec cat'`], { stdio: ['pipe', 'pipe', 'inherit'] });
  await new Promise((resolve) => child.stdout.once('data', resolve));
  return child;
}

async function withChanged(words: string, look: (one: number, other: number) => void, first = 'exec'): Promise<void> {
  const [one, other] = await Promise.all([changedBy(first), changedBy(words)]);
  try {
    look(one.pid as number, other.pid as number);
  } finally {
    for (const child of [one, other]) child.kill('SIGKILL');
  }
}

/** A host may keep root, too, from a real-time priority. */
const mayBe = (...all: readonly string[]) =>
  all.every((words) => {
    // It says nothing where it changes nothing.
    if (words.includes('--bounding-set') && !isRoot) return false;
    return spawnSync('sh', ['-c', `${words} true`]).status === 0;
  });

const alike = (one: number, other: number) => library.alike(one, other, fields, files, namespaces);
const looked = (one: number, other: number) =>
  differenceOf(readProcessTraits(one, library.priority(one)), readProcessTraits(other, library.priority(other)));

describe('two processes, compared at once', () => {
  for (const words of ['exec', 'ulimit -S -n 64; exec']) {
    it(`are alike where nothing counts that differs (${words})`, () =>
      withChanged(words, (one, other) => {
        assert.equal(looked(one, other), undefined);
        assert.equal(alike(one, other), 1);
      }));
  }

  const changes = [
    'umask 0137; exec',
    'ulimit -s 7000; exec',
    'ulimit -n 99; exec',
    'exec nice -n 3',
    'exec ionice -c 3',
  ];
  const ofRoot = [
    'exec setpriv --reuid 12345',
    'exec setpriv --no-new-privs',
    'exec unshare --uts',
    'exec unshare --user',
  ];
  for (const words of [...changes, ...ofRoot]) {
    it(`are not where one was changed (${words})`, { skip: ofRoot.includes(words) && !isRoot && 'needs root' }, () =>
      withChanged(words, (one, other) => {
        assert.notEqual(looked(one, other), undefined);
        assert.equal(alike(one, other), 0);
      }),
    );
  }

  // Each of what is said of their scheduling alone: of the first two the policy is the same.
  for (const [first, words] of [
    ['exec nice -n 1', 'exec nice -n 2'],
    ['exec chrt -r 5', 'exec chrt -r 6'],
    ['exec chrt -r 5', 'exec chrt -f 5'],
    ['exec', 'exec chrt -b 0'],
    ['exec setpriv --groups 1,2', 'exec setpriv --groups 1,3'],
    ['exec setpriv --bounding-set -sys_boot', 'exec setpriv --bounding-set -sys_time'],
  ] as const) {
    it(
      `are not where each was changed (${first}; ${words})`,
      { skip: !mayBe(first, words) && 'this user may not change it here' },
      () =>
        withChanged(
          words,
          (one, other) => {
            assert.notEqual(looked(one, other), undefined);
            assert.equal(alike(one, other), 0);
          },
          first,
        ),
    );
  }

  it('are not where one has another root, and all else is the same', { skip: !isRoot && 'needs root' }, async () => {
    const program = "import os, sys; os.chroot(sys.argv[1]); os.chdir('/'); print(flush=True); sys.stdin.read()";
    const children = await Promise.all(
      ['/', '/usr', '/usr'].map(async (root) => {
        const child = spawn('python3', ['-c', program, root], { stdio: ['pipe', 'pipe', 'inherit'] });
        await new Promise((resolve) => child.stdout.once('data', resolve));
        return child;
      }),
    );
    try {
      const [whole, inside, beside] = children.map(({ pid }) => pid as number) as [number, number, number];
      assert.equal(looked(whole, inside), 'root');
      assert.deepEqual([alike(whole, inside), alike(inside, whole), alike(inside, beside)], [0, 0, 1]);
    } finally {
      for (const child of children) child.kill('SIGKILL');
    }
  });

  it('are not where nothing is to be seen, or names have no room', () =>
    withChanged('exec', (one, other) => {
      assert.equal(library.alike(one, 2 ** 30, fields, files, namespaces), 0);
      assert.equal(library.alike(one, other, ' None ', files, namespaces), 0);
      assert.equal(library.alike(one, other, fields, files, ''), 0);
      assert.equal(library.alike(one, other, `${fields}${'x'.repeat(2000)} `, files, namespaces), 0);
    }));
});
