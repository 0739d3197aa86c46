/** `native/call` at a terminal, without streams, and where what listens in the store is not a kept jail of its user. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, beforeEach, describe, it } from 'node:test';
import { isRoot } from '../../test/support/users.js';
import { nativeProgram } from '../base/native-program.js';
import { keptJailPlace } from './jail-place.js';
import { encodeFrame, FrameReader, type WireFrame, wireKind } from './jail-wire.js';

const base = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-call-')));
const [store, program] = [join(base, 'store'), join(base, 'program', 'ctx.cjs')];
const servers: Server[] = [];
for (const directory of [store, dirname(program), join(base, 'bin')])
  mkdirSync(directory, { recursive: true, mode: 0o700 });
writeFileSync(program, '');
writeFileSync(join(base, 'bin', 'node'), '#!/bin/sh\nprintf node\nexit 9\n', { mode: 0o755 });
const env = { PATH: `${join(base, 'bin')}:${process.env['PATH'] ?? ''}`, CTX_DATA: store };
after(() => {
  for (const server of servers) server.close();
  rmSync(base, { recursive: true });
});

/** What is heard by whatever listens, and what it answers. */
let heard: WireFrame[] = [];
let answer: (socket: Socket, frame: WireFrame) => void = () => undefined;
beforeEach(() => {
  heard = [];
});

function workspace(name: string) {
  const directory = join(base, name);
  mkdirSync(directory);
  return { directory, place: keptJailPlace(store, directory, 'main') };
}

async function listen(path: string): Promise<void> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const server = createServer((socket) => {
    const reader = new FrameReader();
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      for (const frame of reader.push(chunk)) {
        heard.push(frame);
        answer(socket, frame);
      }
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(path, resolve));
}

async function run(cwd: string, words: readonly string[]) {
  const [name = '', ...rest] = words;
  const child = spawn(name, rest, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'], timeout: 90_000 });
  let stdout = '';
  child.stdout.on('data', (bytes: Buffer) => {
    stdout += bytes;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout };
}

const exit = (code: number) => encodeFrame(wireKind.exit, Buffer.from([code]));
const frame = (kind: 'output' | 'error' | 'question' | 'more', text = '') =>
  encodeFrame(wireKind[kind], Buffer.from(text));
const callExec = [nativeProgram('call'), program, 'exec', 'command'];

/** A terminal of its own for a call: what was typed before, what is shown that it then types the rest at, whether modes are as before. */
const atTerminal = `
import json, os, pty, sys, termios
early, shown, late, words = sys.argv[1].encode(), sys.argv[2].encode(), sys.argv[3].encode(), sys.argv[4:]
master, slave = pty.openpty()
modes = termios.tcgetattr(slave)
os.write(master, early)
child = os.fork()
if child == 0:
    os.setsid()
    for stream in range(3): os.dup2(slave, stream)
    os.close(os.open(os.ttyname(0), os.O_RDWR))
    os.execv(words[0], words)
text = b''
while shown not in text: text += os.read(master, 4096)
os.write(master, late)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(json.dumps([code, termios.tcgetattr(slave)[:4] == modes[:4]]))
`;

/** In a job of a shell that sets no modes itself: whether the terminal is raw, then after what was done, then after the job went on. */
const asJob = `
import json, os, pty, signal, sys, termios, time
done, words = sys.argv[1], sys.argv[2:]
shell, master = pty.fork()
if shell == 0:
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execv(words[0], words)
    while True:
        ended, status = os.waitpid(job, os.WUNTRACED)
        os.tcsetpgrp(0, os.getpgrp())
        os.write(1, b'[%d]' % (128 + os.WSTOPSIG(status) if os.WIFSTOPPED(status) else status & 0x7f or status >> 8))
        if not os.WIFSTOPPED(status): break
        time.sleep(0.3)
        os.tcsetpgrp(0, job)
        os.killpg(job, signal.SIGCONT)
    os.read(0, 1)
def until(text):
    got = b''
    while text not in got: got += os.read(master, 4096)
def raw(wanted):
    for _ in range(100):
        if bool(termios.tcgetattr(master)[3] & termios.ICANON) != wanted: return True
        time.sleep(0.02)
until(b'shown')
seen = [raw(True)]
job = os.tcgetpgrp(master)
if done == 'keys':
    for _ in range(4):
        os.write(master, b'\\x03')
        time.sleep(0.3)
    until(b'[130]')
elif done == 'kill':
    os.kill(job, signal.SIGKILL)
    until(b'[9]')
else:
    os.killpg(job, signal.SIGTSTP)
    until(b'[148]')
seen.append(raw(False))
if done == 'stop':
    seen.append(raw(True))
    os.kill(job, signal.SIGTERM)
    until(b'[0]')
    seen.append(raw(False))
print(json.dumps(seen))
os.kill(shell, signal.SIGKILL)
`;

describe('a call that a kept jail takes', async () => {
  const { directory, place } = workspace('taken');
  await listen(join(place.directory, place.socketName));
  const typed = (kind: string) => heard.filter((each) => each.kind === kind).map(({ payload }) => `${payload}`);

  it('takes no descriptor of its own for a stream that its caller has closed', async () => {
    answer = (socket, { kind }) => {
      const said = Buffer.concat([frame('output', 'out'), frame('error', ''), frame('more')]);
      socket.write(kind === wireKind.request ? said : exit(7));
    };
    for (const closed of ['<&-', '>&-', '2>&-', '<&- >&-', '<&- 2>&-', '>&- 2>&-', '<&- >&- 2>&-']) {
      heard = [];
      const { code } = await run(directory, ['sh', '-c', `exec "$0" "$@" ${closed}`, ...callExec]);
      assert.deepEqual([code, heard.map(({ kind }) => kind)], [7, [wireKind.request, wireKind.input]], closed);
    }
  });

  it('gives a command each key as it is typed, and the terminal back as it was', async () => {
    answer = (socket, { kind }) =>
      void socket.write(kind === wireKind.request ? Buffer.concat([frame('more'), frame('output', 'shown')]) : exit(0));
    const { stdout } = await run(directory, ['python3', '-c', atTerminal, '', 'shown', 'k', ...callExec]);
    assert.deepEqual([JSON.parse(stdout), typed(wireKind.input)], [[0, true], ['k']]);
  });

  it('gives the terminal back where the kept jail is stopped, where it is killed, and where it is stopped itself', async () => {
    answer = (socket, { kind }) => {
      if (kind === wireKind.request) socket.write(Buffer.concat([frame('more'), frame('output', 'shown')]));
      if (kind === wireKind.signal) socket.write(exit(0));
    };
    const seen = async (done: string) =>
      JSON.parse((await run(directory, ['python3', '-c', asJob, done, ...callExec])).stdout);
    assert.deepEqual(await seen('keys'), [true, true]);
    assert.deepEqual(typed(wireKind.input), ['\x03'], 'what is typed later is not wanted');
    assert.deepEqual(await seen('kill'), [true, true]);
    assert.deepEqual(await seen('stop'), [true, true, true, true]);
  });

  it('takes for an answer what is typed after the question, and nothing that was typed before', async () => {
    answer = (socket, { kind }) => void socket.write(kind === wireKind.request ? frame('question', 'sure?') : exit(0));
    const { stdout } = await run(directory, ['python3', '-c', atTerminal, 'yes\n', 'sure?', 'no\n', ...callExec]);
    assert.deepEqual([JSON.parse(stdout), typed(wireKind.answer)], [[0, true], ['no\n']]);
  });
});

describe('what listens in the store', () => {
  const isNodes = async (directory: string) => {
    answer = (socket) => void socket.end(exit(0));
    assert.deepEqual(await run(directory, callExec), { code: 9, stdout: 'node' });
    assert.equal(heard.length, 0);
  };

  it('is not asked behind a link, nor where its name is an ending alone', async () => {
    const [linked, unnamed] = [workspace('linked'), workspace('unnamed')];
    await listen(join(store, 'aside', linked.place.socketName));
    symlinkSync(join(store, 'aside'), linked.place.directory);
    await isNodes(linked.directory);
    await listen(join(unnamed.place.directory, '.socket'));
    await isNodes(unnamed.directory);
  });

  it('is told nothing where another user made it listen', { skip: isRoot ? false : 'needs root' }, async () => {
    const { directory, place } = workspace('of another');
    mkdirSync(place.directory, { recursive: true, mode: 0o700 });
    const script = `
import os, socket, sys
os.chdir(sys.argv[1])
listening = socket.socket(socket.AF_UNIX)
listening.bind(sys.argv[2])
os.seteuid(65534)
listening.listen()
os.write(1, b'listens\\n')
os.write(1, b'%d\\n' % len(listening.accept()[0].recv(64)))
`;
    const other = spawn('python3', ['-c', script, place.directory, place.socketName], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      await once(other.stdout, 'data');
      const told = once(other.stdout, 'data');
      await isNodes(directory);
      assert.equal(`${await told}`, '0\n');
    } finally {
      other.kill('SIGKILL');
    }
  });
});
