/** The places a jail makes for its commands: whose they are, and how long they last. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { watchTemporary } from '../../src/proxy/run/temporary-room.js';
import { checkout, temporaryRoot } from '../support/program.js';
import { useWarmStage } from '../support/stage.js';
import { asOneUser, forEachUser } from '../support/users.js';

forEachUser((user) => {
  const stage = useWarmStage(user);

  test('directories above what is shown in the private home can be written', async () => {
    const registry = stage.makeDirectory('home/.cargo/registry');
    stage.makeDirectory('home/.rustup/toolchains');
    writeFileSync(join(registry, 'index'), 'of the person\n');
    const script = `cat ~/.cargo/registry/index; mkdir ~/.rustup/update-hashes ~/.cargo/bin
      stat -c %u ~ ~/.cargo ~/.rustup`;
    const uid = `${user.uid}\n`;
    assert.equal(await stage.inside(stage.project(), script), `of the person\n${uid.repeat(3)}`);
    assert.equal(existsSync(join(stage.home, '.rustup/update-hashes')), false);
  });

  test('what the jail makes of the system belongs to root, or to the one user there is', async () => {
    const inside = await stage.inside(stage.project(), 'stat -c %u / /etc /etc/passwd /tmp /dev /run; touch /etc/x', 1);
    assert.equal(inside, `${user.uid}\n`.repeat(6));
  });

  test('/tmp lasts as long as the fork: pipes, sockets and modes too', async () => {
    const project = stage.project();
    await stage.inside(project, 'echo out > /tmp/out; mkfifo /tmp/pipe; umask 077; mkdir /tmp/closed');
    const script = 'cat /var/tmp/out; test -p /tmp/pipe; stat -c %a /tmp /tmp/closed';
    assert.equal(await stage.inside(project, script), 'out\n1777\n700\n');
    const status = (await stage.json(project, ['status'])) as { temporary: { files: number } };
    assert.equal(status.temporary.files, 2);
    assert.match((await stage.ctx(project, ['status'])).stdout, / \/tmp {6}2 files, .*: kept until ctx drop/);
    await stage.json(project, ['rollback', '1']);
    assert.equal(await stage.inside(project, 'cat /tmp/out'), 'out\n');
    await stage.json(project, ['fork', 'create', 'other']);
    assert.equal((await stage.ctx(project, ['exec', '--fork', 'other', '--', 'cat', '/tmp/out'])).code, 1);
    await stage.json(project, ['drop']);
    await stage.inside(project, 'cat /tmp/out', 1);
  });

  test('a drop while a kept jail lives empties /tmp, and the kept jail goes on', async () => {
    const project = stage.project();
    await stage.json(project, ['jail', 'start']);
    try {
      await stage.inside(project, 'echo x > /tmp/x; echo x > made');
      await stage.json(project, ['drop']);
      assert.equal(await stage.inside(project, 'cat /tmp/x made 2>/dev/null; echo y > /tmp/y; cat /tmp/y'), 'y\n');
    } finally {
      await stage.json(project, ['jail', 'stop']);
    }
  });

  test('/tmp counts for the limit of disk', async () => {
    const project = stage.project();
    await stage.inside(project, 'head -c 3000000 /dev/zero > /tmp/large');
    const { code, stderr } = await stage.ctx(project, ['exec', '--disk', '2M', '--', 'true']);
    assert.notEqual(code, 0);
    assert.match(stderr, /EDQUOT|hold/);
  });
});

asOneUser(() => {
  test('a command that fills /tmp is ended, and a walk is made only where the filesystem has grown', async () => {
    const directory = mkdtempSync(join(temporaryRoot(), 'ctx-test-'));
    try {
      mkdirSync(join(directory, 'tmp'));
      const treeProgram = join(checkout, 'dist/native/tree');
      const reasons: string[] = [];
      const limits = { bytes: 64 * 1024, files: 1000 };
      const end = (reason: string) => reasons.push(reason);
      // What others free on this filesystem at the same time hides that it has grown, until a later command.
      for (let file = 0; file < 50 && reasons.length === 0; file += 1) {
        const watch = watchTemporary({ directory: join(directory, 'tmp'), treeProgram, end, limits });
        writeFileSync(join(directory, 'tmp', `large${file}`), Buffer.alloc(1024 * 1024, 1), { flush: true });
        await watch.stop();
      }
      assert.equal(reasons.length, 1);
      assert.match(reasons[0] ?? '', /^\/tmp is full: it holds \d+ of 65536 bytes; the command was ended/);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
