/**
 * What the owner of a jail does with what it is asked: commands, their streams and terminals, signals, ends and reports; each request
 * as it has to be, and each way in which it can be wrong.
 */
import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { frame, request } from '../../src/jail/frame.js';
import type { JailView } from '../../src/jail/jail-view.js';
import { planBytes } from '../../src/jail/plan-bytes.js';
import { AskedJail, type AskedOptions } from '../support/asked-jail.js';
import { bareJail, type PlanOptions } from '../support/bare-jail.js';
import { until } from '../support/process.js';

const jail = bareJail();
const home = join(jail.base, 'home');
const open: PlanOptions = { weakened: ['landlock', 'seccomp'] };
const filtered: PlanOptions = { weakened: ['landlock'] };
const { signals } = constants;

const shell = (script: string, options = open) => jail.keptPlans(['sh', '-c', script], options).command;
const bytesOf = (script: string, options = open) => planBytes(shell(script, options));
const number = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};
const size = (rows: number, columns: number) => number(rows + columns * 0x10000);

async function keeping(use: (kept: AskedJail) => Promise<void>, options = open): Promise<void> {
  const kept = new AskedJail(jail, jail.keptPlans([], options).jail, { mode: 'serve' });
  try {
    await kept.reported(/^0 started$/);
    await use(kept);
  } finally {
    await kept.end();
  }
}

const once = (script: string, options: AskedOptions = {}, view: Partial<JailView> = {}, plan = open) =>
  new AskedJail(jail, jail.plan(['sh', '-c', script], { ...plan, more: view }), options);

/** How a command ended: what a shell says of it. */
function ending(report: string): number {
  const status = Number(/ exited (\d+) /.exec(report)?.[1]);
  return (status & 0x7f) === 0 ? status >> 8 : 128 + (status & 0x7f);
}

describe('a command of a kept jail', () => {
  it('is handed over with the streams that it was asked for with, and they are its own', () =>
    keeping(async (kept) => {
      const script = 'cat; echo error >&2; for each in 0 1 2; do stat -Lc %F /proc/$$/fd/$each; done';
      kept.ask(1, request.command, bytesOf(script));
      kept.ask(2, request.commandWithInput, bytesOf(script));
      await kept.give(2, 'given');
      const pipes = (first: string) => `${first}\nfifo\nfifo\n`;
      assert.equal(await kept.text(1, 1), pipes('character special file'));
      assert.equal(await kept.text(2, 1), `given${pipes('fifo')}`);
      for (const id of [1, 2]) assert.equal(await kept.text(id, 2), 'error\n');
      for (const id of [1, 2]) assert.equal(ending(await kept.reported(new RegExp(`^${id} exited `))), 0);
      assert.deepEqual(
        [kept.streamsOf(1), kept.streamsOf(2)],
        [
          [1, 2],
          [0, 1, 2],
        ],
      );
    }));

  it('has streams that wait, as a shell’s do', () =>
    keeping(async (kept) => {
      const flags = 'for each in 0 1 2; do grep -o "flags:.*" /proc/self/fdinfo/$each; done';
      kept.ask(1, request.commandWithInput, bytesOf(flags));
      const waiting = (await kept.text(1, 1)).trim().split('\n');
      assert.deepEqual(
        waiting.map((line) => Number.parseInt(line.replace('flags:', '').trim(), 8) & 0o4000),
        [0, 0, 0],
      );
    }));

  it('has a number of its own while it runs, and may have that of one that has ended', () =>
    keeping(async (kept) => {
      kept.ask(1, request.commandWithInput, bytesOf('read line; exit 3'));
      await kept.reported(/^1 started$/);
      for (const id of [1, 0]) {
        kept.ask(id, request.command, bytesOf(': > /home/user/second'));
        assert.match(await kept.reported(new RegExp(`^${id} failed `)), / 22 a command needs a number of its own$/);
      }
      await kept.give(1, '\n');
      assert.equal(ending(await kept.reported(/^1 exited /)), 3);
      kept.said.length = 0;
      kept.ask(1, request.command, bytesOf('exit 4'));
      assert.equal(ending(await kept.reported(/^1 exited /)), 4);
      assert.throws(() => readFileSync(join(home, 'second')));
    }));

  it('runs beside as many others as there is room for', () =>
    keeping(async (kept) => {
      const most = 256;
      const waiting = planBytes(jail.keptPlans(['cat'], open).command);
      for (let id = 1; id <= most + 1; id += 1) kept.ask(id, request.commandWithInput, waiting);
      assert.match(await kept.reported(new RegExp(`^${most + 1} `)), / failed 0 request 11 too many commands/);
      assert.equal(kept.said.filter((report) => / started$/.test(report)).length, most + 1);
      await kept.give(7, '');
      await kept.reported(/^7 exited 0 /);
      kept.ask(most + 2, request.command, bytesOf('exit 5'));
      assert.equal(ending(await kept.reported(new RegExp(`^${most + 2} exited `))), 5);
      assert.equal(kept.said.filter((report) => / exited /.test(report)).length, 2);
    }));

  it('is signalled with its group, by a whole request for a command that runs', () =>
    keeping(async (kept) => {
      kept.ask(1, request.command, bytesOf('trap "" USR1; sleep 600 & echo ready; wait; echo woken; wait'));
      kept.ask(2, request.command, bytesOf('echo ready; sleep 600'));
      for (const id of [1, 2]) {
        await new Promise((resolve) => void kept.stream(id, 1).then((socket) => socket.once('data', resolve)));
      }
      for (const payload of [
        Buffer.alloc(0),
        number(signals.SIGKILL).subarray(0, 3),
        Buffer.concat([number(signals.SIGKILL), Buffer.alloc(1)]),
      ])
        kept.ask(1, request.signal, payload);
      kept.ask(3, request.signal, number(signals.SIGKILL));
      kept.ask(1, request.signal, number(signals.SIGUSR1));
      kept.ask(1, request.signal, number(signals.SIGTERM));
      assert.equal(ending(await kept.reported(/^1 exited /)), 128 + signals.SIGTERM);
      assert.equal(kept.said.filter((report) => / exited /.test(report)).length, 1, 'the other goes on');
      kept.ask(4, request.release);
      assert.match(await kept.reported(/^4 /), /^4 failed 0 request 16 processes are running in the fork$/);
      kept.ask(2, request.signal, number(signals.SIGKILL));
      assert.equal(ending(await kept.reported(/^2 exited /)), 128 + signals.SIGKILL);
      // What of the group is left by now is about to be collected.
      for (let id = 5; !kept.said.some((report) => / released$/.test(report)); id += 1) {
        assert.ok(id < 3000, 'nothing of the group is left');
        kept.ask(id, request.release);
        await kept.reported(new RegExp(`^${id} `));
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }));

  it('ends with what it used and what it was refused', () =>
    keeping(async (kept) => {
      const begun = Date.now();
      const script = `python3 -c '
import ctypes, time
calls = ctypes.CDLL(None)
for _ in range(3): calls.unshare(0x20000)
calls.personality(0)
calls.mount(None, None, None, 0, None)
end = time.process_time() + 0.05
while time.process_time() < end: pass
room = b"x" * 40_000_000'; exit 7`;
      kept.ask(1, request.command, bytesOf(script, filtered));
      kept.ask(2, request.command, bytesOf('exit 0', filtered));
      const exited = await kept.reported(/^1 exited /);
      await kept.reported(/^2 exited /);
      const [status, user, system, peak] = exited.split(' ').slice(2).map(Number);
      assert.equal(status, 7 << 8);
      assert.ok((user ?? 0) + (system ?? 0) >= 50_000 && (user ?? 0) < 60_000_000, exited);
      assert.ok((peak ?? 0) >= 40_000 && (peak ?? 0) < 1_000_000, exited);
      const refused = kept.said.filter((report) => / refused /.test(report)).map((report) => report.split(' '));
      const { unshare, mount } =
        process.arch === 'arm64' ? { unshare: '97', mount: '40' } : { unshare: '272', mount: '165' };
      assert.deepEqual(
        refused.map(([id, , call, count]) => [id, call, count]).sort(),
        [
          ['1', mount, '1'],
          ['1', unshare, '3'],
        ].sort(),
      );
      for (const [, , , , first, last] of refused) {
        assert.ok(Number(first) >= begun - 1000 && Number(first) <= Number(last) && Number(last) <= Date.now() + 1000);
      }
      assert.ok(kept.said.indexOf(refused[0]?.join(' ') ?? '') < kept.said.indexOf(exited), 'before its end');
    }, filtered));
});

describe('a terminal of a kept jail', () => {
  const script = `stty size; test -t 0 && test -t 1 && test -t 2 && test -c /dev/tty && ps -o tpgid= -p $$ | tr -d ' '; echo $$
trap 'echo resized; stty size' WINCH; trap 'echo interrupted' INT; echo ready
while :; do read line || continue; [ "$line" = end ] && exit 6; echo "got $line"; done`;
  const ask = (kept: AskedJail, id = 1) =>
    kept.ask(id, request.commandWithTerminal, Buffer.concat([size(33, 77), bytesOf(script)]));

  it('has the size that it is asked for with, is the command’s own, and passes keys on', () =>
    keeping(async (kept) => {
      ask(kept);
      const [input, output] = [await kept.stream(1, 0), await kept.stream(1, 1)];
      let shown = '';
      output.on('data', (chunk: Buffer) => {
        shown += chunk.toString('utf8');
      });
      const shows = (text: string) => until(() => shown.includes(text), `the terminal shows ${text}: ${shown}`);
      await shows('ready');
      const [first, front, own] = shown.split('\r\n');
      assert.equal(first, '33 77');
      assert.equal(front, own, 'it is in front');
      input.write('some words\n');
      await shows('some words\r\ngot some words');
      input.write('\x03');
      await shows('interrupted');
      for (const payload of [Buffer.alloc(0), Buffer.alloc(3, 9), Buffer.alloc(5, 9)])
        kept.ask(1, request.resize, payload);
      kept.ask(2, request.resize, size(5, 6));
      kept.ask(1, request.resize, size(44, 88));
      await shows('resized\r\n44 88');
      assert.doesNotMatch(shown, /2313|5 6/);
      input.write('end\n');
      assert.equal(ending(await kept.reported(/^1 exited /)), 6);
      assert.deepEqual(kept.streamsOf(1), [0, 1]);
    }));

  it('that reads nothing, however much is typed, keeps neither its own output waiting nor another command', () =>
    keeping(async (kept) => {
      const modes = ['', 'stty raw -echo; '];
      for (const [index, mode] of modes.entries()) {
        const [id, other] = [2 * index + 1, 2 * index + 2];
        const deaf = `trap 'echo resized' WINCH; ${mode}echo ready; while :; do sleep 0.02; done`;
        kept.ask(id, request.commandWithTerminal, Buffer.concat([size(33, 77), bytesOf(deaf)]));
        const [input, output] = [await kept.stream(id, 0), await kept.stream(id, 1)];
        let shown = '';
        output.on('data', (chunk: Buffer) => {
          shown += chunk.toString('utf8');
        });
        const shows = (text: string) => until(() => shown.includes(text), `the terminal shows ${text}`);
        await shows('ready');
        input.write('x'.repeat(1 << 20));
        kept.ask(other, request.command, bytesOf('sleep 0.2; exit 9'));
        assert.equal(ending(await kept.reported(new RegExp(`^${other} exited `))), 9);
        kept.ask(id, request.resize, size(44, 88));
        await shows('resized');
        kept.ask(id, request.signal, number(signals.SIGKILL));
        assert.equal(ending(await kept.reported(new RegExp(`^${id} exited `))), 128 + signals.SIGKILL);
      }
    }));

  it('is asked for with a size', () =>
    keeping(async (kept) => {
      kept.ask(1, request.commandWithTerminal, Buffer.alloc(3));
      assert.match(await kept.reported(/^1 /), /^1 failed 0 request 22 the size of the terminal is missing$/);
      kept.ask(2, request.command, bytesOf('test -t 0 || test -t 1 || test -e /dev/pts/0 || exit 9'));
      assert.equal(ending(await kept.reported(/^2 exited /)), 9, 'the next has none');
    }));
});

describe('a request', () => {
  it('of a kind that no one knows is refused, and the next is taken', () =>
    keeping(async (kept) => {
      const kinds = [0, request.jail, 9, 255, 0xffffffff];
      for (const [index, kind] of kinds.entries()) kept.ask(index + 1, kind);
      for (const [index] of kinds.entries())
        assert.match(await kept.reported(new RegExp(`^${index + 1} `)), / failed 0 request 22 an unknown request$/);
      kept.ask(9, request.command, bytesOf('exit 8'));
      assert.equal(ending(await kept.reported(/^9 exited /)), 8);
    }));

  it('may come in parts', () =>
    keeping(async (kept) => {
      const whole = frame(1, request.command, bytesOf('exit 2'));
      for (const [from, to] of [
        [0, 5],
        [5, 12],
        [12, 40],
        [40, whole.length],
      ] as const) {
        kept.write(whole.subarray(from, to));
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      assert.equal(ending(await kept.reported(/^1 exited /)), 2);
    }));

  for (const [what, length] of [
    ['shorter than its own numbers', 7],
    ['longer than the limit', (16 << 20) + 1],
  ] as const) {
    it(`that is ${what} ends a kept jail`, async () => {
      const kept = new AskedJail(jail, jail.keptPlans([], open).jail, { mode: 'serve' });
      await kept.reported(/^0 started$/);
      kept.write(Buffer.concat([number(length), number(1), number(request.release)]));
      assert.deepEqual(await kept.closed, [0, null]);
    });
  }

  it('that is a damaged plan leaves the jail as it was', () =>
    keeping(async (kept) => {
      const whole = bytesOf('exit 0');
      for (let cut = 0; cut < whole.length; cut += 97) {
        kept.said.length = 0;
        kept.ask(1, request.command, whole.subarray(0, cut));
        assert.match(await kept.reported(/^1 /), /^1 failed 0 request 22 /, String(cut));
        kept.ask(2, request.overlays, whole.subarray(0, cut));
        assert.match(await kept.reported(/^2 /), /^2 failed 0 request 22 /, String(cut));
      }
      kept.ask(3, request.command, whole);
      assert.equal(ending(await kept.reported(/^3 exited /)), 0);
    }));

  it('for a command that cannot start is answered with the reason, and the next is taken', () =>
    keeping(async (kept) => {
      const odd: readonly (readonly [readonly string[], Partial<JailView>, RegExp])[] = [
        [['/nothing/here'], {}, / command 2 \/nothing\/here$/],
        [['nothing-here'], {}, / command 2 nothing-here$/],
        [['/home/user'], {}, / command 13 \/home\/user$/],
        [['sh'], { directory: '/nothing' }, / directory-of-command 2 \/nothing$/],
      ];
      for (const [index, [argv, more, expected]] of odd.entries()) {
        const id = index + 1;
        kept.ask(id, request.command, planBytes(jail.keptPlans(argv, { ...open, more }).command));
        assert.match(await kept.reported(new RegExp(`^${id} `)), expected);
      }
      kept.ask(9, request.command, bytesOf('exit 1'));
      assert.equal(ending(await kept.reported(/^9 exited /)), 1);
    }));
});

describe('a kept jail', () => {
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    it(`ends with its commands by ${name}`, async () => {
      const kept = new AskedJail(jail, jail.keptPlans([], open).jail, { mode: 'serve' });
      await kept.reported(/^0 started$/);
      kept.ask(1, request.command, bytesOf('sleep 600'));
      await kept.reported(/^1 started$/);
      kept.signal(name);
      assert.deepEqual(await kept.closed, [0, null]);
    });
  }

  it('goes on at every other signal that it may get', () =>
    keeping(async (kept) => {
      for (const name of ['SIGUSR1', 'SIGUSR2', 'SIGQUIT', 'SIGWINCH', 'SIGCONT', 'SIGTSTP', 'SIGPIPE'] as const)
        kept.signal(name);
      kept.ask(1, request.command, bytesOf('exit 3'));
      assert.equal(ending(await kept.reported(/^1 exited /)), 3);
    }));

  it('ends where no one asks any more', async () => {
    const kept = new AskedJail(jail, jail.keptPlans([], open).jail, { mode: 'serve' });
    await kept.reported(/^0 started$/);
    kept.ask(1, request.command, bytesOf('sleep 600'));
    await kept.reported(/^1 started$/);
    kept.stopAsking();
    assert.deepEqual(await kept.closed, [0, null]);
  });

  it('ends where its first process does, after its commands', () =>
    keeping(async (kept) => {
      const init = Number(readFileSync(`/proc/${kept.pid}/task/${kept.pid}/children`, 'utf8').trim().split(' ').at(-1));
      kept.ask(1, request.command, bytesOf('sleep 600'));
      await kept.reported(/^1 started$/);
      process.kill(init, 'SIGKILL');
      assert.equal(ending(await kept.reported(/^1 exited /)), 128 + signals.SIGKILL);
      await kept.closed;
    }));
});

describe('the command that a jail is made for', () => {
  it('gets each signal that its owner gets, with its group', async () => {
    const names = ['HUP', 'INT', 'QUIT', 'TERM', 'USR1', 'USR2', 'CONT'] as const;
    for (const name of names) {
      rmSync(join(home, 'ready'), { force: true });
      const traps = names.map((each) => `trap 'exit ${signals[`SIG${each}`]}' ${each}`).join('; ');
      const asked = once(`${traps}; : > /home/user/ready; while :; do sleep 0.02; done`);
      await until(() => readable('ready'), 'it is ready');
      asked.signal(`SIG${name}`);
      assert.equal(ending(await asked.reported(/^0 exited /)), signals[`SIG${name}`], name);
      assert.deepEqual(await asked.closed, [0, null]);
    }
  });

  it('ends with the process that made the jail', async () => {
    const asked = once('sleep 600');
    await asked.reported(/^0 started$/);
    await asked.end();
    assert.equal(ending(asked.said.at(-1) ?? ''), 128 + signals.SIGKILL);
  });

  it('ends as it ends: every code and signal', async () => {
    const cases = [
      ['exit 0', 0],
      ['exit 1', 1],
      ['exit 125', 125],
      ['exit 255', 255],
      ['kill -KILL $$', 137],
      ['kill -SEGV $$', 139],
    ] as const;
    for (const [script, code] of cases) {
      const asked = once(script);
      assert.equal(ending(await asked.reported(/^0 exited /)), code, script);
      assert.deepEqual([await asked.closed, asked.said.length], [[0, null], 2], script);
    }
  });

  it('takes others with it, which have no input, and may be signalled', async () => {
    const { jail: plan } = jail.openPlans(
      ['sh', '-c', 'until test -e /home/user/go; do sleep 0.02; done; exit 3'],
      open,
    );
    for (const name of ['go', 'said', 'kept']) rmSync(join(home, name), { force: true });
    const asked = new AskedJail(jail, plan, { mode: 'beside' });
    await asked.reported(/^0 started$/);
    asked.ask(1, request.command, bytesOf('stat -Lc "%t:%T" /dev/stdin > /home/user/said; exit 4'));
    assert.equal(ending(await asked.reported(/^1 exited /)), 4);
    assert.equal(readFileSync(join(home, 'said'), 'utf8'), '1:3\n');
    asked.ask(2, request.command, bytesOf('sleep 600'));
    asked.ask(3, request.command, bytesOf('sleep 600'));
    await asked.reported(/^3 started$/);
    asked.ask(2, request.signal, number(signals.SIGUSR2));
    assert.equal(ending(await asked.reported(/^2 exited /)), 128 + signals.SIGUSR2);
    asked.stopAsking();
    writeFileSync(join(home, 'go'), '');
    assert.equal(ending(await asked.reported(/^0 exited /)), 3);
    assert.deepEqual(await asked.closed, [0, null]);
    assert.equal(asked.said.filter((report) => /^3 exited/.test(report)).length, 0);
  });

  it('has its own output whole where it is copied, and says what could not be written', async () => {
    const path = join(home, 'large');
    const text = Buffer.alloc(300_000, 'some text that is longer than any pipe\n');
    writeFileSync(path, text);
    const input = openSync(path, 'r');
    const output = openSync(join(home, 'copy'), 'w');
    const asked = once('cat; head -c 200000 /dev/zero >&2', { streams: [input, output, output] });
    await asked.closed;
    closeSync(input);
    closeSync(output);
    const copy = readFileSync(join(home, 'copy'));
    assert.equal(copy.length, 500_000);
    assert.deepEqual(Buffer.from(copy.filter((byte) => byte !== 0)), text);
    assert.ok(!asked.said.some((report) => / unwritten /.test(report)));

    const full = openSync('/dev/full', 'w');
    for (const [streams, expected] of [
      [[full, 1], ['0 unwritten 1 28']],
      [[1, full], ['0 unwritten 2 28']],
      [
        [full, full],
        ['0 unwritten 1 28', '0 unwritten 2 28'],
      ],
    ] as const) {
      const nowhere = openSync('/dev/null', 'r+');
      const [out = nowhere, error = nowhere] = streams.map((each) => (each === full ? full : nowhere));
      const failing = once('echo out; echo error >&2; exit 0', { streams: [nowhere, out, error] });
      await failing.closed;
      closeSync(nowhere);
      assert.deepEqual(
        failing.said.filter((report) => / unwritten /.test(report)),
        expected,
      );
    }
    closeSync(full);
  });
});

function readable(name: string): boolean {
  try {
    readFileSync(join(home, name));
    return true;
  } catch {
    return false;
  }
}
