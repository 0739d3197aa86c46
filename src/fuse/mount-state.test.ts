/** What a mount remembers between requests: inodes, files, listings, requests that wait, links. */
import assert from 'node:assert/strict';
import { constants } from 'node:os';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { seeded } from '../../test/property/seeded.js';
import { interruptedMilliseconds } from '../base/limits/trees.js';
import { memoryFileSystem } from '../vfs/engines/memory/memory.js';
import { failure } from '../vfs/failure.js';
import type { Attributes, FileSystem } from '../vfs/filesystem.js';
import { Awaited } from './awaited.js';
import { KeptTimes } from './cache-times.js';
import { mayBeUnasked } from './files.js';
import { file, mounted, notingFileSystem, type Reply, readAttributes, readReply, requestOf } from './kernel-fixture.js';
import { staysWithin } from './links.js';
import { Nodes } from './nodes.js';
import { opcodes } from './wire.js';

const { errno } = constants;
const root = { mode: 0o755, uid: 0, gid: 0 };
const readWrite = { read: true, write: true };

describe('a time', () => {
  it('is the same for the kernel, before 1970 and beside whole seconds too', () => {
    const billion = 1_000_000_000n;
    const edges = [0n, 1n, 2n ** 31n, 2n ** 32n, -(2n ** 31n), 9_000_000_000n].flatMap((seconds) =>
      [-1n, 0n, 1n, billion - 1n].map((rest) => seconds * billion + rest),
    );
    const holds = (time: bigint) => {
      const { filesystem } = notingFileSystem({ getattr: { ...file, accessed: time } });
      const { body } = mounted(filesystem).ask(opcodes.getattr) as Reply;
      assert.equal(readAttributes(body, 16).accessed, time);
    };
    for (const time of edges) holds(time);
    fc.assert(fc.property(fc.bigInt({ min: -(2n ** 62n), max: 2n ** 62n }), holds), seeded(100));
  });
});

describe('a link', () => {
  /** Name by name: `..` behind a name is refused wherever it leads. */
  function leadsWithin(text: string, depth: number, place: readonly string[]): boolean {
    const names = text.split('/').filter((name) => name !== '' && name !== '.');
    let above = depth;
    let hasName = false;
    for (const name of names) {
      if (name !== '..') hasName = true;
      else if (hasName) return false;
      else above -= 1;
    }
    if (!text.startsWith('/')) return above >= 0;
    return above === depth && place.join('/') === names.slice(0, place.length).join('/');
  }

  it('is served where it stays in its tree, for every text of up to four parts', () => {
    const parts = ['..', '.', '', 'm', 'n'];
    const texts = [''];
    for (let from = 0, count = 0; count < 4; count += 1) {
      const before = texts.slice(from);
      from = texts.length;
      for (const text of before) for (const part of parts) texts.push(text === '' ? part : `${text}/${part}`);
    }
    for (const text of [...texts, ...texts.map((each) => `/${each}`)]) {
      for (const place of [[], ['m'], ['m', 'n']]) {
        for (const depth of [0, 1, 2]) {
          const at = `/${place.join('/')}`;
          assert.equal(staysWithin(text, depth, at), leadsWithin(text, depth, place), `${text} ${depth} ${at}`);
        }
      }
    }
  });

  const linkAt = (filesystem: FileSystem, directory: number, name: string, text: string) =>
    (filesystem.symlink(directory, name, text, root) as Attributes).inode;

  it('is as deep as its directory, and as the shallowest of its names may be', () => {
    const filesystem = memoryFileSystem({ root });
    const { ask } = mounted(filesystem, { shared: false });
    const a = (filesystem.mkdir(filesystem.root, 'a', root) as Attributes).inode;
    const b = (filesystem.mkdir(a, 'b', root) as Attributes).inode;
    const link = linkAt(filesystem, b, 'l', '../../x');
    for (const [node, name] of [
      [1, 'a'],
      [a, 'b'],
      [b, 'l'],
    ] as const)
      ask(opcodes.lookup, [name], { node });
    const text = () => {
      const { error, body } = ask(opcodes.readlink, [], { node: link }) as Reply;
      return error === 0 ? body.toString() : error;
    };
    assert.equal(text(), '../../x');
    ask(opcodes.rename, [BigInt(a), 'l', 'l'], { node: b });
    assert.equal(text(), -errno.ENOENT, 'from one directory below the root it leads out');
    ask(opcodes.rename2, [BigInt(b), 0, 0, 'l', 'l'], { node: a });
    assert.equal(text(), '../../x');
    ask(opcodes.link, [BigInt(link), 'top'], { node: 1 });
    assert.equal(text(), -errno.ENOENT, 'which of its names is followed is not known');
  });

  it('of several names is as deep as the top, whichever of them was looked up last, and of one as that one', () => {
    for (const names of [2, 3, 4]) {
      const filesystem = memoryFileSystem({ root });
      const { ask } = mounted(filesystem, { shared: false });
      const a = (filesystem.mkdir(filesystem.root, 'a', root) as Attributes).inode;
      const link = linkAt(filesystem, a, 'deep', '../x');
      ask(opcodes.lookup, ['a']);
      ask(opcodes.lookup, ['deep'], { node: a });
      const error = () => ask(opcodes.readlink, [], { node: link })?.error;
      assert.equal(error(), 0);
      const others = Array.from({ length: names - 1 }, (_, number) => `top ${number}`);
      for (const other of others) ask(opcodes.link, [BigInt(link), other]);
      for (const other of others) {
        ask(opcodes.lookup, [other]);
        assert.equal(error(), -errno.ENOENT, `${names} names, at the top`);
        ask(opcodes.lookup, ['deep'], { node: a });
        assert.equal(error(), -errno.ENOENT, `${names} names, below`);
      }
      for (const other of others) ask(opcodes.unlink, [other]);
      ask(opcodes.lookup, ['deep'], { node: a });
      assert.equal(error(), 0, 'one is left');
    }
  });

  it('is as deep as where an exchange put it, on both sides of it', () => {
    for (const isFirst of [true, false]) {
      const filesystem = memoryFileSystem({ root });
      const { ask } = mounted(filesystem, { shared: false });
      const a = (filesystem.mkdir(filesystem.root, 'a', root) as Attributes).inode;
      const deep = linkAt(filesystem, a, 'deep', '../x');
      const top = linkAt(filesystem, filesystem.root, 'top', '../x');
      for (const [node, name] of [
        [1, 'a'],
        [a, 'deep'],
        [1, 'top'],
      ] as const)
        ask(opcodes.lookup, [name], { node });
      const errors = () => [deep, top].map((node) => ask(opcodes.readlink, [], { node })?.error);
      assert.deepEqual(errors(), [0, -errno.ENOENT]);
      if (isFirst) ask(opcodes.rename2, [1n, 2, 0, 'deep', 'top'], { node: a });
      else ask(opcodes.rename2, [BigInt(a), 2, 0, 'top', 'deep'], { node: 1 });
      assert.deepEqual(errors(), [-errno.ENOENT, 0], 'each has the place of the other');
    }
  });

  it('is no deeper than the name that is left of several', () => {
    for (const [last, locks] of [
      ['unlink', false],
      ['rename over it', false],
      ['unlink', true],
      ['rename over it', true],
    ] as const) {
      const filesystem = memoryFileSystem({ root });
      // Where locks are the tree's, the kernel asks for every file that is opened.
      const { ask } = mounted(filesystem, { shared: false, locks });
      const a = (filesystem.mkdir(filesystem.root, 'a', root) as Attributes).inode;
      const link = linkAt(filesystem, a, 'l', '../x');
      ask(opcodes.lookup, ['a']);
      ask(opcodes.lookup, ['l'], { node: a });
      ask(opcodes.link, [BigInt(link), 'top']);
      // Names that the kernel keeps are not looked up again: only these say where it is.
      ask(opcodes.rename, [BigInt(a), 'l', 'm'], { node: a });
      if (last === 'unlink') ask(opcodes.unlink, ['m'], { node: a });
      else {
        linkAt(filesystem, a, 'other', 'y');
        ask(opcodes.rename, [BigInt(a), 'other', 'm'], { node: a });
      }
      assert.equal(ask(opcodes.readlink, [], { node: link })?.error, -errno.ENOENT, last);
      ask(opcodes.rename, [BigInt(a), 'top', 'again']);
      assert.equal(ask(opcodes.readlink, [], { node: link })?.body.toString(), '../x', last);
    }
  });
});

describe('inodes that the kernel knows', () => {
  it('are known as often as it was told of them, and the root is number 1', () => {
    const forgotten: number[] = [];
    const filesystem = { root: 40, forget: (inode: number) => forgotten.push(inode) } as unknown as FileSystem;
    const nodes = new Nodes(filesystem);
    assert.deepEqual(
      [40, 1, 7].map((inode) => nodes.number(inode)),
      [1, 40, 7],
    );
    nodes.told(7, 40);
    nodes.told(7, 40);
    nodes.told(8, 7);
    assert.deepEqual([nodes.forgotten(7, 1), nodes.knows(7)], [false, true]);
    assert.deepEqual([nodes.depth(8, 40), nodes.depth(7, 40), nodes.depth(8, 7), nodes.depth(9, 40)], [1, 0, 0, 0]);
    assert.deepEqual([nodes.forgotten(7, 1), nodes.knows(7), nodes.depth(8, 40)], [true, false, 1]);
    assert.deepEqual([nodes.forgotten(40, 1), forgotten], [true, [7]]);
    nodes.placed(8, 9);
    nodes.placed(9, 8);
    assert.equal(nodes.depth(8, 40), 0, 'in a circle nothing is known');
  });

  it('have their attributes kept for one call, unless they are open', () => {
    const kept = new KeptTimes({ names: 0, attributes: 0.5 });
    assert.equal(kept.attributes(5), 0.5);
    kept.opened(5);
    kept.opened(5);
    kept.released(5);
    assert.equal(kept.attributes(5), 0, 'one of two is still open');
    assert.equal(kept.attributes(6), 0.5);
    kept.released(5);
    assert.equal(kept.attributes(5), 0.5);
    const long = new KeptTimes({ names: 3, attributes: 1 });
    long.opened(5);
    assert.deepEqual([long.names, long.attributes(5)], [3, 1]);
  });
});

describe('a file that the kernel opens without asking', () => {
  const readAll = [0n, 0n, 99, 0] as const;

  it('is opened without asking only where the engine has no say in it, and answers at once', () => {
    const nothing = () => undefined;
    for (const bits of Array(64).keys()) {
      const [shared, later, sharedLocks, flush, lasting, invalidated] = [1, 2, 4, 8, 16, 32].map(
        (bit) => (bits & bit) !== 0,
      );
      const engine = memoryFileSystem({ root });
      const filesystem = {
        ...(flush ? { flush: nothing } : {}),
        ...(lasting ? { lasting: nothing } : {}),
        ...(invalidated ? { invalidated: () => nothing } : {}),
        capabilities: { ...engine.capabilities, immediate: !later, sharedLocks },
      } as unknown as FileSystem;
      assert.equal(mayBeUnasked(filesystem, shared ?? false), bits === 0, bits.toString(2));
    }
  });

  it('has one handle, which outlives its name and goes when the kernel forgets it', () => {
    for (const way of ['unlink', 'rename', 'neither'] as const) {
      const filesystem = memoryFileSystem({ root });
      const made = (name: string, text: string) => {
        const { attributes, handle } = filesystem.create(filesystem.root, name, root, readWrite) as {
          attributes: Attributes;
          handle: number;
        };
        filesystem.write(handle, 0, Buffer.from(text));
        filesystem.release(handle);
        return attributes.inode;
      };
      const node = made('n', 'text');
      made('other', '');
      const { ask } = mounted(filesystem, { shared: false });
      ask(opcodes.lookup, ['n']);
      ask(opcodes.lookup, ['n']);
      if (way === 'unlink') ask(opcodes.unlink, ['n']);
      if (way === 'rename') ask(opcodes.rename, [1n, 'other', 'n']);
      assert.equal(ask(opcodes.read, readAll, { node })?.body.toString(), 'text', way);
      ask(opcodes.write, [0n, 4n, 1, 0, 0n, 0, 0, Buffer.from('!')], { node });
      assert.equal(ask(opcodes.read, readAll, { node })?.body.toString(), 'text!', way);
      assert.equal(ask(opcodes.fsync, [0n, 0, 0], { node })?.error, 0, way);
      ask(opcodes.forget, [1n], { node });
      assert.equal(ask(opcodes.read, readAll, { node })?.body.toString(), 'text!', way);
      ask(opcodes.batchForget, [1, 0, BigInt(node), 1n]);
      const { error } = ask(opcodes.read, readAll, { node }) as Reply;
      assert.equal(error, way === 'neither' ? 0 : -errno.ESTALE, way);
    }
  });
});

describe('a directory that is read', () => {
  const names = Array.from({ length: 40 }, (_, index) => `${'n'.repeat(index % 9)}${index}`);

  function listedBy(opcode: number, room: number) {
    const filesystem = memoryFileSystem({ root });
    for (const name of names) filesystem.mkdir(filesystem.root, name, root);
    const { ask, dispatch } = mounted(filesystem, { shared: false });
    const handle = (ask(opcodes.opendir, [0, 0]) as Reply).body.readBigUInt64LE(0);
    const isPlus = opcode === opcodes.readdirplus;
    const found: { readonly name: string; readonly node: bigint; readonly told: bigint }[] = [];
    filesystem.rmdir(filesystem.root, names[3] as string);
    const lookup = filesystem.lookup.bind(filesystem);
    filesystem.lookup = (directory, name) => {
      if (name === names[4]) throw failure('EACCES', 'lookup', name);
      return lookup(directory, name);
    };
    for (let offset = 0n; ; ) {
      const { body } = ask(opcode, [handle, offset, room, 0]) as Reply;
      assert.ok(body.length <= room);
      if (body.length === 0) break;
      for (let at = 0; at < body.length; ) {
        const entry = at + (isPlus ? 128 : 0);
        const length = body.readUInt32LE(entry + 16);
        const name = body.toString('latin1', entry + 24, entry + 24 + length);
        assert.equal(body.readUInt32LE(entry + 20), 4, 'a directory');
        found.push({ name, node: body.readBigUInt64LE(entry), told: isPlus ? body.readBigUInt64LE(at) : 0n });
        offset = body.readBigUInt64LE(entry + 8);
        at = entry + Math.ceil((24 + length) / 8) * 8;
      }
    }
    return { found, dispatch };
  }

  it('has every name once, however little room there is', () => {
    for (const [opcode, least] of [
      [opcodes.readdir, 48],
      [opcodes.readdirplus, 176],
    ] as const) {
      for (const room of [least, least + 40, 1000, 100_000]) {
        const { found, dispatch } = listedBy(opcode, room);
        assert.deepEqual(
          found.map(({ name }) => name),
          ['.', '..', ...names],
          `${opcode} ${room}`,
        );
        for (const [index, { name, node, told }] of found.entries()) {
          const isShown = opcode === opcodes.readdirplus && index > 1 && name !== names[3] && name !== names[4];
          assert.equal(
            told,
            isShown ? node : 0n,
            'of . and .., what is gone and what cannot be looked at nothing is known',
          );
          if (index > 1) assert.equal(dispatch.nodes.knows(Number(node)), isShown);
        }
      }
    }
  });
});

describe('a request that waits', () => {
  function waiting(answers: Readonly<Record<string, unknown>> = {}) {
    const { filesystem, calls } = notingFileSystem(
      { release: undefined, ...answers },
      { immediate: false, sharedLocks: true },
    );
    const { dispatch, answer } = mounted(filesystem);
    const sent: Reply[] = [];
    const awaited = new Awaited(dispatch, (reply) => sent.push(readReply(reply)));
    return { dispatch, answer, awaited, sent, calls };
  }

  it('is answered once, by its answer or after it was taken back, and then it is undone', async () => {
    for (const isLate of [false, true]) {
      let answered: (handle: number) => void = () => undefined;
      const open = () => new Promise((resolve) => (answered = resolve));
      const { answer, awaited, sent, calls } = waiting({ open });
      const request = requestOf(opcodes.open, [0, 0], { unique: 0x5_0000_0006n });
      const settled = awaited.add(request, answer(request) as Promise<Buffer>);
      assert.equal(awaited.interrupts(request), false);
      assert.equal(awaited.interrupts(requestOf(opcodes.interrupt, [7n])), true, 'one that nobody knows');
      for (let times = 0; times < 2; times += 1) {
        assert.equal(awaited.interrupts(requestOf(opcodes.interrupt, [0x5_0000_0006n])), true);
      }
      assert.deepEqual([sent, awaited.size], [[], 1], 'most answers are on their way');
      if (isLate) await sleep(interruptedMilliseconds + 20);
      assert.equal(awaited.size, isLate ? 0 : 1);
      answered(77);
      await settled;
      await sleep(isLate ? 0 : interruptedMilliseconds + 20);
      assert.deepEqual(
        sent.map(({ error, unique }) => [error, unique]),
        [[isLate ? -errno.EINTR : 0, 0x5_0000_0006n]],
      );
      assert.deepEqual(calls.slice(1), isLate ? [['release', 77]] : []);
      assert.equal(awaited.size, 0);
    }
  });

  it('for a lock gets it when it is free, or gives up when it is taken back or the mount ends', async () => {
    for (const end of ['free', 'interrupt', 'mount'] as const) {
      let isFree = false;
      const notices: Buffer[] = [];
      const { filesystem } = notingFileSystem({
        lock: () => (isFree ? undefined : { kind: 'shared', start: 0, end: 1 }),
      });
      const { dispatch, answer } = mounted(filesystem, { locks: true, notify: (notice) => notices.push(notice) });
      const sent: Reply[] = [];
      const awaited = new Awaited(dispatch, (reply) => sent.push(readReply(reply)));
      const request = requestOf(opcodes.setlkw, [3n, 1n, 0n, 9n, 1, 5, 0, 0], { node: 6, unique: 9n });
      assert.equal(dispatch.mayWait(request), true);
      assert.equal(dispatch.mayWait(requestOf(opcodes.setlk, [])), false);
      const settled = awaited.add(request, answer(request) as Promise<Buffer>);
      assert.deepEqual([awaited.size, awaited.locks], [1, 1]);
      await sleep(5);
      assert.deepEqual([sent, notices], [[], []]);
      if (end === 'free') isFree = true;
      if (end === 'interrupt') assert.equal(awaited.interrupts(requestOf(opcodes.interrupt, [9n])), true);
      if (end === 'mount') await awaited.all();
      await settled;
      assert.deepEqual(
        sent.map(({ error }) => error),
        [end === 'free' ? 0 : -errno.EINTR],
      );
      // Attributes alone, of that inode: what the one before wrote is to be seen.
      const told = notices.map((each) => [each.readInt32LE(4), each.readBigUInt64LE(16), each.readBigInt64LE(24)]);
      assert.deepEqual(told, end === 'free' ? [[2, 6n, -1n]] : []);
      assert.deepEqual([awaited.size, awaited.locks], [0, 0]);
    }
  });
});
