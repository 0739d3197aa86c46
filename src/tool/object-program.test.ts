/**
 * `native/object` against an owner that says whatever it likes: what it does to files, where it ends, and with which code. Its socket has
 * one place, so all of it is in a mount namespace of its own, in one process there that prints what it saw.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { constants } from 'node:os';
import { before, describe, it } from 'node:test';
import { nativeProgram } from '../base/native-program.js';

const own = ['-Urm'];
const skip = spawnSync('unshare', [...own, 'true']).status === 0 ? false : 'this user may make no namespace of its own';
const { errno } = constants;
const mebibyte = 1 << 20;

const program = `
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { createServer, Socket } from 'node:net';
const { ObjectFrames, objectFrame } = await import(${JSON.stringify(new URL('wire.js', import.meta.url).href)});
const tool = '/run/ctx/own.tool';
fs.copyFileSync(${JSON.stringify(nativeProgram('object'))}, tool);
fs.mkdirSync('/run/work/root/directory', { recursive: true });
process.chdir('/run/work');
process.umask(0o027);
fs.writeFileSync('outside', 'outside');
fs.writeFileSync('root/file', 'content');
fs.writeFileSync('root/directory/file', 'deep');
fs.writeFileSync('root/large', Buffer.alloc(${mebibyte} + 5, 'x'));
for (const [target, name] of [
  ['file', 'link'], ['directory', 'inner'], ['..', 'above'], ['../outside', 'out'], ['/run/work/outside', 'absolute'],
  ['/proc/self/cwd', 'magic'], ['missing', 'dangling'],
]) fs.symlinkSync(target, 'root/' + name);
execFileSync('mkfifo', ['root/pipe']);

let serve;
const server = createServer((socket) => { socket.on('error', () => undefined); serve(socket); });
server.listen('/run/ctx/view.sock');
await once(server, 'listening');

/** Runs it, with an owner that gets its call and answers with these bytes. */
async function run({ words = [], input = '', cwd = '/run/work', answer }) {
  const heard = [];
  serve = (socket) => {
    const frames = new ObjectFrames();
    socket.on('data', async (chunk) => {
      for (const frame of frames.push(chunk)) {
        heard.push([frame.kind, frame.payload]);
        await answer?.(socket, frame);
      }
    });
  };
  const child = spawn(tool, words, { cwd });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (bytes) => { stdout += bytes; });
  child.stderr.on('data', (bytes) => { stderr += bytes; });
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const [code] = await once(child, 'close');
  return { code, stdout, stderr, heard };
}
const exit = (code) => objectFrame('C', Buffer.from([code]));
const results = {};

results.inputs = [];
for (const [words, input] of [
  [[], ''], [[], '{}'], [['{"a":1}'], 'unread'], [[''], 'unread'],
  [[], Buffer.alloc(${mebibyte}, 'y')], [[], Buffer.alloc(${mebibyte} + 1, 'y')], [['a', 'b'], ''], [['--help'], ''], [['-h'], ''],
]) {
  const { code, heard } = await run({ words, input, answer: (socket) => socket.end(exit(0)) });
  const [kind, payload] = heard[0] ?? [];
  const strings = payload?.toString('latin1').split('\\0');
  results.inputs.push([code, kind, strings?.slice(0, 2), strings?.slice(2).join('').length, heard.length]);
}

results.answers = [];
const big = objectFrame('O', Buffer.alloc(5));
big.writeUInt32LE(${mebibyte} + 65536 + 1, 0);
for (const bytes of [
  exit(0), exit(1), exit(13), exit(255),
  Buffer.concat([objectFrame('O', Buffer.from('out')), objectFrame('E', Buffer.from('err')), objectFrame('O', Buffer.alloc(0)), exit(3)]),
  objectFrame('C', Buffer.alloc(0)), objectFrame('C', Buffer.from([0, 0])), objectFrame('Z', Buffer.from([0])),
  Buffer.alloc(0), objectFrame('O', Buffer.from('half')), exit(0).subarray(0, 4), big, Buffer.alloc(5),
]) {
  const { code, stdout, stderr } = await run({ answer: (socket) => socket.end(bytes) });
  results.answers.push([code, stdout, stderr !== '']);
}

/** One request to a file, as bytes, and what came back. */
async function done(request) {
  let reply;
  const { code } = await run({
    answer: (socket, { kind, payload }) => {
      if (kind === 'R') return socket.write(objectFrame('F', request));
      reply = payload;
      socket.end(exit(0));
    },
  });
  return code === 0 ? reply : undefined;
}
function request(what, path, { flags = 0, offset = 0, length = 0, bytes = '', root = '/run/work/root' } = {}) {
  const head = Buffer.alloc(17);
  head.write(what, 0, 'latin1');
  head.writeUInt32LE(flags, 1);
  head.writeBigUInt64LE(BigInt(offset), 5);
  head.writeUInt32LE(length, 13);
  return Buffer.concat([head, Buffer.from(root + '\\0' + path + '\\0'), Buffer.from(bytes)]);
}
const [isNew, parents, more] = [1, 2, 4];
results.files = {};
const paths = ['file', 'directory', 'directory/file', 'inner/file', 'link', 'pipe', 'missing', 'dangling', '.', '..', 'above/outside',
  'out', 'absolute', 'magic', 'magic/outside', '/run/work/outside', 'file/below', ''];
for (const path of paths) {
  const row = (results.files[path] = []);
  for (const [what, options] of [['r', { length: 100 }], ['s', {}], ['l', {}], ['w', { flags: more, bytes: '' }]]) {
    const reply = await done(request(what, path, options));
    row.push(reply.readUInt32LE(0));
  }
}
results.read = [];
for (const [offset, length] of [[0, ${mebibyte}], [0, ${mebibyte} + 1], [3, 4], [${mebibyte}, 100], [${mebibyte} + 5, 1], [2 ** 40, 1], [0, 0]]) {
  const reply = await done(request('r', 'large', { offset, length }));
  results.read.push([reply.readUInt8(4), reply.readUInt32LE(5), Number(reply.readBigUInt64LE(9)), reply.length - 25]);
}
fs.utimesSync('root/file', 1, 1_234_567);
fs.chmodSync('root/file', 0o4751);
const about = await done(request('s', 'file'));
results.about = [about.readUInt8(4), about.readUInt32LE(5), Number(about.readBigUInt64LE(9)), Number(about.readBigUInt64LE(17))];
results.target = (await done(request('s', 'out'))).toString('latin1', 25);

results.written = [];
for (const [path, flags, offset, bytes] of [
  ['new', isNew, 0, 'first'], ['new', isNew, 0, 'second'], ['new', 0, 0, 'x'], ['new', more, 1, 'yz'], ['new', more, 0, 'w'],
  ['none', more, 0, 'x'], ['plain', 0, 0, 'made'], ['link', 0, 0, 'through'], ['link', isNew, 0, 'x'], ['dangling', isNew, 0, 'x'],
  ['a/b/c', 0, 0, 'x'], ['a/b/c', parents, 0, 'deep'], ['a/b/d', parents | isNew, 0, ''], ['inner/e/f', parents, 0, 'x'],
  ['above/g/h', parents, 0, 'x'], ['out/g', parents, 0, 'x'], ['magic/i/j', parents, 0, 'x'], ['../k/l', parents, 0, 'x'],
  ['file/m/n', parents, 0, 'x'], ['x'.repeat(255) + '/y', parents, 0, 'x'], ['x'.repeat(256) + '/y', parents, 0, 'x'],
  ['y/'.repeat(2_100) + 'z', parents, 0, 'x'], ['pipe', 0, 0, 'x'], ['directory', 0, 0, 'x'],
]) {
  const reply = await done(request('w', path, { flags, offset, bytes }));
  let now;
  try { now = path === 'pipe' ? '' : fs.readFileSync('root/' + path, 'utf8'); } catch (error) { now = error.code; }
  results.written.push([path.slice(0, 20), reply.readUInt32LE(0), reply.length, now]);
}
results.modes = [fs.statSync('root/new').mode & 0o7777, fs.statSync('root/a').mode & 0o7777];
results.around = fs.readdirSync('/run/work').sort();

results.lists = [];
fs.mkdirSync('root/many');
const name = (at) => String(at).padStart(200, 'n');
for (const count of [1, 4_000, 6_000]) {
  for (let at = 0; at < count; at += 1) fs.closeSync(fs.openSync('root/many/' + name(at), 'w'));
  const reply = await done(request('l', 'many'));
  const names = reply.toString('latin1', 5).match(/[n0-9]{200}/g).length;
  results.lists.push([reply.readUInt8(4), names === count, reply.length <= ${mebibyte}]);
}
fs.mkdirSync('root/single');
fs.writeFileSync('root/single/file', 'deep');
const listed = await done(request('l', 'single'));
results.listed = [listed.readUInt8(4), listed.readUInt8(5), Number(listed.readBigUInt64LE(6)), listed.toString('latin1', 14)];

results.malformed = [];
for (const bytes of [
  Buffer.alloc(0), Buffer.alloc(16), Buffer.alloc(17), request('s', 'file').subarray(0, 30), request('s', 'file').subarray(0, -1),
  request('q', 'file'), request('s', 'file', { root: '/run/none' }), request('s', 'file', { root: '/run/work/outside' }),
]) {
  const reply = await done(bytes);
  results.malformed.push([reply.readUInt32LE(0), reply.length]);
}

/** Its streams are another process's, too, which does not want to block: its input comes late, and its output is read late. */
execFileSync('mkfifo', ['late-in', 'late-out']);
const { O_RDONLY, O_WRONLY, O_NONBLOCK } = fs.constants;
const [input, gives] = [O_RDONLY, O_WRONLY].map((flag) => fs.openSync('late-in', flag | O_NONBLOCK));
const [reads, output] = [O_RDONLY, O_WRONLY].map((flag) => fs.openSync('late-out', flag | O_NONBLOCK));
let asked;
serve = (socket) => {
  const frames = new ObjectFrames();
  socket.on('data', (chunk) => {
    for (const { payload } of frames.push(chunk)) {
      asked = payload;
      socket.end(Buffer.concat([objectFrame('O', Buffer.alloc(300_000, 'z')), exit(0)]));
    }
  });
};
const patient = spawn(tool, [], { stdio: [input, output, 'ignore'] });
// Node makes what it starts a program with block, and what it has itself not.
const shared = [input, output].map((fd) => new Socket({ fd, readable: false, writable: true }));
let code;
patient.once('exit', (ended) => { code = ended; });
const moment = () => new Promise((resolve) => setTimeout(resolve, 20));
await moment();
fs.writeSync(gives, '{}');
fs.closeSync(gives);
const some = Buffer.alloc(65_536);
let heardBytes = 0;
for (let ended = false; !ended; ) {
  ended = code !== undefined;
  await moment();
  try {
    for (let got; (got = fs.readSync(reads, some)) > 0; ) heardBytes += got;
  } catch (error) {
    if (error.code !== 'EAGAIN') throw error;
  }
}
results.shared = [code, asked?.toString().split('\\0').at(-1), heardBytes];
for (const socket of shared) socket.destroy();

/** Streams that its caller has closed, which are the next descriptors that it gets. */
results.closed = [];
for (const closed of ['<&-', '>&-', '2>&-', '<&- >&- 2>&-']) {
  for (const words of ["'{}'", '']) {
    let calls = 0;
    serve = (socket) => {
      const frames = new ObjectFrames();
      socket.on('data', (chunk) => {
        for (const {} of frames.push(chunk)) calls += 1;
        socket.end(Buffer.concat([objectFrame('E', Buffer.from('err')), objectFrame('O', Buffer.from('out')), exit(0)]));
      });
    };
    const one = spawn('sh', ['-c', 'timeout 10 ' + tool + ' ' + words + ' ' + closed], { stdio: ['ignore', 'pipe', 'ignore'] });
    let printed = '';
    one.stdout.on('data', (bytes) => { printed += bytes; });
    results.closed.push([closed, words !== '', (await once(one, 'close'))[0], printed, calls]);
  }
}

fs.mkdirSync('/run/gone');
const late = spawn('sh', ['-c', 'cd /run/gone && rmdir /run/gone && exec ' + tool], { stdio: 'ignore' });
results.gone = (await once(late, 'close'))[0];
server.close();
fs.rmSync('/run/ctx/view.sock', { force: true });
results.unserved = (await run({})).code;
console.log(JSON.stringify(results));
`;

type Results = Readonly<Record<string, unknown>> & { readonly files: Readonly<Record<string, readonly number[]>> };

describe('the program of an object', { skip }, () => {
  let results: Results;
  before(() => {
    const prepared = 'mount -t tmpfs none /run && mkdir /run/ctx && exec "$@"';
    const words = [...own, 'sh', '-c', prepared, 'sh', process.execPath, '--input-type=module', '-e', program];
    const { stdout, stderr } = spawnSync('unshare', words, { encoding: 'utf8', timeout: 60_000 });
    assert.match(stdout, /^\{/, stderr);
    results = JSON.parse(stdout) as Results;
  });

  it('says its path, its directory and its input, of at most 1 MiB, and nothing without one call', () => {
    const call = (length: number) => [0, 'R', ['/run/ctx/own.tool', '/run/work'], length, 1];
    const none = (code: number) => [code, null, null, null, 0];
    assert.deepEqual(results['inputs'], [
      call(0),
      call(2),
      call(7),
      call(0),
      call(mebibyte),
      none(2),
      none(2),
      none(0),
      none(0),
    ]);
  });

  it('ends with the code that it is given, and with another where there is none', () => {
    assert.deepEqual(results['answers'], [
      [0, '', false],
      [1, '', false],
      [13, '', false],
      [255, '', false],
      [3, 'out', true],
      [70, '', true],
      [70, '', true],
      [70, '', true],
      [69, '', true],
      [69, 'half', true],
      [69, '', true],
      [69, '', true],
      [69, '', true],
    ]);
    assert.deepEqual([results['gone'], results['unserved']], [1, 69]);
  });

  it('takes no connection for a stream that its caller has closed', () => {
    assert.deepEqual(results['closed'], [
      ['<&-', true, 0, 'out', 1],
      ['<&-', false, 2, '', 0],
      ['>&-', true, 1, '', 1],
      ['>&-', false, 1, '', 1],
      ['2>&-', true, 0, 'out', 1],
      ['2>&-', false, 0, 'out', 1],
      ['<&- >&- 2>&-', true, 1, '', 1],
      ['<&- >&- 2>&-', false, 2, '', 0],
    ]);
  });

  it('waits for streams that another process made not to block', () => {
    assert.deepEqual(results['shared'], [0, '{}', 300_000]);
  });

  it('reaches what is beneath the directory it is given, and nothing else, whatever is asked of it', () => {
    const { ENOENT, EXDEV, EISDIR, ENOTDIR, ENXIO } = errno;
    const out = [EXDEV, EXDEV, EXDEV, EXDEV];
    const expected: Readonly<Record<string, readonly number[]>> = {
      file: [0, 0, ENOTDIR, 0],
      directory: [EISDIR, 0, 0, EISDIR],
      'directory/file': [0, 0, ENOTDIR, 0],
      'inner/file': [0, 0, ENOTDIR, 0],
      link: [0, 0, ENOTDIR, 0],
      pipe: [ENXIO, 0, ENOTDIR, ENXIO],
      missing: [ENOENT, ENOENT, ENOENT, ENOENT],
      dangling: [ENOENT, 0, ENOENT, ENOENT],
      '.': [EISDIR, 0, 0, EISDIR],
      '..': out,
      'above/outside': out,
      out: [EXDEV, 0, EXDEV, EXDEV],
      absolute: [EXDEV, 0, EXDEV, EXDEV],
      magic: [EXDEV, 0, EXDEV, EXDEV],
      'magic/outside': out,
      '/run/work/outside': out,
      'file/below': [ENOTDIR, ENOTDIR, ENOTDIR, ENOTDIR],
      '': [ENOENT, ENOENT, ENOENT, ENOENT],
    };
    assert.deepEqual(results.files, expected);
  });

  it('reads as much as was asked for and a frame has room for, with the attributes of the file', () => {
    const size = mebibyte + 5;
    const row = (bytes: number) => [8, 0o640, size, bytes];
    assert.deepEqual(results['read'], [mebibyte, mebibyte, 4, 5, 0, 0, 0].map(row));
    assert.deepEqual([results['about'], results['target']], [[8, 0o4751, 7, 1_234_567], '../outside']);
  });

  it('writes where it may, makes what is asked for above it, and nothing beyond the directory', () => {
    const { EEXIST, ENOENT, EXDEV, ENOTDIR, ENAMETOOLONG, ENXIO, EISDIR } = errno;
    assert.deepEqual(results['written'], [
      ['new', 0, 4, 'first'],
      ['new', EEXIST, 4, 'first'],
      ['new', 0, 4, 'x'],
      ['new', 0, 4, 'xyz'],
      ['new', 0, 4, 'wyz'],
      ['none', ENOENT, 4, 'ENOENT'],
      ['plain', 0, 4, 'made'],
      ['link', 0, 4, 'through'],
      ['link', EEXIST, 4, 'through'],
      ['dangling', EEXIST, 4, 'ENOENT'],
      ['a/b/c', ENOENT, 4, 'ENOENT'],
      ['a/b/c', 0, 4, 'deep'],
      ['a/b/d', 0, 4, ''],
      ['inner/e/f', 0, 4, 'x'],
      ['above/g/h', EXDEV, 4, 'ENOENT'],
      ['out/g', EXDEV, 4, 'ENOTDIR'],
      ['magic/i/j', EXDEV, 4, 'ENOENT'],
      ['../k/l', EXDEV, 4, 'ENOENT'],
      ['file/m/n', ENOTDIR, 4, 'ENOTDIR'],
      ['x'.repeat(20), 0, 4, 'x'],
      ['x'.repeat(20), ENAMETOOLONG, 4, 'ENAMETOOLONG'],
      ['y/'.repeat(10), ENAMETOOLONG, 4, 'ENAMETOOLONG'],
      ['pipe', ENXIO, 4, ''],
      ['directory', EISDIR, 4, 'EISDIR'],
    ]);
    assert.deepEqual(results['modes'], [0o640, 0o750]);
    assert.deepEqual(results['around'], ['outside', 'root']);
  });

  it('lists a directory, says where that is not all of it, and never sends more than a frame has room for', () => {
    assert.deepEqual(results['lists'], [
      [0, true, true],
      [0, true, true],
      [1, false, true],
    ]);
    assert.deepEqual(results['listed'], [0, 8, 4, 'file\0']);
  });

  it('refuses a request that is cut short or that it does not know', () => {
    const { EINVAL, ENOSYS, ENOENT, ENOTDIR } = errno;
    assert.deepEqual(
      results['malformed'],
      [EINVAL, EINVAL, EINVAL, EINVAL, EINVAL, ENOSYS, ENOENT, ENOTDIR].map((number) => [number, 4]),
    );
  });
});
