/** The library of a keeper, and a caller that is not `native/call`: all that it may send, and what becomes of it. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { until } from '../../test/support/process.js';
import { nativeProgram } from '../base/native-program.js';
import { loadKeeperLibrary } from './keeper-library.js';

const library = nativeProgram('keeper.node');
const { EINVAL, EINTR, EBADF, ENOTTY, ETIME, ECHILD } = constants.errno;

/** Runs what the first word of a request says, in a copy; `refuse` is refused. Each request is a line on its stdout. */
const keeperScript = `
const fs = require('node:fs');
const k = {exports: {}};
process.dlopen(k, process.argv[1]);
const library = k.exports;
const say = (value) => fs.writeSync(1, JSON.stringify(value) + '\\n');
const tried = [];
for (const act of ['library.end(7)', 'library.end(300)', 'process.abort()', 'for (;;) ;']) {
  const copy = library.try();
  if (copy === 0) eval(act);
  tried.push(library.tried(copy, act.startsWith('for') ? 50 : 20000));
}
const directory = fs.openSync(process.argv[2], fs.constants.O_RDONLY);
if (library.listen(directory, 'socket') !== 0) process.exit(1);
say({ tried });
const bytes = Buffer.alloc(4096);
for (;;) {
  if (library.followed() === 0 && library.make() === 0) {
    const size = library.await(bytes);
    const words = bytes.toString('latin1', 5, size).split('\\0');
    const from = 5 + words[0].length + 1;
    if (library.become(bytes, from, size) !== Number(fs.readlinkSync('/proc/self'))) process.exit(1);
    const hasNone = fs.readFileSync('/proc/self/environ', 'latin1') === '';
    const environment = hasNone ? '' : Object.entries(process.env);
    const seen = { words: words[0], cwd: fs.readlinkSync('/proc/self/cwd'), environment };
    fs.writeSync(1, JSON.stringify(seen));
    if (words[0] === 'exit') library.end(41);
    if (words[0] === 'idle') { setTimeout(() => fs.writeSync(2, 'late'), 30); library.endWhenIdle(42); break; }
    if (words[0] === 'abort') process.abort();
    if (words[0] === 'hang') for (;;) fs.readSync(0, Buffer.alloc(1));
    library.end(1);
  }
  const size = library.next(bytes, 20000);
  if (size < 0) { say({ next: size, running: library.running() }); process.exit(0); }
  if (size === 0) continue;
  const text = bytes.toString('latin1', 5, size);
  say({ size, peer: bytes.readInt32LE(0), streams: bytes[4], text });
  if (text.startsWith('refuse')) library.refuse();
  else library.give();
}
`;

/** One request after the other, each as it is described; a list of what was heard. */
const callerScript = `
import array, fcntl, json, os, pty, socket, sys
place, specs = sys.argv[1], json.loads(sys.argv[2])
os.chdir(place)
results = []
for spec in specs:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.settimeout(30)
    connection.connect(os.path.join(place, 'socket'))
    heard = []
    def hear(size=64):
        got = connection.recv(size)
        number = int.from_bytes(got[1:], 'little', signed=True) if len(got) > 1 else None
        heard.append([chr(got[0]), number] if got else None)
        return got
    hear()
    kind, opened = spec.get('file', 'memory'), []
    def keep(descriptor):
        opened.append(descriptor)
        return descriptor
    if kind == 'memory':
        request = keep(os.memfd_create('request', os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC))
        os.write(request, spec['text'].encode('latin1'))
        fcntl.fcntl(request, 1033, spec.get('seals', 2 | 4 | 8))
    elif kind == 'pipe':
        request, other = os.pipe()
        keep(request), keep(other)
    else:
        request = keep(os.open(spec['file'], os.O_RDONLY))
    terminal = spec.get('terminals', 0)
    master, slave = pty.openpty() if terminal & 7 else (None, None)
    if master is not None: keep(master), keep(slave)
    null = keep(os.open('/dev/null', os.O_RDWR))
    out_read, out_write = os.pipe()
    error_read, error_write = os.pipe()
    for each in (out_read, error_read): keep(each)
    streams = [null, out_write, error_write]
    streams = [slave if terminal & (1 << place) else each for place, each in enumerate(streams)]
    one, other = socket.socketpair()
    directory = keep(os.open(spec.get('directory', '/'), os.O_PATH))
    sent = [request, directory, *streams, one.fileno() if terminal & 8 else request]
    sent = (sent + [null] * 8)[:spec.get('many', 6)]
    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', sent))] if sent else []
    connection.sendmsg([spec.get('kind', 'A').encode()], ancillary)
    os.close(out_write), os.close(error_write)
    answer = hear()
    if answer[:1] == b'R':
        go = spec.get('go', 'G')
        if go: connection.send(go.encode())
        if spec.get('leave'):
            os.read(out_read, 1)
            connection.close()
        else:
            while True:
                got = hear()
                if not got or got[:1] == b'S' or got[:1] == b'D': break
    elif answer:
        hear()
    process = int.from_bytes(answer[1:5], 'little') if answer[:1] == b'R' else 0
    output = b''
    while chunk := os.read(out_read, 65536): output += chunk
    errors = b''
    while chunk := os.read(error_read, 65536): errors += chunk
    results.append({'heard': heard, 'output': output.decode('latin1'), 'errors': errors.decode(), 'process': process})
    for each in (connection, one, other): each.close()
    for each in opened: os.close(each)
print(json.dumps({'pid': os.getpid(), 'results': results}))
`;

interface Spec {
  readonly text?: string;
  readonly file?: string;
  readonly seals?: number;
  readonly many?: number;
  readonly kind?: string;
  readonly terminals?: number;
  readonly directory?: string;
  readonly go?: string;
  readonly leave?: boolean;
}
interface Result {
  readonly heard: readonly (readonly [string, number | null] | null)[];
  readonly output: string;
  readonly errors: string;
  readonly process: number;
}

describe('a keeper of its library alone', () => {
  let place = '';
  let keeper: ChildProcess;
  const said: string[] = [];

  before(async () => {
    place = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-keeper-wire-')));
    const words = ['--single-threaded', '-e', keeperScript, library, place];
    keeper = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'ignore'], cwd: '/' });
    keeper.stdout?.setEncoding('utf8').on('data', (text: string) => said.push(...text.trimEnd().split('\n')));
    await new Promise((resolve) => keeper.stdout?.once('data', resolve));
  });
  after(() => {
    keeper.kill('SIGKILL');
    rmSync(place, { recursive: true });
  });

  const descriptors = () => readdirSync(`/proc/${keeper.pid}/fd`).length;
  async function call(specs: readonly Spec[]): Promise<{ readonly pid: number; readonly results: readonly Result[] }> {
    const child = spawn('python3', ['-c', callerScript, place, JSON.stringify(specs)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    assert.equal(await new Promise((resolve) => child.once('close', resolve)), 0);
    return JSON.parse(text);
  }
  /** Of a process that has ended, once it has. */
  const ended = async (pid: number) => {
    for (;;) {
      try {
        process.kill(pid, 0);
      } catch {
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };

  it('tells how a process ended that runs no call: its code, that it was killed, or that it did not end', () => {
    assert.deepEqual(JSON.parse(said[0] ?? ''), { tried: [7, 300 & 0xff, -ECHILD, -ETIME] });
  });

  it('answers nothing to what is no request, and keeps nothing of it open', async () => {
    writeFileSync(join(place, 'plain'), 'refuse\0');
    mkdirSync(join(place, 'directory'));
    const bad: readonly Spec[] = [
      ...['X', 'AA', 'G'].map((kind) => ({ text: 'refuse\0', kind })),
      ...[0, 1, 5, 7, 8].map((many) => ({ text: 'refuse\0', many })),
      ...[0, 2, 4, 8, 2 | 4, 2 | 8, 4 | 8].map((seals) => ({ text: 'refuse\0', seals })),
      ...['pipe', 'plain', 'directory', '/dev/null'].map((file) => ({ file })),
      ...['', 'refuse', `${'x'.repeat(4091)}\0`, 'x'.repeat(4090)].map((text) => ({ text })),
    ];
    await call([{ text: 'refuse\0' }]);
    const before = descriptors();
    const heardBefore = said.length;
    const { results } = await call(bad);
    for (const [index, { heard }] of results.entries()) {
      const isCold = heard.length === 3 && heard[1]?.[0] === 'C' && heard[2] === null;
      assert.ok(
        heard[0]?.[0] === 'H' && (isCold || heard[1] === null),
        `${JSON.stringify(bad[index])}: ${JSON.stringify(heard)}`,
      );
    }
    await call([{ text: 'refuse\0' }]);
    await until(() => said.length > heardBefore, 'it has the next');
    assert.equal(said.length, heardBefore + 1, 'and had none of these');
    assert.equal(descriptors(), before);
  });

  it('is told who asks and which streams are terminals, up to as many bytes as it has room for', async () => {
    const specs = [0, 1, 2, 4, 7, 8, 15].map((terminals) => ({ text: `refuse ${terminals}\0`, terminals }));
    const large = `refuse ${'x'.repeat(4091 - 8)}\0`;
    const heardBefore = said.length;
    const { pid, results } = await call([...specs, { text: large }]);
    for (const { heard } of results) assert.deepEqual(heard, [['H', null], ['C', null], null]);
    await until(() => said.length >= heardBefore + specs.length + 1, 'it has them all');
    const seen = said.slice(heardBefore).map((line) => JSON.parse(line));
    const expected = specs.map(({ text, terminals }) => ({
      size: 5 + text.length,
      peer: pid,
      streams: terminals,
      text,
    }));
    assert.deepEqual(seen, [...expected, { size: 5 + large.length, peer: pid, streams: 0, text: large }]);
  });

  it('runs a call in a copy that has its directory, streams and environment, and says how that ended', async () => {
    const environment = 'A=1\0B=\0C=x=y\0';
    const { results } = await call([
      { text: `exit\0${environment}`, directory: place },
      { text: `idle\0${environment}`, directory: '/usr' },
      { text: 'abort\0' },
      { text: 'exit\0' },
    ]);
    const [exit, idle, abort, empty] = results;
    assert.deepEqual(exit?.heard.slice(2), [
      ['E', 41],
      ['S', 41 << 8],
    ]);
    assert.deepEqual(JSON.parse(exit?.output ?? '').cwd, place);
    assert.deepEqual(JSON.parse(exit?.output ?? '').environment, [
      ['A', '1'],
      ['B', ''],
      ['C', 'x=y'],
    ]);
    assert.deepEqual(idle?.heard.slice(2), [['D', 42]]);
    assert.deepEqual([JSON.parse(idle?.output ?? '').cwd, idle?.errors], ['/usr', 'late']);
    const [, status] = abort?.heard.at(-1) ?? [];
    assert.equal((status ?? 0) & 0x7f, constants.signals.SIGABRT);
    assert.equal(abort?.heard.at(-1)?.[0], 'S');
    assert.deepEqual(empty?.heard.slice(2), [
      ['E', 41],
      ['S', 41 << 8],
    ]);
    for (const { process: pid, heard } of results)
      assert.deepEqual(
        [heard[0], heard[1]],
        [
          ['H', null],
          ['R', pid],
        ],
      );
  });

  it('does nothing of a call whose caller goes away before it says so, or says something else', async () => {
    const before = descriptors();
    const { results } = await call([
      { text: 'exit\0', go: 'X' },
      { text: 'exit\0', go: 'H' },
      { text: 'exit\0', go: 'G' },
    ]);
    for (const { output, heard, process: pid } of results.slice(0, 2)) {
      // Nothing of an end: a caller that says it just then must not hear that its call has ended well.
      assert.deepEqual([output, heard.at(-1)], ['', null]);
      await ended(pid);
    }
    assert.notEqual(results[2]?.output, '');
    assert.equal(descriptors(), before);
  });

  it('ends the process of a caller that goes away, and serves the next', async () => {
    const { results } = await call([{ text: 'hang\0', terminals: 1, leave: true }, { text: 'exit\0' }]);
    await ended(results[0]?.process ?? 0);
    assert.deepEqual(results[1]?.heard.at(-1), ['S', 41 << 8]);
  });

  it('hears SIGTERM, and SIGUSR1 opens no debugger', async () => {
    const closed = new Promise((resolve) => keeper.once('close', resolve));
    keeper.kill('SIGUSR1');
    assert.deepEqual((await call([{ text: 'refuse\0' }])).results[0]?.heard[1], ['C', null]);
    keeper.kill('SIGTERM');
    assert.equal(await closed, 0);
    assert.deepEqual(JSON.parse(said.at(-1) ?? ''), { next: -EINTR, running: 0 });
  });
});

describe('a function of the library', () => {
  const loaded = loadKeeperLibrary(library);

  it('answers an errno below zero to what it cannot do', () => {
    assert.equal(loaded.next(Buffer.alloc(5), 0), -EINVAL);
    assert.equal(loaded.next(Buffer.alloc(6), 0), 0);
    assert.equal((loaded.next as unknown as (bytes: string, time: number) => number)('', 0), -EINVAL);
    assert.equal(loaded.await(Buffer.alloc(5)), -EINVAL);
    assert.equal(loaded.hold(-1), -EBADF);
    assert.equal(loaded.hold(2), 0);
    assert.ok(loaded.listen(-1, 'name') < 0);
    assert.equal(loaded.give(), -EINVAL);
    assert.equal(loaded.refuse(), 0);
    for (const [from, to] of [
      [0, 0],
      [5, 3],
      [-1, 2],
    ] as const)
      assert.equal(loaded.become(Buffer.alloc(8), from, to), -EINVAL);
    assert.deepEqual([loaded.terminal(), loaded.typed()], [-ENOTTY, -ENOTTY]);
    assert.deepEqual([loaded.running(), loaded.followed()], [0, 0]);
    for (const process of [0, -1, 999_999_999]) assert.equal(loaded.tried(process, 0), -EINVAL);
    assert.ok(loaded.priority(process.pid) >= 0);
    assert.ok(loaded.priority(999_999_999) < 0);
  });

  it('calls nothing alike whose names it has no room for', () => {
    const own = process.pid;
    assert.equal(loaded.alike(own, own, ' Uid ', ' ', ' user '), 1);
    for (const long of [' Uid '.padEnd(1023), ' Uid '.padEnd(5000)]) {
      assert.equal(loaded.alike(own, own, long, ' ', ' user '), 0);
      assert.equal(loaded.alike(own, own, ' Uid ', long, ' user '), 0);
      assert.equal(loaded.alike(own, own, ' Uid ', ' ', long), 0);
    }
  });
});
