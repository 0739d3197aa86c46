/**
 * `native/call` against a kept jail that says whatever it likes: what it asks and whom, what it passes on, how it ends, and when Node is
 * started in its place.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { nativeProgram } from '../base/native-program.js';
import { decodePath } from '../base/path-bytes.js';
import { keptJailPlace } from './jail-place.js';
import { encodeFrame, FrameReader, frameBytes, readRequest, type WireFrame, wireKind } from './jail-wire.js';

const base = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-call-')));
const store = join(base, 'store');
const workspace = join(base, 'work');
const below = join(workspace, 'below', 'deeper');
const elsewhere = join(base, 'worker');
const program = join(base, 'program', 'ctx.cjs');
const servers: Server[] = [];
for (const directory of [store, below, elsewhere, dirname(program)])
  mkdirSync(directory, { recursive: true, mode: 0o700 });
writeFileSync(program, '');
/** In the place of Node's: it says that it was started. */
const path = `${join(base, 'bin')}:${process.env['PATH'] ?? ''}`;
mkdirSync(join(base, 'bin'));
writeFileSync(join(base, 'bin', 'node'), '#!/bin/sh\nprintf node\nexit 9\n', { mode: 0o755 });
after(() => {
  for (const server of servers) server.close();
  rmSync(base, { recursive: true });
});

type Answer = (socket: Socket, frame: WireFrame) => void;

interface KeptJail {
  heard: WireFrame[];
  answer: Answer;
}

async function keptJail(origin: string, fork: string): Promise<KeptJail> {
  const { directory, socketName } = keptJailPlace(store, origin, fork);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const jail: KeptJail = { heard: [], answer: () => undefined };
  const server = createServer((socket) => {
    const reader = new FrameReader();
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      for (const frame of reader.push(chunk)) {
        jail.heard.push(frame);
        jail.answer(socket, frame);
      }
    });
  });
  servers.push(server);
  // A path of a socket is short.
  const place = openSync(directory, 'r');
  await new Promise<void>((resolve) => server.listen(`/proc/self/fd/${place}/${socketName}`, resolve));
  closeSync(place);
  return jail;
}

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Asked {
  readonly cwd?: string;
  readonly input?: Buffer | number | 'ignore' | 'inherit';
  readonly environment?: Readonly<Record<string, string>>;
  readonly output?: number;
  readonly started?: (pid: number) => void;
}

async function call(words: readonly string[], asked: Asked = {}): Promise<Ended> {
  const { cwd = workspace, input = 'ignore', environment = {}, output = 'pipe', started } = asked;
  const child = spawn(nativeProgram('call'), [program, ...words], {
    cwd,
    env: { PATH: path, CTX_DATA: store, ...environment },
    stdio: [Buffer.isBuffer(input) ? 'pipe' : input, output, 'pipe'],
    timeout: 60_000,
    killSignal: 'SIGKILL',
  });
  let [stdout, stderr] = ['', ''];
  child.stdout?.on('data', (bytes: Buffer) => {
    stdout += bytes;
  });
  child.stderr?.on('data', (bytes: Buffer) => {
    stderr += bytes;
  });
  child.stdin?.on('error', () => undefined);
  if (Buffer.isBuffer(input)) child.stdin?.end(input);
  started?.(child.pid ?? 0);
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return { code, signal, stdout, stderr };
}

const exit = (code: number) => encodeFrame(wireKind.exit, Buffer.from([code]));
const said = (kind: 'output' | 'error', text: string) => encodeFrame(wireKind[kind], Buffer.from(text));
const node = { code: 9, signal: null, stdout: 'node', stderr: '' };
const answered = { code: 0, signal: null, stdout: '', stderr: '' };

describe('a verb beside a kept jail', async () => {
  const jail = await keptJail(workspace, 'main');
  const answering = async (answer: Answer, words: readonly string[], asked: Asked = {}) => {
    jail.heard = [];
    jail.answer = answer;
    return call(words, asked);
  };

  it('asks it where it is one that kept jails take, and no other verb does', async () => {
    const taken = ['exec', 'jail', 'hook', 'why', 'approvals'];
    for (const verb of [...taken, 'apply', 'exe', 'execs', 'status', '']) {
      const isTaken = taken.includes(verb);
      const ended = await answering((socket) => socket.end(exit(0)), [verb, 'word']);
      assert.deepEqual([ended, jail.heard.length > 0], [isTaken ? answered : node, isTaken], verb);
    }
    assert.equal((await answering((socket) => socket.end(exit(0)), [])).stdout, 'node');
  });

  it('asks that of its directory or of one above it, and none beside it', async () => {
    for (const [cwd, isAsked] of [
      [workspace, true],
      [dirname(below), true],
      [below, true],
      [base, false],
      [elsewhere, false],
      ['/', false],
    ] as const) {
      const ended = await answering((socket) => socket.end(exit(0)), ['exec', 'true'], { cwd });
      assert.deepEqual([ended, jail.heard.length > 0], [isAsked ? answered : node, isAsked], cwd);
    }
  });

  it('finds it also where a name above is not text, and in the root of all', async () => {
    const odd = Buffer.concat([Buffer.from(`${base}/`), Buffer.from([0xff, 0xe4])]);
    mkdirSync(odd);
    const other = await keptJail(decodePath(odd), 'main');
    other.answer = (socket) => socket.end(exit(4));
    const inside = await keptJail('/', 'main');
    inside.answer = (socket) => socket.end(exit(5));
    const cd = ['sh', '-c', 'cd "$(printf "%b" "$0")" && exec "$@"'];
    const words = [nativeProgram('call'), program, 'exec', 'x'];
    for (const [directory, code] of [
      [`${base}/\\0377\\0344`, 4],
      [elsewhere, 5],
      ['/', 5],
    ] as const) {
      const child = spawn(cd[0] ?? '', [...cd.slice(1), directory, ...words], {
        env: { PATH: path, CTX_DATA: store },
        stdio: 'ignore',
      });
      assert.equal((await once(child, 'close'))[0], code, directory);
    }
    servers.pop()?.close();
    servers.pop()?.close();
  });

  it('says its directory, its words, its environment and what it reads from, as they are', async () => {
    const file = openSync(program, 'r');
    const environment = { ODD: 'a=b\nc', EMPTY: '' };
    for (const [input, stdin] of [
      ['ignore', 'nothing'],
      [file, 'file'],
      [Buffer.from('x'), 'other'],
    ] as const) {
      await answering((socket) => socket.end(exit(0)), ['exec', '', '--', 'a b', 'ä'], {
        input,
        environment,
        cwd: below,
      });
      const [frame] = jail.heard;
      assert.ok(frame?.kind === wireKind.request);
      const request = readRequest(frame.payload);
      const build = [dirname(program), join(dirname(program), '..', 'native')].flatMap((each) => {
        const found = statSync(each, { bigint: true, throwIfNoEntry: false });
        return found === undefined ? [] : `${found.mtimeNs} ${found.ino} `;
      });
      assert.deepEqual(request, {
        directory: below,
        terminal: undefined,
        isTerminal: { stdin: false, stdout: false, stderr: false },
        stdin,
        build: build.join(''),
        words: ['exec', '', '--', 'a b', 'ä'],
        environment: { PATH: path, CTX_DATA: store, ...environment },
      });
    }
    closeSync(file);
  });

  it('is for Node where what it has to say is longer than a frame', async () => {
    const rest = 1_000;
    for (const [length, isAsked] of [
      [frameBytes - 20 * rest, true],
      [frameBytes + rest, false],
    ] as const) {
      const many = Object.fromEntries(
        Array.from({ length: 20 }, (_, at) => [`V${at}`, 'x'.repeat(Math.floor(length / 20))]),
      );
      const ended = await answering((socket) => socket.end(exit(0)), ['exec'], { environment: many });
      assert.deepEqual([ended, jail.heard.length > 0], [isAsked ? answered : node, isAsked], `${length}`);
    }
  });

  it('prints what it is told where it belongs, and ends with the code', async () => {
    for (const code of [0, 1, 3, 127, 255]) {
      const frames = [
        said('output', 'one'),
        said('error', 'bad'),
        said('output', ' two'),
        said('output', ''),
        exit(code),
      ];
      const ended = await answering((socket) => socket.end(Buffer.concat(frames)), ['exec']);
      assert.deepEqual(ended, { code, signal: null, stdout: 'one two', stderr: 'bad' });
    }
    const large = 'x'.repeat(frameBytes - 1);
    const ended = await answering((socket) => socket.end(Buffer.concat([said('output', large), exit(0)])), ['exec']);
    assert.equal(ended.stdout, large);
  });

  it('is for Node where the kept jail does not take it or says nothing, and lost where it ends after a word', async () => {
    const refused = encodeFrame(wireKind.refused, Buffer.from('why\n'));
    const tooLong = Buffer.alloc(5);
    tooLong.writeUInt32LE(frameBytes + 1);
    for (const verb of ['exec', 'hook', 'why']) {
      // Block, as a harness takes it.
      const lost = verb === 'hook' ? 2 : 70;
      const rows: readonly (readonly [name: string, bytes: Buffer, ended: Partial<Ended>])[] = [
        ['refused', refused, { ...node, stderr: 'why\n' }],
        ['nothing', Buffer.alloc(0), node],
        ['half a frame', exit(0).subarray(0, 5), node],
        ['a frame that is too long', tooLong, node],
        ['a frame of nothing', Buffer.alloc(5), node],
        ['a word', said('output', 'w'), { code: lost, stdout: 'w' }],
        [
          'a word and half a frame',
          Buffer.concat([said('output', 'w'), exit(0).subarray(0, 4)]),
          { code: lost, stdout: 'w' },
        ],
        ['an end without a code', encodeFrame(wireKind.exit), { code: lost, stdout: '' }],
      ];
      for (const [name, bytes, expected] of rows) {
        const ended = await answering((socket) => socket.end(bytes), [verb]);
        for (const [key, value] of Object.entries(expected)) {
          assert.equal(ended[key as keyof Ended], value, `${verb}, ${name}: ${key}`);
        }
        assert.equal(ended.stderr.includes('kept jail ended'), expected.code === lost, name);
      }
    }
  });

  it('is asked of the next kept jail where one does not take it, and once', async () => {
    const second = await keptJail(workspace, 'second');
    const refuse: Answer = (socket) => socket.end(encodeFrame(wireKind.refused));
    let asked = 0;
    for (const [one, other] of [
      [refuse, (socket: Socket) => socket.end(exit(6))],
      [(socket: Socket) => socket.end(exit(6)), refuse],
    ] as const) {
      second.heard = [];
      second.answer = other;
      assert.equal((await answering(one, ['exec'])).code, 6);
      asked += jail.heard.length + second.heard.length;
    }
    // Whichever comes first in the directory: one of the two orders asks both.
    assert.equal(asked, 3);
    second.heard = [];
    second.answer = refuse;
    assert.equal((await answering(refuse, ['exec'])).stdout, 'node');
    assert.deepEqual([jail.heard.length, second.heard.length], [1, 1]);
    servers.pop()?.close();
  });

  it('reads its input when it is asked for more and not before, whatever its size, and says where it ends', async () => {
    for (const size of [0, 1, 32 << 10, (32 << 10) + 1, 200_000]) {
      const input = Buffer.from(Uint8Array.from({ length: size }, (_, at) => at % 251));
      const pieces: Buffer[] = [];
      const ended = await answering(
        (socket, { kind, payload }) => {
          if (kind === wireKind.input) pieces.push(payload);
          if (kind === wireKind.input && payload.length === 0) return void socket.end(exit(0));
          socket.write(encodeFrame(wireKind.more));
        },
        ['exec', 'cat'],
        { input },
      );
      assert.equal(ended.code, 0);
      assert.ok(Buffer.concat(pieces).equals(input), `${size} bytes`);
      assert.ok(pieces.every(({ length }) => length <= 32 << 10));
    }
    await answering(
      (socket) => {
        socket.write(said('output', 'no more'));
        setTimeout(() => socket.end(exit(0)), 30);
      },
      ['exec', 'cat'],
      { input: Buffer.from('unread') },
    );
    assert.deepEqual(
      jail.heard.map(({ kind }) => kind),
      [wireKind.request],
    );
  });

  it('passes signals on to a command whose output nobody takes, and is ended by the fourth', async () => {
    const unread = join(base, 'unread');
    execFileSync('mkfifo', [unread]);
    const output = openSync(unread, 'r+');
    let [pid, sent] = [0, 0];
    const ended = await answering(
      (socket, { kind }) => {
        if (kind === wireKind.request) socket.write(said('output', 'x'.repeat(200_000)));
        sent += 1;
        if (sent <= 4) setTimeout(() => process.kill(pid, 'SIGTERM'), 20);
      },
      ['exec', 'yes'],
      {
        output,
        started: (found) => {
          pid = found;
        },
      },
    );
    closeSync(output);
    assert.deepEqual(ended, { code: 143, signal: null, stdout: '', stderr: '' });
    assert.equal(jail.heard.filter(({ kind }) => kind === wireKind.signal).length, 4);
  });

  it('passes signals on to a command, and is ended by them as any other verb', async () => {
    const numbers = { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGTERM: 15, SIGUSR1: 10, SIGUSR2: 12 } as const;
    for (const [signal, number] of Object.entries(numbers)) {
      let pid = 0;
      const send = () => process.kill(pid, signal);
      const started = (found: number) => {
        pid = found;
      };
      const command = await answering(
        (socket, { kind, payload }) => {
          // A word first: it has taken the signals by then.
          if (kind === wireKind.request) {
            socket.write(said('output', ''));
            setTimeout(send, 20);
          }
          if (kind === wireKind.signal) socket.end(exit(payload[0] ?? 0));
        },
        ['exec', 'sleep'],
        { started },
      );
      assert.equal(command.code, number, signal);
      const other = await answering(
        (_socket, { kind }) => {
          if (kind === wireKind.request) setTimeout(send, 20);
        },
        ['why'],
        { started },
      );
      assert.equal(other.signal, signal);
    }
  });

  it('is ended by the signal that comes after three of which the kept jail said nothing', async () => {
    let pid = 0;
    let heard = 0;
    const ended = await answering(
      (socket, { kind }) => {
        if (kind === wireKind.signal) heard += 1;
        if (kind === wireKind.request) {
          socket.write(said('output', ''));
          setTimeout(() => process.kill(pid, 'SIGTERM'), 20);
        }
        // It says something after the second, which is answered when it was read.
        else if (heard === 2 && kind === wireKind.signal) socket.write(encodeFrame(wireKind.more));
        else if (heard < 6) process.kill(pid, 'SIGTERM');
      },
      ['exec', 'sleep'],
      {
        started: (found) => {
          pid = found;
        },
      },
    );
    assert.deepEqual([ended.code, ended.signal, heard], [128 + 15, null, 6]);
    assert.match(ended.stderr, /the kept jail does not answer/);
  });

  it('fails where its output cannot be written', async () => {
    const full = openSync('/dev/full', 'w');
    const ended = await answering((socket) => socket.end(Buffer.concat([said('output', 'x'), exit(0)])), ['exec'], {
      output: full,
    });
    assert.equal(ended.code, 1);
    assert.match(ended.stderr, /write failed/);
    closeSync(full);
  });

  it('asks nobody where the store has no place, or where the directory was deleted', async () => {
    const paths = { PATH: path };
    const home = join(base, 'home');
    const shared = join(home, '.local', 'share');
    mkdirSync(shared, { recursive: true });
    execFileSync('ln', ['-s', store, join(shared, 'ctxfs')]);
    for (const [environment, isAsked] of [
      [{ CTX_DATA: '../store', HOME: home }, false],
      [{ CTX_DATA: '', HOME: home }, true],
      [{ CTX_DATA: '', XDG_DATA_HOME: shared }, true],
      [{ CTX_DATA: '', XDG_DATA_HOME: 'relative', HOME: home }, true],
      [{ CTX_DATA: '', XDG_DATA_HOME: elsewhere, HOME: home }, false],
      [{ CTX_DATA: '', HOME: 'relative' }, false],
      [{ CTX_DATA: `/${'x'.repeat(4_100)}`, HOME: home }, false],
    ] as const) {
      const ended = await answering((socket) => socket.end(exit(0)), ['exec'], {
        environment: { ...paths, ...environment },
      });
      assert.deepEqual(
        [ended.stdout, jail.heard.length > 0],
        [isAsked ? '' : 'node', isAsked],
        JSON.stringify(environment),
      );
    }
  });

  it('is started in no other way than by a path', () => {
    for (const words of [[], ['program'], ['--node'], ['--keeper', 'program']]) {
      assert.throws(
        () => execFileSync(nativeProgram('call'), words, { stdio: 'ignore' }),
        { status: 2 },
        words.join(' '),
      );
    }
    const output = (...words: readonly string[]) => {
      try {
        return execFileSync(nativeProgram('call'), words, {
          cwd: workspace,
          env: { PATH: path, CTX_DATA: store },
          encoding: 'utf8',
        });
      } catch (error) {
        return (error as { stdout: string }).stdout;
      }
    };
    jail.heard = [];
    assert.equal(output('--node', program, 'exec'), 'node');
    assert.equal(jail.heard.length, 0);
  });

  it('is not told to what others made: sockets that no kept jail made have other names', async () => {
    const { directory } = keptJailPlace(store, workspace, 'main');
    chmodSync(directory, 0o700);
    writeFileSync(join(directory, 'other.socket'), '');
    writeFileSync(join(directory, 'main.json'), '{}');
    assert.equal((await answering((socket) => socket.end(exit(0)), ['exec'])).code, 0);
    assert.equal(jail.heard.length, 1);
  });
});
