/** Serving: requests of a socket in the place of the kernel, on Node's event loop, and notices that make the kernel forget. */
import assert from 'node:assert/strict';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ErrnoError } from '../base/errno.js';
import { nativeProgram } from '../base/native-program.js';
import type { FileSystem, KnownEntry } from '../vfs/filesystem.js';
import { Invalidation } from './invalidation.js';
import { readReply, requestOf } from './kernel-fixture.js';
import { fuseLibrary, mountFuse, mountPoint, mountsAt, notStarted, ownMounts } from './mount.js';
import { Nodes } from './nodes.js';
import { type LoopDispatch, serveOnLoop } from './serve-on-loop.js';
import { changesMeanwhile } from './served-mount.js';
import { unmount } from './unmount.js';
import { opcodes } from './wire.js';

const library = fuseLibrary(nativeProgram('fuse.node'));

function pair(): readonly [number, number] {
  const made = library.pair();
  if (typeof made === 'number') throw new Error(`errno ${-made}`);
  return made;
}

const room = Buffer.alloc(4096);
const isOpen = (descriptor: number) => existsSync(`/proc/self/fd/${descriptor}`);

/** The socket is a stream: each says its length. */
function messages(kernel: number): readonly Buffer[] {
  const all = Buffer.from(room.subarray(0, readSync(kernel, room)));
  const found: Buffer[] = [];
  for (let at = 0; at < all.length; at += all.readUInt32LE(at)) found.push(all.subarray(at, at + all.readUInt32LE(at)));
  return found;
}

/** What came since, one reply each; the end of the other side is none. */
async function replies(kernel: number, count: number) {
  const found = [];
  for (let looks = 0; looks < 200 && found.length < count; looks += 1) {
    await sleep(1);
    while (library.wait(kernel, 0) === 1) {
      const all = messages(kernel);
      if (all.length === 0) return found;
      found.push(...all.map(readReply));
    }
  }
  return found;
}

function loop(dispatch: () => Promise<LoopDispatch>, receives = true) {
  const looks: number[] = [];
  const [kernel, descriptor] = pair();
  const [jail, channel] = pair();
  const watched = new Set<number>();
  const server = serveOnLoop({
    library: {
      ...library,
      receive: () => (receives ? descriptor : -constants.errno.EBADF),
      wait: (of, milliseconds) => {
        looks.push(milliseconds);
        return library.wait(of, milliseconds);
      },
      watch: (of, readable) => {
        const stop = library.watch(of, readable);
        if (typeof stop === 'number') return stop;
        watched.add(of);
        return () => {
          watched.delete(of);
          stop();
        };
      },
    },
    channel,
    dispatch,
  });
  const close = () => {
    server.end();
    for (const each of receives ? [kernel, jail] : [kernel, jail, descriptor]) closeSync(each);
  };
  return { kernel, descriptor, jail, channel, server, watched, looks, close };
}

const start = (jail: number) => writeSync(jail, 'x');
const init = (unique: bigint) => requestOf(opcodes.init, [7, 38, 0, 0xffff_ffff, 0n, 0n, 0n, 0n, 0n, 0n], { unique });

/** Answers with the request's own number; says what it was asked. */
function echo() {
  const asked: bigint[] = [];
  const dispatch: LoopDispatch = {
    answer(request, length) {
      const unique = request.readBigUInt64LE(8);
      asked.push(unique);
      assert.equal(length, request.readUInt32LE(0));
      const reply = Buffer.alloc(64);
      reply.writeUInt32LE(16);
      reply.writeBigUInt64LE(unique, 8);
      if (unique === 90n) return undefined;
      return unique >= 100n ? sleep(5).then(() => reply) : reply;
    },
  };
  return { asked, dispatch };
}

describe('a tree that is served on the event loop', () => {
  it('is made for the first request that looks into it, and answers each', async () => {
    const { asked, dispatch } = echo();
    let made = 0;
    const { kernel, jail, channel, watched, looks, descriptor, close } = loop(async () => {
      made += 1;
      await sleep(5);
      return dispatch;
    });
    start(jail);
    writeSync(kernel, init(1n));
    const [first] = await replies(kernel, 1);
    assert.deepEqual([first?.error, first?.unique, first?.body.readUInt32LE(0), made], [0, 1n, 7, 0]);
    assert.deepEqual([...watched], [descriptor], 'the channel has done what it was for');
    assert.equal(isOpen(channel), false);
    const numbers = [2n, 3n, 90n, 100n, 4n];
    for (const [index, unique] of numbers.entries()) {
      writeSync(kernel, requestOf(opcodes.getattr, [], { unique }));
      for (let looks = 0; looks < 200 && asked.length <= index; looks += 1) await sleep(1);
    }
    const found = await replies(kernel, 4);
    assert.deepEqual(found.map(({ unique }) => unique).sort(), [100n, 2n, 3n, 4n]);
    assert.deepEqual([asked, made], [numbers, 1]);
    // Before each that it reads by itself: it must not wait in a read. The first one pauses it until the tree is made.
    assert.deepEqual(looks, [0, 0, 0, 0, 0]);
    close();
    assert.equal(isOpen(descriptor), false);
  });

  it('ends by itself where the kernel has gone, where it cannot be made, and where the jail was not made', async () => {
    for (const way of ['kernel', 'refused', 'jail'] as const) {
      const { dispatch } = echo();
      const refused = async () => Promise.reject(new ErrnoError('EIO', { operation: 'x', reason: 'y' }));
      const made = loop(way === 'refused' ? refused : async () => dispatch, way !== 'jail');
      start(made.jail);
      if (way === 'refused') writeSync(made.kernel, requestOf(opcodes.getattr, []));
      await sleep(10);
      assert.equal(isOpen(made.channel), false, way);
      if (way === 'jail') {
        assert.deepEqual([...made.watched], []);
        made.server.end();
        assert.ok(isOpen(made.descriptor), 'it is not its own');
        for (const each of [made.kernel, made.jail, made.descriptor]) closeSync(each);
        continue;
      }
      if (way === 'kernel') {
        closeSync(made.kernel);
        await sleep(10);
      }
      assert.deepEqual([[...made.watched], isOpen(made.descriptor)], [[], false], way);
      made.server.end();
      for (const each of way === 'kernel' ? [made.jail] : [made.kernel, made.jail]) closeSync(each);
    }
  });

  it('says nothing after its end, of what was asked before', async () => {
    const { asked, dispatch } = echo();
    const { kernel, jail, server } = loop(async () => dispatch);
    start(jail);
    writeSync(kernel, requestOf(opcodes.getattr, [], { unique: 100n }));
    for (let looks = 0; looks < 200 && asked.length === 0; looks += 1) await sleep(1);
    server.end();
    server.end();
    assert.deepEqual(await replies(kernel, 1), []);
    for (const each of [kernel, jail]) closeSync(each);
  });
});

describe('what the kernel is to forget', () => {
  const known: readonly KnownEntry[] = [
    { inode: 9, directory: 40, name: 'n\u00e4me' },
    { inode: 9, directory: 8, name: 'two' },
    ...Array.from({ length: 6 }, (_, index) => ({ inode: 20 + index, directory: 8, name: `${index}` })),
  ];

  function invalidated(descriptor: number) {
    let listener: (known: readonly KnownEntry[]) => unknown = () => undefined;
    let stopped = 0;
    const filesystem = {
      root: 40,
      invalidated: (given: typeof listener) => {
        listener = given;
        return () => (stopped += 1);
      },
    } as unknown as FileSystem;
    const invalidation = new Invalidation(descriptor, new Nodes(filesystem), filesystem);
    return { invalidation, forget: () => listener(known) as Promise<void>, stopped: () => stopped };
  }

  it('is every name, and every inode once', async () => {
    const [kernel, ours] = pair();
    const { invalidation, forget, stopped } = invalidated(ours);
    const done = forget();
    assert.equal(invalidation.pending, known.length + 7);
    await done;
    assert.equal(invalidation.pending, 0);
    const notices: string[] = [];
    for (const bytes of messages(kernel)) {
      assert.deepEqual([bytes.readUInt32LE(0), bytes.readBigUInt64LE(8)], [bytes.length, 0n]);
      const isEntry = bytes.readInt32LE(4) === 3;
      const length = isEntry ? bytes.readUInt32LE(24) : 0;
      if (!isEntry)
        assert.deepEqual([bytes.readInt32LE(4), bytes.readBigInt64LE(24), bytes.readBigInt64LE(32)], [2, 0n, 0n]);
      else assert.deepEqual([bytes.length, bytes[bytes.length - 1]], [16 + 16 + length + 1, 0]);
      notices.push(`${bytes.readBigUInt64LE(16)} ${isEntry ? bytes.toString('latin1', 32, 32 + length) : 'inode'}`);
    }
    const expected = [
      ...['1 n\u00e4me', '8 two', '9 inode'],
      ...[0, 1, 2, 3, 4, 5].flatMap((index) => [`8 ${index}`, `${20 + index} inode`]),
    ];
    assert.deepEqual(notices.sort(), expected.sort());
    invalidation.end();
    assert.equal(stopped(), 1);
    for (const each of [kernel, ours]) closeSync(each);
  });

  it('is an error where the kernel does not take it, and is none where the mount has gone', async () => {
    const [kernel, ours] = pair();
    const full = openSync('/dev/full', 'w');
    const refused = invalidated(full);
    await assert.rejects(refused.forget(), { code: 'ENOSPC' });
    closeSync(full);
    for (const each of [kernel, ours]) closeSync(each);
    const gone = invalidated(ours);
    await gone.forget();
    assert.equal(gone.invalidation.pending, 0);
  });
});

describe('where a tree can be mounted', () => {
  it('is an empty directory, by its real path, with nothing mounted on it', () => {
    const directory = mkdtempSync(join(tmpdir(), 'ctx-point-'));
    try {
      const made = (name: string) => {
        const path = join(directory, name);
        writeFileSync(path, '');
        return path;
      };
      assert.throws(() => mountPoint(join(directory, 'none')), { code: 'ENOENT' });
      assert.throws(() => mountPoint(made('file')), { code: 'ENOTDIR' });
      assert.throws(() => mountPoint(directory), { code: 'ENOTEMPTY' });
      assert.throws(() => mountPoint('/proc'), { code: 'EBUSY' });
      rmSync(join(directory, 'file'));
      symlinkSync(directory, `${directory}.link`);
      assert.equal(mountPoint(`${directory}.link`), directory);
    } finally {
      rmSync(`${directory}.link`, { force: true });
      rmSync(directory, { recursive: true });
    }
  });

  it('is asked about each time where others change it, by its plan or by itself', () => {
    const asked = [false, true].flatMap((shared) =>
      [undefined, false, true].map((changesOutside) => changesMeanwhile(shared, { changesOutside })),
    );
    assert.deepEqual(asked, [false, false, true, true, true, true]);
  });

  it('asks the system’s own programs, whatever comes first in PATH', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'ctx-path-'));
    const { PATH } = process.env;
    try {
      for (const name of ['fusermount3', 'sh', 'grep'])
        writeFileSync(join(directory, name), `#!/bin/sh\n: > ${directory}/ran-$$\n`, { mode: 0o755 });
      process.env['PATH'] = `${directory}:${PATH}`;
      await assert.rejects(
        mountFuse(library, { directory: join(directory, 'gone'), writable: false, everybody: false }),
      );
      assert.deepEqual(readdirSync(directory).sort(), ['fusermount3', 'grep', 'sh']);
    } finally {
      process.env['PATH'] = PATH;
      rmSync(directory, { recursive: true });
    }
  });

  it('says that fusermount3 is missing only where it is', () => {
    for (const [code, expected, text] of [
      ['ENOENT', 'ENOSYS', /fusermount3 is not in .*:\/usr\/bin:/],
      ['EAGAIN', 'EAGAIN', /could not be started/],
      ['EACCES', 'EACCES', /could not be started/],
    ] as const) {
      const error = notStarted('mount', Object.assign(new Error(`spawn fusermount3 ${code}`), { code, errno: -1 }));
      assert.equal(error.code, expected);
      assert.match(error.message, text);
    }
  });

  it('is unmounted only where ctx has mounted it', async () => {
    assert.equal(mountsAt('/proc').at(-1)?.type, 'proc');
    assert.equal(mountsAt('/proc').at(-1)?.server, undefined);
    assert.ok(ownMounts().every(({ directory, server }) => directory !== '/proc' && server > 0));
    await assert.rejects(unmount('/proc'), { code: 'EINVAL' });
    await assert.rejects(unmount('/nowhere'), { code: 'EINVAL' });
  });
});
