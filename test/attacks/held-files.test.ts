/** Files that were deleted and take room: every way to hold one is counted, or said to hide something. */
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { request } from '../../src/jail/frame.js';
import type { Operation } from '../../src/jail/operation.js';
import { planBytes } from '../../src/jail/plan-bytes.js';
import { AskedJail } from '../support/asked-jail.js';
import { bareJail } from '../support/bare-jail.js';

const jail = bareJail();
const bytes = 200_000;

/** The largest report of held files, while the script holds what it holds for a while. */
async function held(script: string) {
  const begin = `import ctypes, mmap, os, shutil, socket, subprocess, threading, time
path = "/workspace/file"
def made():
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    os.write(file, b"x" * ${bytes})
    return file
`;
  const argv = ['/usr/bin/python3', '-c', `${begin}${script}\ntime.sleep(1)`];
  const plan = jail.plan(argv, { weakened: ['landlock', 'seccomp'] }).flatMap((operation): Operation[] => {
    const reports: Operation = { do: 'report held files', paths: ['/workspace'] };
    return operation.do === 'user' ? [reports, operation] : [operation];
  });
  const said = await jail.runAsked(plan, []);
  assert.match(said, /^0 exited 0 /m, said);
  const reports = [...said.matchAll(/^0 held (\d+) (\d+) (\d)$/gm)].map((each) => each.slice(1).map(Number));
  return {
    bytes: Math.max(0, ...reports.map(([size = 0]) => size)),
    isHidden: reports.some(([, , hidden]) => hidden === 1),
  };
}

describe('a deleted file', () => {
  it('that nobody holds is not counted, nor is one that has another name', async () => {
    assert.deepEqual(await held('os.close(made()); os.unlink(path)'), { bytes: 0, isHidden: false });
    const named = 'file = made(); os.link(path, path + "2"); os.unlink(path)';
    assert.deepEqual(await held(named), { bytes: 0, isHidden: false });
  });

  const counted = {
    'is open': 'file = made(); os.unlink(path)',
    'is open twice, and counted once': 'file = made(); other = os.dup(file); os.unlink(path)',
    'is open in a thread alone': `def thread():
    ctypes.CDLL(None).unshare(0x400)
    file = made(); os.unlink(path); time.sleep(1)
threading.Thread(target=thread).start()`,
    'is a program that runs': `shutil.copy("/usr/bin/sleep", path)
with open(path, "r+b") as file: file.seek(0, 2); file.write(b"x" * ${bytes})
running = subprocess.Popen([path, "1"]); time.sleep(0.2); os.unlink(path)`,
  };
  for (const [what, script] of Object.entries(counted)) {
    it(`that ${what}`, async () => {
      const found = await held(script);
      assert.ok(found.bytes >= bytes && found.bytes < 2 * bytes, `${found.bytes} bytes`);
    });
  }

  const hidden = {
    'is mapped': `file = made(); mapped = mmap.mmap(file, ${bytes}); os.close(file); os.unlink(path)`,
    'is on its way through a socket': `one, other = socket.socketpair(); file = made()
socket.send_fds(one, [b"x"], [file]); os.close(file); os.unlink(path)`,
  };
  for (const [what, script] of Object.entries(hidden)) {
    it(`that ${what} is said to be hidden`, async () => {
      assert.equal((await held(script)).isHidden, true);
    });
  }
});

describe('what is held', () => {
  const home = join(jail.base, 'home');
  const going = (script: string, next: string) => `
def until(name):
    end = time.monotonic() + 60
    while not os.path.exists("/home/user/" + name):
        if time.monotonic() > end: sys.exit(9)
        time.sleep(0.01)
${script}
until("${next}")`;

  it('is told whenever it changes: each file once, on the filesystems of these paths alone', async () => {
    const steps: readonly (readonly [script: string, held: string])[] = [
      [
        `first = made("/workspace/first", 50); os.unlink("/workspace/first")
elsewhere = made("/tmp/file", 50); os.unlink("/tmp/file")
mapped = mmap.mmap(elsewhere, 4096)
named = made("/workspace/named", 50)
os.mkdir("/workspace/directory"); directory = os.open("/workspace/directory", os.O_RDONLY); os.rmdir("/workspace/directory")
os.mkfifo("/workspace/fifo"); fifo = os.open("/workspace/fifo", os.O_RDWR); os.unlink("/workspace/fifo")
one, other = socket.socketpair()`,
        `${50 * 4096} 1 0`,
      ],
      [
        'second = made("/workspace/second", 10); os.unlink("/workspace/second"); again = os.dup(second)',
        `${60 * 4096} 2 0`,
      ],
      ['os.unlink("/workspace/named")', `${110 * 4096} 3 0`],
      ['os.close(first)', `${60 * 4096} 2 0`],
      ['inside = mmap.mmap(second, 4096)', `${60 * 4096} 2 1`],
      ['inside.close()', `${60 * 4096} 2 0`],
      ['socket.send_fds(one, [b"x"], [second])', `${60 * 4096} 2 1`],
      ['for each in socket.recv_fds(other, 1, 1)[1]: os.close(each)', `${60 * 4096} 2 0`],
      ['os.close(second); os.close(again); os.close(named)', '0 0 0'],
    ];
    const begin = `import mmap, os, socket, sys, time
def made(path, pages):
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    os.write(file, b"x" * pages * 4096)
    os.fsync(file)
    return file
`;
    const script = begin + steps.map(([act], index) => going(act, `next-${index}`)).join('\n');
    const asked = new AskedJail(jail, heldPlan(['/usr/bin/python3', '-c', script]));
    const said: string[] = [];
    for (const [index, [act, held]] of steps.entries()) {
      await asked
        .reported(new RegExp(`^0 held ${held}$`))
        .catch((error: Error) => assert.fail(`${act}: ${error.message}`));
      said.push(...asked.said.splice(0));
      writeFileSync(join(home, `next-${index}`), '');
    }
    await asked.closed;
    said.push(...asked.said);
    assert.match(said.at(-1) ?? '', /^0 exited 0 /);
    const sums = said.filter((report) => / held .* 0$/.test(report));
    // A second look may fall between two steps of a script; the same is not told twice in a row, where nothing is hidden.
    for (const [index, sum] of sums.entries()) {
      const between = said.slice(said.indexOf(sum) + 1).find((report) => / held /.test(report));
      assert.ok(index === sums.length - 1 || between !== sum, sum);
    }
  });

  it('is told to another command where the one that heard of it has ended', async () => {
    for (const name of ['held', 'go']) rmSync(join(home, name), { force: true });
    const { jail: kept } = jail.keptPlans([], { weakened: ['landlock', 'seccomp'] });
    const command = (argv: readonly string[]) => planBytes(heldPlan(argv, 'command'));
    const holding = `import os, time
file = os.open("/workspace/kept", os.O_RDWR | os.O_CREAT); os.write(file, b"x" * 4096 * 7); os.fsync(file); os.unlink("/workspace/kept")
time.sleep(600)`;
    const asked = new AskedJail(jail, kept, { mode: 'serve' });
    try {
      await asked.reported(/^0 started$/);
      asked.ask(1, request.command, command(['/usr/bin/python3', '-c', holding]));
      await asked.reported(/^1 held 28672 1 0$/);
      asked.ask(2, request.commandWithInput, command(['cat']));
      await asked.reported(/^2 held 28672 1 0$/);
      // Now, and not when that has ended: what is told right after it may have come with it.
      asked.said.length = 0;
      asked.ask(2, request.signal, Buffer.from([9, 0, 0, 0]));
      await asked.reported(/^2 exited /);
      await asked.reported(/^1 held 28672 1 0$/);
    } finally {
      await asked.end();
    }
  });
});

/** What is held on the filesystem of the workspace is reported. */
function heldPlan(argv: readonly string[], part: 'jail' | 'command' = 'jail'): readonly Operation[] {
  const options = { weakened: ['landlock', 'seccomp'] } as const;
  const plan = part === 'jail' ? jail.plan(argv, options) : jail.keptPlans(argv, options).command;
  const reports: Operation = { do: 'report held files', paths: ['/workspace', '/nothing/here'] };
  return plan.flatMap((operation): Operation[] => (operation.do === 'user' ? [reports, operation] : [operation]));
}
