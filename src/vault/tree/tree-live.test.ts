/** What is put into the directory of a fork whose commands run: into the mount that one of them has, and no other. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { freshPlace, isRoot, tree } from './tree-fixture.js';

const { at, write } = freshPlace();

/** An overlay in a mount namespace of its own, as long as the process is there. */
async function hold(upper: string): Promise<ChildProcess | undefined> {
  for (const name of ['lower', upper, `${upper}-work`, 'mounted']) mkdirSync(at(name), { recursive: true });
  const options = `userxattr,lowerdir=lower,upperdir=${upper},workdir=${upper}-work`;
  const script = `cd "$0" && mount -t overlay -o "${options}" ctx-test mounted && echo ready && exec cat`;
  const child = spawn('unshare', ['-m', 'sh', '-c', script, at()], { stdio: ['pipe', 'pipe', 'ignore'] });
  const told = await Promise.race([once(child.stdout, 'data'), once(child, 'close')]);
  return String(told[0]) === 'ready\n' ? child : undefined;
}
async function end(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'close');
}

describe('the directory of a fork in use', {
  skip: isRoot ? false : 'only root may enter the mounts of others',
}, () => {
  it('is the one that a holder has mounted by that name, whoever of them has ended', async (context) => {
    const [one, other, gone] = [await hold('upper-one'), await hold('upper-other'), await hold('upper-gone')];
    if (one?.pid === undefined || other?.pid === undefined || gone?.pid === undefined)
      return context.skip('an overlay cannot be mounted here');
    try {
      await end(gone);
      write('layer/file', 'new');
      write('layer/seen', 'new');
      const put = (upper: string, holders: readonly number[]) =>
        tree.apply({
          uppers: [at('layer')],
          root: at('mounted'),
          plan: ['file', 'seen'].map((path) => ({ action: 'put', path }) as const),
          mounted: { upper, holders },
          expected: [at('lower')],
        });
      assert.deepEqual((await put('upper-one', [gone.pid, other.pid, one.pid])).clashes, []);
      assert.equal(readFileSync(at('upper-one/file'), 'utf8'), 'new');
      assert.equal(existsSync(at('upper-other/file')), false);
      assert.equal(existsSync(at('mounted/file')), false, 'not where nothing is mounted');
      for (const holders of [[], [gone.pid], [other.pid]])
        await assert.rejects(put('upper-one', holders), { code: 'ESRCH' }, holders.join());
      // What a command has written there since it was looked at stays, and is not moved away for a moment.
      writeFileSync(`/proc/${other.pid}/root${at('mounted/seen')}`, 'written');
      assert.deepEqual((await put('upper-other', [other.pid])).clashes, ['seen']);
      assert.equal(readFileSync(at('upper-other/seen'), 'utf8'), 'written');
      assert.equal(readFileSync(at('upper-other/file'), 'utf8'), 'new');
    } finally {
      for (const child of [one, other]) await end(child);
      spawnSync('rm', ['-rf', at('upper-one-work'), at('upper-other-work'), at('upper-gone-work')]);
    }
  });
});
