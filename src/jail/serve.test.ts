/** Kept jails by the jail program itself, as the process sees them that keeps one. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, fstatSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { serialize } from 'node:v8';
import { bareJail, type PlanOptions } from '../../test/support/bare-jail.js';
import { until } from '../../test/support/process.js';
import { library } from '../audit/record-fixture.js';
import { ErrnoError, hasCode } from '../base/errno.js';
import { loadFileLock } from '../base/file-lock.js';
import type { ServedCommand } from './asked-commands.js';
import type { Operation } from './operation.js';
import { ServedJail } from './serve.js';

const jail = bareJail(process.getuid?.() === 0 ? 'shifted' : 'self');
const { program } = jail;
const options: PlanOptions = { weakened: ['landlock', 'seccomp'] };
const plans = (script: string) => jail.keptPlans(['sh', '-c', script], options);
const whole = plans(':').jail;

async function keeping(use: (kept: ServedJail) => Promise<void>, plan = whole): Promise<void> {
  const kept = await ServedJail.make({ program, plan });
  try {
    await use(kept);
  } finally {
    await kept.end();
  }
}

function command(script: string, more: Partial<ServedCommand> = {}) {
  const said = { stdout: '', stderr: '' };
  const onOutput: ServedCommand['onOutput'] = (stream, chunk) => {
    said[stream] += chunk.toString('utf8');
  };
  return {
    said,
    command: { plan: plans(script).command, input: 'nothing', onOutput, ...more } satisfies ServedCommand,
  };
}

function isOpen(descriptor: number): boolean {
  try {
    fstatSync(descriptor);
    return true;
  } catch (error) {
    if (hasCode(error, 'EBADF')) return false;
    throw error;
  }
}

describe('a jail that is kept', () => {
  it('runs commands with their streams, one after the other and at once', () =>
    keeping(async (kept) => {
      const first = command('echo out; echo error >&2; exit 3');
      const second = command('cat; exit 4', { input: 'pipe' });
      const [one, two] = [kept.start(first.command), kept.start(second.command)];
      await two.started;
      await two.write(Buffer.from('given '));
      await two.write(Buffer.from('words'));
      two.endInput();
      assert.deepEqual([(await one.done).exitCode, (await two.done).exitCode], [3, 4]);
      assert.deepEqual(
        [first.said, second.said],
        [
          { stdout: 'out\n', stderr: 'error\n' },
          { stdout: 'given words', stderr: '' },
        ],
      );
      const terminal = command('stty size; exit 5', { input: { rows: 3, columns: 400 } });
      assert.equal((await kept.start(terminal.command).done).exitCode, 5);
      assert.equal(terminal.said.stdout, '3 400\r\n');
    }));

  it('ends a command at a terminal when its reader has all of it, however slow, and keeps no other waiting', () =>
    keeping(async (kept) => {
      let go: () => void = () => undefined;
      const slow = new Promise<void>((resolve) => {
        go = resolve;
      });
      let heard = 0;
      const onOutput = (_: string, chunk: Buffer) => {
        heard += chunk.length;
        return slow;
      };
      // It writes until nothing on the way takes any more, says how much that was, and ends.
      const fill = `exec python3 -c '
import os, select
os.set_blocking(1, False)
written = 0
while select.select([], [1], [], 0.05)[1]:
    try: written += os.write(1, b"x" * 1000)
    except BlockingIOError: pass
open("/workspace/filling", "w").write(f"{os.getpid()} {written}\\n")
os.rename("/workspace/filling", "/workspace/filled")'`;
      const look = `until [ -e /workspace/filled ]; do sleep 0.01; done; read pid written < /workspace/filled
while grep -qs "^State:.[^Z]" /proc/$pid/status; do sleep 0.01; done; echo $written`;
      const first = kept.start(command(fill, { input: { rows: 3, columns: 80 }, onOutput }).command);
      const second = command(look);
      let hasEnded = false;
      const end = first.done.then(() => {
        hasEnded = true;
      });
      await kept.start(second.command).done;
      assert.equal(hasEnded, false);
      go();
      await end;
      assert.equal(heard, Number(second.said.stdout));
    }));

  it('is called neither by its path nor by its arguments inside, and has nothing of the caller’s', () =>
    keeping(async (kept) => {
      const look = command('tr "\\0" " " < /proc/1/cmdline');
      await kept.start(look.command).done;
      assert.equal(look.said.stdout, 'ctx-jail serve ');
      assert.doesNotMatch(readFileSync(`/proc/${kept.pid}/environ`, 'latin1'), /(PATH|HOME|USER)=/);
    }));

  it('ends what it is told to, and at once with all of it', () =>
    keeping(async (kept) => {
      const [one, two, three] = [1, 2, 3].map(() => kept.start(command('sleep 600').command));
      await Promise.all([one?.started, two?.started, three?.started]);
      assert.deepEqual([one?.pid, kept.pid !== undefined], [kept.pid, true]);
      one?.signal('SIGUSR2');
      assert.equal((await one?.done)?.signal, 'SIGUSR2');
      two?.kill();
      assert.equal((await two?.done)?.signal, 'SIGKILL');
      const lost = assert.rejects(three?.done ?? Promise.resolve(), (error) => hasCode(error, 'EPIPE'));
      await kept.end();
      await lost;
      await assert.rejects(kept.release(), (error) => hasCode(error, 'EPIPE'));
      await assert.rejects(kept.start(command(':').command).done, (error) => hasCode(error, 'EPIPE'));
    }));

  it('passes each signal on to all that a command has started, as a terminal does, and to no other command', () =>
    keeping(async (kept) => {
      const numbers = (['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR1', 'SIGUSR2'] as const).map(
        (name) => [name, constants.signals[name]] as const,
      );
      const hears = `exec python3 -c '
import os, signal, time
for each in (${numbers.map(([, number]) => number).join()}): signal.signal(each, lambda number, _: os.write(1, f"{who} {number}\\n".encode()))
who = "child" if os.fork() == 0 else "first"
os.write(1, f"{who} ready\\n".encode())
while True: time.sleep(9)'`;
      const [one, other] = [command(hears), command(hears)];
      const [running, beside] = [kept.start(one.command), kept.start(other.command)];
      const hasHeard = ({ said }: typeof one, what: string) =>
        ['first', 'child'].every((who) => said.stdout.split('\n').includes(`${who} ${what}`));
      await until(() => hasHeard(one, 'ready') && hasHeard(other, 'ready'), 'both are there');
      for (const [name, number] of numbers) {
        running.signal(name);
        await until(() => hasHeard(one, String(number)), `${name} has come to both: ${one.said.stdout}`);
      }
      assert.equal(other.said.stdout.split('\n').length, 3, other.said.stdout);
      for (const each of [running, beside]) {
        each.kill();
        assert.equal((await each.done).signal, 'SIGKILL');
      }
    }));

  it('gives its fork’s mounts back and takes others', () =>
    keeping(async (kept) => {
      await kept.start(command(': > /workspace/file').command).done;
      await kept.release();
      await assert.rejects(kept.start(command(':').command).done, (error) => hasCode(error, 'ENODEV'));
      await assert.rejects(kept.mount([{ do: 'pivot' }]), (error) => hasCode(error, 'EINVAL'));
      await kept.mount(whole.filter((operation) => operation.do === 'overlay'));
      assert.equal((await kept.start(command('test -e /workspace/file').command).done).exitCode, 0);
      const running = kept.start(command('sleep 600').command);
      await running.started;
      await assert.rejects(kept.release(), (error) => hasCode(error, 'EBUSY'));
      running.kill();
      await running.done;
    }));

  it('has what it is given at its place, and nothing of it stays open here', async () => {
    const [lock, channel] = ['lock', 'channel'].map((name) => {
      writeFileSync(join(jail.base, name), '');
      return openSync(join(jail.base, name), 'r');
    }) as [number, number];
    const kept = await ServedJail.make({ program, plan: whole, lockDescriptor: lock, channels: [channel] });
    assert.deepEqual([isOpen(lock), isOpen(channel)], [true, false]);
    const held = (number: number) => fstatSync(lock).ino === fstatSync(openSyncOf(kept.pid, number)).ino;
    assert.equal(held(6), true, 'its lock outlives us');
    await kept.end();
    assert.equal(existsSync(`/proc/${kept.pid}`), false);
    closeSync(lock);
  });

  it('says which caches it shows read-only, since another has them', async () => {
    for (const name of ['cache', 'cache-upper', 'cache-work']) mkdirSync(join(jail.base, name), { mode: 0o777 });
    writeFileSync(join(jail.base, 'cache', 'file'), 'cached');
    const cache: Operation = {
      do: 'cache',
      target: '/home/user/cache',
      source: join(jail.base, 'cache'),
      upper: 'cache-upper',
      work: 'cache-work',
      attributes: ['no setuid', 'no devices'],
    };
    const at = whole.findIndex((operation) => operation.do === 'pivot');
    const plan = [...whole.slice(0, at), cache, ...whole.slice(at)];
    const work = openSync(join(jail.base, 'cache-work'), 'r');
    loadFileLock(library, 0).hold(work, 'the cache');
    const look = command('cat /home/user/cache/file; : > /home/user/cache/new');
    await keeping(async (kept) => {
      assert.deepEqual(
        kept.heldCaches.map(({ path }) => path),
        ['/home/user/cache'],
      );
      assert.notEqual((await kept.start(look.command).done).exitCode, 0);
      assert.equal(look.said.stdout, 'cached');
    }, plan);
    closeSync(work);
    await keeping(async (kept) => assert.deepEqual(kept.heldCaches, []), plan);
  });

  it('says what kept it from being made', async () => {
    const missing: Operation = { do: 'bind', source: '/nothing/here', target: '/shown', attributes: [] };
    const at = whole.findIndex((operation) => operation.do === 'pivot');
    const plan = [...whole.slice(0, at), missing, ...whole.slice(at)];
    await assert.rejects(
      ServedJail.make({ program, plan }),
      (error) => error instanceof ErrnoError && error.code === 'ENOENT' && error.path === '/nothing/here',
    );
    await assert.rejects(
      ServedJail.make({ program: '/nothing/jail', plan: whole }),
      (error) => error instanceof ErrnoError && error.code === 'ENOENT' && error.path === '/nothing/jail',
    );
  });

  it('says that this process has too many files open', () => {
    const script = `
      import { closeSync, openSync, writeSync } from 'node:fs';
      import { ServedJail } from ${JSON.stringify(new URL('./serve.js', import.meta.url).href)};
      const open = [];
      try {
        for (;;) open.push(openSync('/dev/null'));
      } catch {}
      closeSync(open.pop());
      const failed = await ServedJail.make({ program: '/nothing/jail', plan: [] }).catch((error) => error);
      writeSync(1, failed.code + ': ' + failed.remedy);
    `;
    const words = ['-c', 'ulimit -n 64; exec "$0" --input-type=module -e "$1"', process.execPath, script];
    const { stdout, stderr } = spawnSync('sh', words, { encoding: 'utf8' });
    assert.match(stdout, /^EMFILE: .*ulimit -n/, stderr);
  });

  it('refuses a command whose streams cannot come, since this process has no descriptor left, and runs the next one', () => {
    const { command } = plans('echo said; exec sleep 600');
    const script = `
      import { closeSync, openSync, readdirSync } from 'node:fs';
      import { deserialize } from 'node:v8';
      import { ServedJail } from ${JSON.stringify(new URL('./serve.js', import.meta.url).href)};
      const [program, jail, first, second] = deserialize(Buffer.from(process.argv[1], 'base64'));
      const kept = await ServedJail.make({ program, plan: jail });
      const open = () => readdirSync('/proc/self/fd').length;
      const before = open();
      const seen = [];
      for (const left of [0, 1]) {
        const held = [];
        try {
          for (;;) held.push(openSync('/dev/null'));
        } catch {}
        for (const descriptor of held.splice(0, left)) closeSync(descriptor);
        const silent = { input: 'nothing', onOutput: () => undefined };
        seen.push(await kept.start({ ...silent, plan: first }).done.catch((error) => error.code));
        for (const descriptor of held) closeSync(descriptor);
        let said = '';
        await kept.start({ input: 'nothing', plan: second, onOutput: (_, chunk) => void (said += chunk) }).done;
        seen.push(said);
      }
      seen.push(open() - before);
      await kept.end();
      console.log(JSON.stringify(seen));
    `;
    const asked = serialize([program, whole, command, plans('echo next').command]).toString('base64');
    const words = ['-c', 'ulimit -n 64; exec "$0" --input-type=module -e "$1" "$2"', process.execPath, script, asked];
    const { stdout, stderr } = spawnSync('sh', words, { encoding: 'utf8', timeout: 60_000 });
    assert.equal(stdout, `${JSON.stringify(['EMFILE', 'next\n', 'EMFILE', 'next\n', 0])}\n`, stderr);
  });

  it('tells of its end, whoever ended it', async () => {
    const kept = await ServedJail.make({ program, plan: whole });
    const running = kept.start(command('sleep 600').command);
    const lost = assert.rejects(running.done, (error) => hasCode(error, 'EPIPE'));
    process.kill(kept.pid ?? 0, 'SIGKILL');
    await kept.ended;
    await lost;
    await until(() => !existsSync(`/proc/${kept.pid}`), 'it is gone');
  });
});

function openSyncOf(pid: number | undefined, number: number): number {
  return openSync(`/proc/${pid}/fd/${number}`, 'r');
}
