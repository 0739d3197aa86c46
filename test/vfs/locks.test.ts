/** Advisory locks on mounted trees, between processes: those of one mount, and of what a host directory's other users do. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createVfs } from '../../src/index.js';
import { forEachMountUser } from '../support/mount-users.js';
import { until } from '../support/process.js';
import { ctxProgramFor } from '../support/program.js';
import { scratch } from './engines.js';

/** Says `got`, or the number of the error; then holds it until its input ends. */
const program = (how: string) =>
  `import fcntl, sys\nf = open(sys.argv[1], 'a+')\ntry:\n  fcntl.${how}\n  print('got', flush=True)\n` +
  'except OSError as e:\n  print(e.errno, flush=True)\nsys.stdin.read()\n';
const writer =
  "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1], timeout=60)\nc.execute('create table if not exists t(x)')\n" +
  "for i in range(25):\n  c.execute('update t set x = x + 1')\n  c.execute('insert into t values (0)')\n  c.commit()\n";
const counter =
  "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1])\nprint(c.execute('pragma integrity_check').fetchone()[0], c.execute('select count(*) from t').fetchone()[0])";

/** Opens or makes a thousand files, each at the same moment as somebody in the other directory; prints what failed. */
const opener = `
import multiprocessing, os, sys
def work(directory, together, failed):
  found = []
  for i in range(1000):
    together.wait()
    try: os.close(os.open(f'{directory}/{i}', os.O_RDWR | os.O_CREAT))
    except OSError as e: found.append(e.errno)
  failed.put(found)
together, failed = multiprocessing.Barrier(2), multiprocessing.Queue()
for directory in sys.argv[1:]: multiprocessing.Process(target=work, args=(directory, together, failed)).start()
print(failed.get() + failed.get())`;

const exclusive = {
  flock: 'flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)',
  fcntl: 'lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB)',
  'fcntl on a range': 'lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 1 << 40)',
} as const;

forEachMountUser('locks on a mount', (user) => {
  const place = scratch();
  let ctx = '';
  before(() => {
    chownSync(place.path, user.uid, user.gid);
    ctx = ctxProgramFor(user, place.path);
  });
  after(() => place.remove());

  const identity = process.geteuid?.() === user.uid ? {} : { uid: user.uid, gid: user.gid };
  const vfs = (...words: readonly string[]) => {
    const { status, stderr } = spawnSync(ctx, ['vfs', ...words], { cwd: '/', encoding: 'utf8', ...identity });
    assert.equal(status, 0, stderr);
  };
  const made = (name: string) => {
    const path = join(place.path, name);
    mkdirSync(path);
    chownSync(path, user.uid, user.gid);
    return path;
  };
  const python = (text: string, ...paths: readonly string[]) => {
    const child = spawn('python3', ['-c', text, ...paths], {
      cwd: '/',
      stdio: ['pipe', 'pipe', 'inherit'],
      ...identity,
    });
    let said = '';
    child.stdout.on('data', (bytes: Buffer) => {
      said += bytes.toString();
    });
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    return { child, ended, said: () => said.trim(), word: () => until(() => said !== '', 'it says a word') };
  };
  const end = async (...all: readonly ReturnType<typeof python>[]) => {
    for (const { child, ended } of all) {
      child.stdin.end();
      await ended;
    }
  };

  async function keepOut(first: string, second: string): Promise<void> {
    for (const [name, how] of Object.entries(exclusive)) {
      const holder = python(program(how), join(first, 'locked'));
      await holder.word();
      assert.equal(holder.said(), 'got', name);
      const other = python(program(how), join(second, 'locked'));
      await other.word();
      assert.equal(other.said(), '11', `${name}: EAGAIN for another process`);
      const waiter = python(program(how.replace(' | fcntl.LOCK_NB', '')), join(second, 'locked'));
      const killed = python(program(how.replace(' | fcntl.LOCK_NB', '')), join(second, 'locked'));
      await new Promise((resolve) => setTimeout(resolve, 120));
      assert.equal(waiter.said() + killed.said(), '', `${name}: whoever waits waits`);
      killed.child.kill('SIGKILL');
      await killed.ended;
      holder.child.kill('SIGKILL');
      await waiter.word();
      assert.equal(waiter.said(), 'got', `${name}: a killed process holds nothing`);
      await end(holder, other, waiter);
    }
  }

  async function writeTogether(first: string, second: string): Promise<void> {
    const writers = [first, second].map((at) => python(writer, join(at, 'database')));
    assert.deepEqual(await Promise.all(writers.map(({ ended }) => ended)), [0, 0]);
    const found = python(counter, join(second, 'database'));
    await found.ended;
    assert.equal(found.said(), 'ok 50');
  }

  test('of a tree in memory keep two processes apart, and SQLite has two writers', async () => {
    const at = made('memory');
    vfs('mount', 'memory:', at, '--writable');
    try {
      await keepOut(at, at);
      await writeTogether(at, at);
    } finally {
      vfs('unmount', at);
    }
  });

  test('of a host directory hold for whoever uses it beside the mount', async () => {
    const [at, beside] = [made('mounted'), made('beside')];
    vfs('mount', `host:${beside}`, at, '--writable');
    try {
      await keepOut(at, beside);
      await keepOut(beside, at);
      await writeTogether(at, beside);
      // One in two thousand failed while opening and making were two steps: it shows what was broken twice in five runs.
      const opened = python(opener, at, beside);
      await opened.ended;
      assert.equal(opened.said(), '[]');
    } finally {
      vfs('unmount', at);
    }
  });
});

test('programs lock what they open, and see the locks of other processes in a host directory', async () => {
  const place = scratch();
  const vfs = await createVfs({ mounts: { '/': 'memory:', '/host': { spec: `host:${place.path}`, writable: true } } });
  try {
    for (const path of ['/f', '/host/f']) {
      const [one, other] = [await vfs.open(path, 'w+'), await vfs.open(path, 'r+')];
      assert.equal(await one.lock({ end: 10 }), true);
      assert.equal(await other.lock({ wait: false }), false);
      assert.equal(await other.lock({ start: 10, wait: false }), true);
      const waiting = other.lock({ kind: 'shared' });
      await one.unlock();
      assert.equal(await waiting, true);
      await assert.rejects(one.lock({ signal: AbortSignal.timeout(20) }), { code: 'EINTR' });
      await other.close();
      assert.equal(await one.lock({ wait: false }), true, 'they end with the handle');
      await one.close();
    }
    const file = await vfs.open('/host/f', 'r+');
    await file.lock();
    const tried = (how: string) =>
      spawnSync('python3', ['-c', program(how), join(place.path, 'f')], { input: '', encoding: 'utf8' }).stdout.trim();
    assert.equal(tried(exclusive.fcntl), '11');
    await file.close();
    assert.equal(tried(exclusive.fcntl), 'got');
  } finally {
    await vfs.close();
    place.remove();
  }
});
