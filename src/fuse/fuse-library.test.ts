/** `native/fuse.node` by itself: what is taken for a descriptor that was handed over, and when input is said to be there. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdtempSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { createConnection } from 'node:net';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { until } from '../../test/support/process.js';
import { nativeProgram } from '../base/native-program.js';
import { fuseLibrary } from './fuse-library.js';

const path = nativeProgram('fuse.node');
const library = fuseLibrary(path);
const { errno } = constants;

function pair(): readonly [number, number] {
  const made = library.pair();
  assert.ok(typeof made !== 'number');
  return made;
}

const opened = () => readdirSync('/proc/self/fd').length;

/** On descriptor 3: so many bytes, and descriptors with them. Its own stdin is what is handed over. */
const sender = `
import array, socket, sys
s = socket.socket(fileno=3)
for words in sys.argv[1:]:
  size, count = (int(word) for word in words.split())
  about = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0] * count))] if count else []
  if size: s.sendmsg([b'abcdefgh'[:size]], about)
`;

function sent(theirs: number, ...messages: readonly string[]): void {
  const { status, stderr } = spawnSync('python3', ['-c', sender, ...messages], {
    stdio: ['ignore', 'ignore', 'pipe', theirs],
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
}

describe('a descriptor that is handed over', () => {
  it('is taken with exactly the bytes that were asked for, and with no other; what is refused stays open nowhere', () => {
    const rows: readonly (readonly [message: string, room: number | undefined, taken: boolean])[] = [
      ['1 1', undefined, true],
      ['1 0', undefined, false],
      ['1 2', undefined, false],
      ['1 3', undefined, false],
      ['0 0', undefined, false],
      ['4 1', 4, true],
      ['3 1', 4, false],
      ['4 0', 4, false],
      ['4 2', 4, false],
    ];
    for (const [message, room, taken] of rows) {
      const [ours, theirs] = pair();
      sent(theirs, message);
      closeSync(theirs);
      const before = opened();
      const about = room === undefined ? undefined : Buffer.alloc(room);
      const found = about === undefined ? library.receive(ours) : library.receive(ours, about);
      if (taken) {
        const null_ = statSync('/dev/null');
        assert.equal(fstatSync(found).rdev, null_.rdev, message);
        if (about !== undefined) assert.equal(about.toString(), 'abcd');
        closeSync(found);
      } else assert.equal(found, -errno.EPROTO, message);
      assert.equal(opened(), before, `${message}: open after it`);
      closeSync(ours);
    }
  });

  it('is said to have come where this process has no descriptor left for it, and the next one is taken', () => {
    const script = `
      import { closeSync, openSync } from 'node:fs';
      import { createRequire } from 'node:module';
      const library = createRequire(process.argv[1])(process.argv[1]);
      const held = [];
      try {
        for (;;) held.push(openSync('/dev/null'));
      } catch {}
      const about = Buffer.alloc(4);
      const lost = library.receive(3, about);
      for (const descriptor of held) closeSync(descriptor);
      console.log(JSON.stringify([lost, about.toString(), library.receive(3, about) >= 0]));
    `;
    const [ours, theirs] = pair();
    sent(theirs, '4 1', '4 1');
    const words = ['-c', 'ulimit -n 64; exec "$0" --input-type=module -e "$1" "$2"', process.execPath, script, path];
    const { stdout, stderr } = spawnSync('sh', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe', ours] });
    assert.deepEqual(JSON.parse(stdout), [-errno.EMFILE, 'abcd', true], stderr);
    for (const each of [ours, theirs]) closeSync(each);
  });

  it('is not given to programs that are started later', () => {
    const [ours, theirs] = pair();
    sent(theirs, '1 1');
    const found = library.receive(ours);
    const { stdout } = spawnSync('ls', ['/proc/self/fd'], { encoding: 'utf8' });
    const seen = stdout.split('\n');
    for (const each of [ours, theirs, found]) assert.ok(!seen.includes(String(each)), `${each} of ${seen}`);
    for (const each of [ours, theirs, found]) closeSync(each);
  });

  it('is asked for with a socket, and with room for at least one byte', () => {
    const [ours, theirs] = pair();
    assert.equal(library.receive(ours, Buffer.alloc(0)), -errno.EINVAL);
    assert.equal(library.receive(ours, 'no buffer' as unknown as Buffer), -errno.EINVAL);
    assert.equal(library.receive(-1), -errno.EBADF);
    for (const each of [ours, theirs]) closeSync(each);
  });
});

describe('waiting for input', () => {
  it('says whether there is some, at once where there is, and after its time where there is none', () => {
    const [ours, theirs] = pair();
    // More often than the longest row of waits that sleep at once: each branch is gone through.
    for (let turn = 0; turn < 600; turn += 1) assert.equal(library.wait(ours, 0), 0);
    const begin = performance.now();
    assert.equal(library.wait(ours, 30), 0);
    assert.ok(performance.now() - begin >= 29);
    writeSync(theirs, 'x');
    for (let turn = 0; turn < 3; turn += 1) assert.equal(library.wait(ours, 60_000), 1);
    readSync(ours, Buffer.alloc(1));
    assert.equal(library.wait(ours, 0), 0);
    closeSync(theirs);
    assert.equal(library.wait(ours, 60_000), 1, 'the end can be read, too');
    closeSync(ours);
    assert.equal((library.wait as (descriptor: number) => number)(ours), -errno.EINVAL);
  });

  it('calls back for as long as it is watched, and not after', async () => {
    const [ours, theirs] = pair();
    let calls = 0;
    const stop = library.watch(ours, () => {
      calls += 1;
      readSync(ours, Buffer.alloc(8));
    });
    assert.ok(typeof stop !== 'number');
    for (const wanted of [1, 2]) {
      writeSync(theirs, 'x');
      await until(() => calls === wanted, 'it is called');
    }
    stop();
    stop();
    writeSync(theirs, 'x');
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(calls, 2);
    for (const each of [ours, theirs]) closeSync(each);
    assert.ok(Number(library.watch(-1, () => undefined)) < 0);
    assert.equal((library.watch as (descriptor: number) => unknown)(0), -errno.EINVAL);
  });

  it('keeps no process alive, and hears that the other end has gone', () => {
    const program = `
      const library = require(${JSON.stringify(path)});
      const [ours, theirs] = library.pair();
      library.watch(ours, () => { console.log('gone'); process.exit(3); });
      if (process.argv[1] === 'close') { require('fs').closeSync(theirs); setTimeout(() => undefined, 60000); }`;
    for (const [word, status] of [
      ['leave', 0],
      ['close', 3],
    ] as const) {
      const ended = spawnSync(process.execPath, ['-e', program, word], { timeout: 60_000 });
      assert.equal(ended.status, status, word);
    }
  });
});

describe('a socket that listens', () => {
  const directory = mkdtempSync(join(tmpdir(), 'ctx-fuse-library-'));
  after(() => rmSync(directory, { recursive: true }));

  it('is made where its whole path has room in an address, and nowhere else', async () => {
    const most = 107;
    const named = (length: number) => `${directory}/${'s'.repeat(length - directory.length - 1)}`;
    for (const length of [most - 1, most]) {
      const listener = library.listen(named(length));
      assert.ok(listener >= 0, `${length}: ${listener}`);
      const client = createConnection(named(length));
      await new Promise((resolve, reject) => client.once('connect', resolve).once('error', reject));
      client.destroy();
      const before = opened();
      assert.equal(library.listen(named(length)), -errno.EADDRINUSE);
      assert.equal(opened(), before);
      closeSync(listener);
    }
    for (const length of [most + 1, most + 50]) {
      assert.equal(library.listen(named(length)), -errno.ENAMETOOLONG);
      assert.ok(!existsSync(named(most)) || readdirSync(directory).length === 2);
    }
    assert.equal(library.listen(join(directory, 'missing', 's')), -errno.ENOENT);
    assert.equal(library.listen(1 as unknown as string), -errno.EINVAL);
  });
});
