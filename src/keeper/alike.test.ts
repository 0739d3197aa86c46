import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
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

async function withChanged(words: string, look: (one: number, other: number) => void): Promise<void> {
  const [one, other] = await Promise.all([changedBy('exec'), changedBy(words)]);
  try {
    look(one.pid as number, other.pid as number);
  } finally {
    for (const child of [one, other]) child.kill('SIGKILL');
  }
}

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

  const changes = ['umask 0137; exec', 'ulimit -c 7; exec', 'ulimit -n 99; exec', 'exec nice -n 3', 'exec ionice -c 3'];
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

  it('are not where nothing is to be seen, or names have no room', () =>
    withChanged('exec', (one, other) => {
      assert.equal(library.alike(one, 2 ** 30, fields, files, namespaces), 0);
      assert.equal(library.alike(one, other, ' None ', files, namespaces), 0);
      assert.equal(library.alike(one, other, fields, files, ''), 0);
      assert.equal(library.alike(one, other, `${fields}${'x'.repeat(2000)} `, files, namespaces), 0);
    }));
});
