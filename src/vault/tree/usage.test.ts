import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, linkSync, mkdirSync, readdirSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../../test/support/process.js';
import { freshPlace, program } from './tree-fixture.js';
import { type TreeUsage, watchUsage } from './usage.js';

const place = freshPlace();

/** An empty directory of the test's own. */
function directory(name = 'root'): string {
  mkdirSync(place.at(name));
  return place.at(name);
}

async function look(...roots: string[]): Promise<TreeUsage> {
  const watch = watchUsage({ program, roots, onUsage: () => undefined, onLost: assert.fail });
  const usage = await watch.first;
  await watch.stop();
  return usage;
}

describe('counting what a tree holds', () => {
  it('counts files, directories and links, and a hard link once', async () => {
    const root = directory();
    mkdirSync(join(root, 'a/b'), { recursive: true });
    writeFileSync(join(root, 'a/file'), Buffer.alloc(100_000, 1));
    linkSync(join(root, 'a/file'), join(root, 'a/b/again'));
    symlinkSync('/etc', join(root, 'link'));
    const { bytes, inodes, unseen } = await look(root);
    assert.deepEqual([inodes, unseen], [4, 0]);
    const [said = ''] = execFileSync('du', ['-s', '--block-size=1', root], { encoding: 'utf8' }).split('\t');
    const [own = ''] = execFileSync('stat', ['-c', '%b', root], { encoding: 'utf8' }).split('\n');
    assert.equal(bytes, Number(said) - Number(own) * 512);
  });

  it('sums several trees, and is not blinded by modes', async () => {
    const [left, right] = [directory('left'), directory('right')];
    mkdirSync(join(left, 'closed'));
    writeFileSync(join(left, 'closed/file'), 'x');
    chmodSync(join(left, 'closed'), 0);
    writeFileSync(join(right, 'file'), 'x');
    const { inodes } = await look(left, right);
    chmodSync(join(left, 'closed'), 0o700);
    assert.equal(inodes, 3);
  });

  it('says what it could not look into where a tree is deeper than it has descriptors', async () => {
    const root = directory();
    execFileSync('sh', ['-c', 'i=0; while [ $i -lt 80 ]; do mkdir d; cd d; i=$((i + 1)); done'], { cwd: root });
    const limited = ['-c', `ulimit -n 64; exec ${program} usage --layer ${root}`];
    const [, , unseen] = execFileSync('sh', limited, { encoding: 'utf8' }).split('\0').map(Number);
    assert.equal(unseen, 1);
    assert.deepEqual((await look(root)).unseen, 0);
  });

  it('tells of every change, and ends when it is stopped', async () => {
    const root = directory();
    const seen: TreeUsage[] = [];
    const watch = watchUsage({
      program,
      roots: [root],
      onUsage: (usage) => seen.push(usage),
      onLost: assert.fail,
    });
    await watch.first;
    writeFileSync(join(root, 'file'), 'x');
    await until(() => seen.at(-1)?.inodes === 1, 'the file is counted');
    await watch.stop();
    assert.equal(seen[0]?.inodes, 0);
  });

  it('rests as its own work allows, however long it waited for a processor in the middle of a look', async () => {
    const root = directory();
    execFileSync('sh', ['-c', 'seq 5000 | xargs touch'], { cwd: root });
    const counting = spawn(program, ['usage', '--every', '20', '--layer', root], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const said: string[] = [];
    counting.stdout.on('data', (chunk: Buffer) => said.push(chunk.toString('latin1')));
    try {
      const descriptors = `/proc/${counting.pid}/fd`;
      // The tree, and the same opened again to look through it.
      const looks = () =>
        readdirSync(descriptors).filter((each) => readlinkSync(join(descriptors, each)) === root).length > 1;
      await until(() => said.length > 0, 'it has looked once');
      const stopped = Date.now();
      for (;;) {
        counting.kill('SIGSTOP');
        if (looks()) break;
        counting.kill('SIGCONT');
        assert.ok(Date.now() - stopped < 60_000, 'it never looks');
        await sleep(1);
      }
      await sleep(3_000);
      counting.kill('SIGCONT');
      await until(() => !looks(), 'that look has ended');
      writeFileSync(join(root, 'more'), 'x');
      // By the clock it would rest for 15 times as long as it was stopped.
      await until(() => said.join('').includes('\x005001\0'), 'the file is counted', 25);
    } finally {
      counting.kill('SIGKILL');
    }
  });

  it('says so where it is lost, once', async () => {
    const lost: string[] = [];
    const watch = watchUsage({
      program,
      roots: ['/nonexistent'],
      onUsage: () => undefined,
      onLost: ({ code }) => lost.push(code),
    });
    await assert.rejects(watch.first, { code: 'EIO' });
    await watch.stop();
    assert.deepEqual(lost, ['EIO']);
  });
});
