import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, copyFileSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readProcessTable } from './process-table.js';
import { hear, type ProgramStream, Starter } from './starter.js';

const library = fileURLToPath(new URL('../../../native/start.node', import.meta.url));
const starter = new Starter(library);
const words = (...all: readonly string[]) => Buffer.from(all.map((word) => `${word}\0`).join(''));
/** The three that every program has, and those beyond. */
const standard = ([input = 'nothing', output = 'nothing', errors = 'nothing', ...others]: readonly ProgramStream[]) => [
  input,
  output,
  errors,
  ...others,
];
const shell = (script: string, ...streams: readonly ProgramStream[]) =>
  starter.start('/bin/sh', words('sh', '-c', script), standard(streams));

async function heardFrom(descriptor: number): Promise<string> {
  let text = '';
  await hear(descriptor, (chunk) => {
    text += chunk.toString();
  });
  return text;
}

describe('a program that is started without a copy of this process', () => {
  const directory = mkdtempSync(join(tmpdir(), 'ctx-starter-'));
  after(() => rmSync(directory, { recursive: true, force: true }));

  test('says what it has to say, more than a pipe holds, and how it ended', async () => {
    const program = shell('seq 100000; echo problem >&2; exit 7', 'nothing', 'heard', 'heard');
    const [output, errors] = await Promise.all([heardFrom(program.end(1)), heardFrom(program.end(2))]);
    assert.equal(output.split('\n').length, 100_001);
    assert.equal(errors, 'problem\n');
    assert.deepEqual(program.wait(), { code: 7, signal: null });
  });

  test('reads what it is told until we close', async () => {
    const program = shell('cat', 'told', 'heard');
    const heard = heardFrom(program.end(1));
    writeSync(program.end(0), 'hello');
    closeSync(program.end(0));
    assert.equal(await heard, 'hello');
    assert.deepEqual(program.wait(), { code: 0, signal: null });
  });

  test('gets signals, and none after its end was taken', async () => {
    const program = shell('echo ready; exec sleep 1000', 'nothing', 'heard');
    await hear(program.end(1), () => program.signal('SIGKILL'));
    assert.deepEqual(program.wait(), { code: null, signal: 'SIGKILL' });
    program.signal('SIGKILL');
  });

  test('has the default for every signal, hears none before it says so, has no environment, and no descriptor but those it is given', async () => {
    const other = openSync('/dev/null', 'r');
    const run = async (program: string, ...args: readonly string[]) => {
      const started = starter.start(program, words(program, ...args), standard(['nothing', 'heard']));
      const text = await heardFrom(started.end(1));
      assert.equal(started.wait().code, 0);
      return text.trim().split('\n');
    };
    const signals = await run('/bin/grep', '-E', '^Sig(Blk|Ign)', '/proc/self/status');
    assert.deepEqual(
      signals.map((line) => line.replace(/\s/, ' ')),
      // All but SIGKILL, SIGSTOP and two of the C library's own.
      ['SigBlk: fffffffe7ffbfeff', 'SigIgn: 0000000000000000'],
    );
    assert.deepEqual(await run('/usr/bin/env'), ['']);
    // The last is the directory that it looks at.
    assert.deepEqual(await run('/bin/ls', '/proc/self/fd'), ['0', '1', '2', '3']);
    closeSync(other);
  });

  // The starter waits until it has begun, where nothing stops it: the shell would wait for a job that never stops.
  test('is not stopped before it has begun, so that the key that stops a job stops the starter', () => {
    const path = join(directory, 'held');
    copyFileSync('/bin/true', path);
    const script = `
const { Starter } = await import(${JSON.stringify(new URL('starter.js', import.meta.url).href)});
const start = () => new Starter(${JSON.stringify(library)}).start(process.argv[1], Buffer.from('x\\0'), Array(3).fill('nothing'));
process.exit(start().wait().code);`;
    // A lease keeps a program from being opened until its holder gives it back.
    const hold = `
import fcntl, os, signal, sys, time
path, *words = sys.argv[1:]
file = os.open(path, os.O_RDWR)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGIO])
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
starter = os.fork()
if starter == 0:
    os.close(file)
    os.setpgid(0, 0)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGIO])
    os.execv(words[0], [*words, path])
signal.sigwait([signal.SIGIO])
os.killpg(starter, signal.SIGTSTP)
time.sleep(0.2)
os.close(file)
for _ in range(100):
    ended, status = os.waitpid(starter, os.WNOHANG | os.WUNTRACED)
    if ended: break
    time.sleep(0.1)
print(ended != 0 and os.WIFSTOPPED(status))
os.killpg(starter, signal.SIGCONT)
if ended: ended, status = os.waitpid(starter, 0)
else: os.killpg(starter, signal.SIGKILL)
print(status)`;
    const given = ['-c', hold, path, process.execPath, '--input-type=module', '-e', script];
    const { stdout, stderr } = spawnSync('python3', given, { encoding: 'utf8', timeout: 30_000 });
    assert.equal(stdout, 'True\n0\n', stderr);
  });

  test('gets nothing that this process was given by another, however many streams it has', () => {
    const most = 25;
    const script = `
const { hear, Starter } = await import(${JSON.stringify(new URL('starter.js', import.meta.url).href)});
const starter = new Starter(${JSON.stringify(library)});
for (let count = 3; count <= ${most}; count += 1) {
  const streams = Array.from({ length: count }, (_, place) => (place === 1 ? 'heard' : 'nothing'));
  const program = starter.start('/bin/ls', Buffer.from('ls\\0/proc/self/fd\\0'), streams);
  let text = '';
  await hear(program.end(1), (chunk) => { text += chunk; });
  program.wait();
  console.log(text.trim().split('\\n').map(Number).sort((one, other) => one - other).join());
}`;
    // Node keeps what it was given to itself, but only as far as there is no gap.
    const begin = `
import os, sys
null = os.open('/dev/null', os.O_RDONLY)
for number in range(17, ${most + 10}): os.dup2(null, number)
os.execv(sys.argv[1], sys.argv[1:])`;
    const words = ['-c', begin, process.execPath, '--input-type=module', '-e', script];
    const { stdout, stderr } = spawnSync('python3', words, { encoding: 'utf8' });
    const seen = stdout.trim().split('\n');
    // The last is the directory that it looks at.
    const expected = Array.from({ length: most - 2 }, (_, more) =>
      Array.from({ length: more + 4 }, (_, at) => at).join(),
    );
    assert.deepEqual(seen, expected, stderr);
  });

  test('gets each descriptor at its place, however they cross, and leaves none open here', async () => {
    const before = readdirSync('/proc/self/fd').length;
    const files = ['a', 'b', 'c', 'd'].map((name) => openSync(join(directory, name), 'w'));
    const [a = 0, b = 0, c = 0, d = 0] = files;
    const program = shell(
      'echo 1 >&3; echo 2 >&4; echo 3 >&5; echo 4 >&6',
      'nothing',
      'nothing',
      'nothing',
      d,
      c,
      b,
      a,
    );
    assert.equal(program.wait().code, 0);
    for (const file of files) closeSync(file);
    const written = ['a', 'b', 'c', 'd'].map((name) => readFileSync(join(directory, name), 'utf8'));
    assert.deepEqual(written, ['4\n', '3\n', '2\n', '1\n']);
    assert.equal(readdirSync('/proc/self/fd').length, before);
  });

  test('that cannot be started where few files may be open says which limit to raise', () => {
    const script = `import { Starter } from ${JSON.stringify(new URL('./starter.js', import.meta.url).href)};
      const words = Buffer.from('true\\0');
      try { new Starter(process.argv[1]).start('/bin/true', words, ['nothing', 'heard', 'heard']); }
      catch (error) { console.log(error.code, error.remedy); }`;
    const argv = [
      '-c',
      'ulimit -n "$0"; exec "$@"',
      '24',
      process.execPath,
      '--input-type=module',
      '-e',
      script,
      library,
    ];
    const { stdout, stderr } = spawnSync('sh', argv, { encoding: 'utf8' });
    assert.match(stdout, /^EMFILE raise the limit of open files \(ulimit -n\)$/m, stderr);
  });

  test('that cannot be started is the error it would be elsewhere, and leaves nothing open, nor a process', () => {
    const before = readdirSync('/proc/self/fd').length;
    const start = (program: string, ...streams: readonly ProgramStream[]) =>
      starter.start(program, words('x'), standard(streams));
    assert.throws(() => start('/no/such/program', 'heard', 'told'), { code: 'ENOENT' });
    assert.throws(() => start('/etc/passwd', 'heard'), { code: 'EACCES' });
    assert.throws(() => start('/bin/true', 'heard', 999_999), { code: 'EBADF' });
    assert.throws(() => starter.start('/bin/true', words('true'), ['nothing', 'heard']), { code: 'EINVAL' });
    assert.throws(() => starter.start('/bin/true', Buffer.from('cut'), standard([])), { code: 'EINVAL' });
    assert.equal(readdirSync('/proc/self/fd').length, before);
    const left = [...readProcessTable()].filter(([, { parent }]) => parent === process.pid);
    assert.deepEqual(left, [], 'each that was begun has been waited for');
  });
});
