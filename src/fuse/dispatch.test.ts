/** Each request of the kernel as bytes: what is asked of the engine, and what the kernel is answered. */
import assert from 'node:assert/strict';
import { constants } from 'node:os';
import { describe, it } from 'node:test';
import { failure } from '../vfs/failure.js';
import type { FileSystem, Kind } from '../vfs/filesystem.js';
import {
  file,
  mounted,
  notingFileSystem,
  type Part,
  type Reply,
  readAttributes,
  readReply,
  requestOf,
} from './kernel-fixture.js';
import {
  type Answers,
  answers,
  handle,
  lockOf,
  opcodeOf,
  opened,
  rows,
  setattr,
  unchanged,
} from './requests-fixture.js';
import { opcodes, readName } from './wire.js';

const { errno } = constants;
const { inode } = file;

describe('a request of the kernel', () => {
  for (const [name, row] of Object.entries(rows)) {
    it(`asks the engine and is answered: ${name}`, () => {
      const opcode = opcodeOf(name);
      const isOfLocks = /^(?:getlk|setlk)/.test(name);
      const { flush, ...others } = { ...answers, ...row.answers };
      const given = name === 'flush' ? { ...others, flush } : others;
      const { filesystem, calls } = notingFileSystem(given, { sharedLocks: isOfLocks });
      const { ask } = mounted(filesystem);
      const reply = ask(opcode, row.parts, row.asked);
      assert.deepEqual(calls, row.calls);
      assert.deepEqual([reply?.error, reply?.unique], [0, 0x1_0000_0002n]);
      if (row.reply === undefined) return;
      row.reply(reply as Reply);
    });
  }

  it('is in this table, or has a test of its own', () => {
    const own = ['init', 'forget', 'batchForget', 'interrupt', 'readdir', 'readdirplus', 'setlkw'];
    const here = new Set(Object.keys(rows).map((name) => name.split(' ', 1)[0]));
    assert.deepEqual(
      Object.keys(opcodes).filter((name) => !here.has(name) && !own.includes(name)),
      [],
    );
  });

  it('is refused by what the engine says, and asks nothing where it makes no sense', () => {
    const refused: readonly (readonly [
      keyof typeof opcodes,
      readonly Part[],
      number,
      Partial<Record<keyof Answers, unknown>>?,
    ])[] = [
      ['getattr', [], errno.ESTALE, { getattr: failure('ESTALE', 'x') }],
      ['getattr', [], errno.EOPNOTSUPP, { getattr: failure('ENOTSUP', 'x') }],
      ['getattr', [], errno.EIO, { getattr: new Error('something else') }],
      ['lookup', ['n'], errno.ENOENT, { lookup: undefined }],
      ['rename2', [9n, 3, 0, 'a', 'b'], errno.EINVAL],
      ['rename2', [9n, 4, 0, 'a', 'b'], errno.EINVAL],
      ['fallocate', [handle, 0n, 9n, 2, 0], errno.EOPNOTSUPP],
      ['fallocate', [handle, 0n, 9n, 0x10, 0], errno.EOPNOTSUPP],
      ['lseek', [handle, 0n, 2, 0], errno.EINVAL],
      ['lseek', [handle, 0n, 5, 0], errno.EINVAL],
      ['getxattr', [4, 0, 'user.a'], errno.ERANGE],
      ['getxattr', [4, 0, 'user.other'], errno.ENODATA],
      ['listxattr', [13, 0], errno.ERANGE],
      ['setlk', lockOf(0n, 1n, 3), errno.EINVAL],
      ['setlk', lockOf(0n, 1n, 1), errno.EAGAIN, { lock: { kind: 'shared', start: 0, end: 1 } }],
      ['init', [6, 40, 0, 0], errno.ENOSYS],
      ['init', [7, 30, 0, 0], errno.ENOSYS],
    ];
    for (const [name, parts, code, changed] of refused) {
      const { flush: _flush, ...others } = { ...answers, ...changed };
      const { filesystem } = notingFileSystem(others, { sharedLocks: true });
      const reply = mounted(filesystem).ask(opcodes[name], parts);
      assert.deepEqual([reply?.error, reply?.body.length], [-code, 0], `${name} ${parts}`);
    }
    const { ask } = mounted(notingFileSystem(answers).filesystem);
    assert.equal(ask(0xffff)?.error, -errno.ENOSYS);
  });

  it('is not known where the engine cannot do it, so that the kernel does it or asks no more', () => {
    const { flush: _flush, ...withoutFlush } = answers;
    const unknown = (filesystem: FileSystem, shared: boolean, ...names: readonly (keyof typeof opcodes)[]) => {
      const { ask } = mounted(filesystem, { shared });
      for (const name of names) assert.equal(ask(opcodes[name], [0n, 0n, 0n, 0n, 0n])?.error, -errno.ENOSYS, name);
    };
    unknown(notingFileSystem(withoutFlush).filesystem, true, 'flush', 'getlk', 'setlk', 'setlkw');
    unknown(notingFileSystem(answers).filesystem, true, 'getlk', 'setlk', 'setlkw');
    unknown(notingFileSystem(withoutFlush).filesystem, false, 'open', 'create', 'release', 'flush');
    unknown(notingFileSystem(answers, { attributes: false }).filesystem, true, 'getxattr', 'setxattr', 'removexattr');
  });

  it('of a file that is closed gives back what its process had locked, and then tells the engine', () => {
    const { filesystem, calls } = notingFileSystem(answers, { sharedLocks: true });
    const reply = mounted(filesystem).ask(opcodes.flush, [handle, 0, 0, 0x1122n]);
    const all = { family: 'ranges', owner: '2211000000000000', kind: 'none', start: 0, end: Infinity };
    assert.deepEqual(
      [reply?.error, calls],
      [
        0,
        [
          ['lock', opened.handle, all],
          ['flush', opened.handle],
        ],
      ],
    );
  });

  it('tells of a lock that was taken, and of none that was given back or refused', () => {
    const noticed = (kind: number, lock: unknown) => {
      const notices: Buffer[] = [];
      const { filesystem } = notingFileSystem({ ...answers, lock }, { sharedLocks: true });
      mounted(filesystem, { notify: (notice) => notices.push(notice) }).ask(opcodes.setlk, lockOf(0n, 1n, kind));
      return notices.length;
    };
    const held = { kind: 'shared', start: 0, end: 1 };
    assert.deepEqual(
      [noticed(0, undefined), noticed(1, undefined), noticed(2, undefined), noticed(1, held)],
      [1, 1, 0, 0],
    );
  });

  it('that is a write goes where it says, or to the end, whichever way its file was opened', () => {
    const [pages, append, both] = [1, 0o2000, 0o2002];
    let handles = 0;
    const open = () => ++handles;
    const { filesystem, calls } = notingFileSystem({ ...answers, open });
    const { ask } = mounted(filesystem);
    const said = () => calls.splice(0).map(([method, first, second]) => [method, first, second]);
    const write = (of: bigint, flags: number, from = 0) => {
      calls.length = 0;
      ask(opcodes.write, [of, 7n, 1, from, 0n, flags, 0, Buffer.from('x')], { node: 9 });
      return said().filter(([method]) => method !== 'getattr');
    };
    const asked = { node: 9 };
    ask(opcodes.open, [both, 0], asked);
    assert.deepEqual(write(1n, append), [['write', 1, 7]]);
    const placed = { read: false, write: true, append: false };
    assert.deepEqual(write(1n, 0, pages), [
      ['open', 9, placed],
      ['write', 2, 7],
    ]);
    assert.deepEqual(write(1n, 0), [['write', 2, 7]]);
    assert.deepEqual(write(1n, append, pages), [['write', 2, 7]]);
    ask(opcodes.release, [1n], asked);
    assert.deepEqual(said(), [
      ['release', 2, undefined],
      ['release', 1, undefined],
    ]);
    ask(opcodes.open, [2, 0], asked);
    assert.deepEqual(write(3n, 0), [['write', 3, 7]]);
    assert.deepEqual(write(3n, append), [
      ['open', 9, { ...placed, append: true }],
      ['write', 4, 7],
    ]);
    assert.deepEqual(write(3n, 0), [['write', 3, 7]]);
  });

  it('that is a write may be answered later, beside others at once', async () => {
    const write = () => Promise.resolve(5);
    const { ask, answer } = mounted(notingFileSystem({ ...answers, write }).filesystem, { laterWrites: true });
    const later = answer(requestOf(opcodes.write, [handle, 0n, 5, 0, 0n, 0, 0, Buffer.from('bytes')], { unique: 3n }));
    ask(opcodes.getattr);
    const { unique, body } = readReply((await later) as Buffer);
    assert.deepEqual([unique, body.readBigUInt64LE(0)], [3n, 5n], 'in a reply of its own');
  });

  it('has names that end with NUL, and where the request does', () => {
    const bytes = Buffer.from('one\0two');
    assert.deepEqual(
      [readName(bytes, 0, 7), readName(bytes, 0, 2), readName(bytes, 4, 7), readName(bytes, 4, 6)],
      ['one', 'on', 'two', 'tw'],
    );
  });

  it('may have no answer: forgetting, and taking back', () => {
    const { ask } = mounted(notingFileSystem(answers).filesystem);
    assert.equal(ask(opcodes.forget, [1n], { node: 9 }), undefined);
    assert.equal(ask(opcodes.batchForget, [2, 0, 9n, 1n, 10n, 1n]), undefined);
    assert.equal(ask(opcodes.interrupt, [5n]), undefined);
  });
});

describe('the first answer to the kernel', () => {
  /** Bits of `FUSE_INIT` by their numbers in `linux/fuse.h`. */
  const flags = (options: Parameters<typeof mounted>[1], offered: number, changed = {}) => {
    const { flush: _flush, ...others } = answers;
    const { ask } = mounted(notingFileSystem(others, changed).filesystem, options);
    const { body } = ask(opcodes.init, [7, 40, 0, offered]) as Reply;
    const said = [0, 4, 8, 20, 24].map((at) => body.readUInt32LE(at));
    assert.deepEqual([body.length, ...said], [64, 7, 38, 1 << 20, 1 << 20, 1]);
    assert.equal(body.readUInt16LE(28), 256, 'pages of a request');
    return body.readUInt32LE(12);
  };

  it('takes of what is offered what the tree can do, and nothing that was not offered', () => {
    const all = 0xffff_ffff;
    const always = (1 << 0) | (1 << 5) | (1 << 18) | (1 << 22);
    const [truncates, locks, invalidates, listsPlus] = [1 << 3, (1 << 1) | (1 << 10), 1 << 12, (1 << 13) | (1 << 14)];
    assert.equal(flags({ shared: true }, all), always | truncates | invalidates);
    assert.equal(flags({ shared: false }, all), always | listsPlus);
    assert.equal(
      flags({ shared: true, kept: { names: 1, attributes: 1 } }, all),
      always | truncates | invalidates | listsPlus,
    );
    assert.equal(flags({ shared: true }, all, { sharedLocks: true }), always | truncates | invalidates | locks);
    assert.equal(flags({ shared: false, locks: true }, all), always | truncates | locks | listsPlus);
    assert.equal(flags({ shared: true, locks: false }, all, { sharedLocks: true }), always | truncates | invalidates);
    for (let bit = 0; bit < 32; bit += 1) {
      const one = (1 << bit) >>> 0;
      assert.ok((flags({ shared: false, locks: true }, one) & ~one) === 0);
    }
    assert.equal(flags({ shared: true }, 0), 0);
  });
});

describe('the answer to a lookup', () => {
  it('says for how long the kernel may keep it', () => {
    const kept = (options: Parameters<typeof mounted>[1], lasting?: string) => {
      const { filesystem } = notingFileSystem({
        ...answers,
        ...(lasting === undefined ? {} : { lasting: () => lasting }),
      });
      const { ask } = mounted(filesystem, options);
      const body = (ask(opcodes.lookup, ['n']) as Reply).body;
      const seconds = [16, 24].map((at) => Number(body.readBigUInt64LE(at)));
      const alone = (ask(opcodes.getattr, []) as Reply).body;
      assert.deepEqual(
        [alone.readBigUInt64LE(0), alone.readUInt32LE(8)],
        [BigInt(seconds[1] ?? 0), body.readUInt32LE(36)],
      );
      return [seconds[0], body.readUInt32LE(32), seconds[1], body.readUInt32LE(36)];
    };
    assert.deepEqual(kept({ shared: true }), [0, 0, 0, 0]);
    assert.deepEqual(kept({ shared: false }), [3600, 0, 3600, 0]);
    assert.deepEqual(kept({ shared: true, kept: { names: 0, attributes: 1e-9 } }), [0, 0, 0, 1]);
    assert.deepEqual(kept({ shared: true, kept: { names: 2.5, attributes: 1.25 } }), [2, 5e8, 1, 25e7]);
    assert.deepEqual(kept({ shared: true }, 'name'), [3600, 0, 3600, 0]);
    assert.deepEqual(kept({ shared: true }, 'inode'), [0, 0, 3600, 0]);
  });

  it('is kept where there is no such name, as long as names are', () => {
    const { filesystem } = notingFileSystem({ ...answers, lookup: undefined });
    const { body, error } = mounted(filesystem, { shared: true, kept: { names: 2.5, attributes: 9 } }).ask(
      opcodes.lookup,
      ['n'],
    ) as Reply;
    assert.deepEqual(
      [error, body.length, body.readBigUInt64LE(0), body.readBigUInt64LE(16), body.readUInt32LE(32)],
      [0, 128, 0n, 2n, 5e8],
    );
  });
});

describe('owners', () => {
  it('are moved and exchanged both ways, and no mode is set-uid where modes are plain', () => {
    const owners = { uid: [0, 1001], gid: [0, 1002] } as const;
    for (const [given, asked, shown] of [
      [{}, [7, 8], [1001, 1002]],
      [{ shift: 100_000 }, [7, 8], [101_001, 101_002]],
      [{ shift: 5 }, [2, 3], [1006, 1007]],
      [{ shift: -1000 }, [1007, 1008], [1, 2]],
      [{ owners }, [7, 8], [0, 0]],
      [{ owners, shift: 5 }, [2, 3], [5, 5]],
    ] as const) {
      const { filesystem, calls } = notingFileSystem(answers);
      const { ask } = mounted(filesystem, { plainModes: true, ...given });
      const { body } = ask(opcodes.mkdir, [0o7755, 0, 'd'], { uid: asked[0], gid: asked[1] }) as Reply;
      assert.deepEqual([readAttributes(body, 40).uid, readAttributes(body, 40).gid], shown);
      assert.deepEqual(calls[0], [
        'mkdir',
        1,
        'd',
        { mode: 0o1755, uid: inside(asked[0], given), gid: inside(asked[1], given) },
      ]);
      ask(opcodes.setattr, setattr(1 + 2 + 4));
      assert.deepEqual(calls[1]?.[2], { ...unchanged, mode: 0o1644, uid: inside(901, given), gid: inside(902, given) });
    }
    const { filesystem, calls } = notingFileSystem(answers);
    mounted(filesystem, { owners, shift: 5 }).ask(opcodes.mkdir, [0, 0, 'd'], { uid: 1006, gid: 5 });
    assert.deepEqual(calls[0]?.[3], { mode: 0, uid: 0, gid: 1002 });
  });

  /** What is below the shift stays as it is. */
  function inside(id: number, given: object): number {
    const { shift = 0 } = given as { readonly shift?: number };
    return id >= shift ? id - shift : id;
  }
});

describe('an answer that comes later', () => {
  const later = Object.fromEntries(
    Object.entries(answers).map(([name, answer]) => [
      name,
      async () => (answer instanceof Error ? Promise.reject(answer) : answer),
    ]),
  );

  it('is the same as one at once, for every request', async () => {
    for (const [name, row] of Object.entries(rows)) {
      if (row.answers !== undefined || name === 'flush' || /^(?:getlk|setlk)/.test(name)) continue;
      const { filesystem, calls } = notingFileSystem(later, { immediate: false });
      const reply = await mounted(filesystem).answer(requestOf(opcodeOf(name), row.parts ?? [], row.asked));
      const asked = calls.filter(
        ([method]) => name.startsWith('getxattr') || method !== 'listxattr' || name.startsWith('listxattr'),
      );
      assert.deepEqual(
        asked,
        row.calls.filter(([method]) => !(name.startsWith('getxattr') && method === 'listxattr')),
        name,
      );
      const read = readReply(reply as Buffer);
      assert.deepEqual([read.error, read.unique], [0, 0x1_0000_0002n], name);
      row.reply?.(read);
    }
  });

  it('is taken back where the kernel no longer waits for it', async () => {
    const undone = async (opcode: number, parts: readonly Part[], body: readonly Part[], error = 0) => {
      const { filesystem, calls } = notingFileSystem({ ...later, forget: undefined }, { immediate: false });
      const { dispatch } = mounted(filesystem);
      dispatch.nodes.told(inode, 1);
      dispatch.nodes.told(inode, 1);
      const reply = requestOf(0, []).subarray(0, 16);
      reply.writeInt32LE(error, 4);
      await dispatch.undo(
        requestOf(opcode, parts, { node: 9 }),
        Buffer.concat([reply, requestOf(0, body).subarray(40)]),
      );
      assert.ok(dispatch.nodes.knows(inode), 'it was told twice');
      const isForgotten = dispatch.nodes.forgotten(inode, 1);
      return [...calls.filter(([method]) => method === 'release'), ...(isForgotten ? [['forget']] : [])];
    };
    const entry: readonly Part[] = [BigInt(inode), ...Array.from({ length: 15 }, () => 0n)];
    for (const name of ['lookup', 'mkdir', 'mknod', 'symlink', 'link'] as const) {
      assert.deepEqual(await undone(opcodes[name], [], entry), [['forget']], name);
      assert.deepEqual(await undone(opcodes[name], [], entry, -errno.EIO), [], name);
    }
    assert.deepEqual(await undone(opcodes.create, [], [...entry, handle, 0n]), [
      ['release', opened.handle],
      ['forget'],
    ]);
    assert.deepEqual(await undone(opcodes.open, [], [handle, 0n]), [['release', opened.handle]]);
    assert.deepEqual(await undone(opcodes.open, [], [handle, 0n], -errno.EIO), []);
    assert.deepEqual(await undone(opcodes.getattr, [], [handle, 0n]), []);
  });

  it('does not end the server where taking it back is refused', async () => {
    const { filesystem } = notingFileSystem(
      { ...later, release: async () => Promise.reject(failure('EBADF', 'x')) },
      { immediate: false },
    );
    const { dispatch, answer } = mounted(filesystem);
    const request = requestOf(opcodes.open, [0, 0]);
    await dispatch.undo(request, (await answer(request)) as Buffer);
  });
});

describe('a pipe that was removed while it is in use', () => {
  it('has the attributes it had, and those that are set of it', () => {
    for (const kind of ['fifo', 'socket', 'symlink', 'character', 'file'] as const) {
      let answer: unknown = { ...file, kind, inode: 20 };
      const { filesystem } = notingFileSystem({
        ...answers,
        lookup: answer,
        getattr: () => answer,
        setattr: () => answer,
      });
      const { ask } = mounted(filesystem);
      ask(opcodes.lookup, ['p']);
      answer = { ...file, kind, inode: 20, mode: 0o640, links: 1 };
      const at = { node: 20 };
      ask(opcodes.setattr, setattr(1), at);
      answer = failure('ESTALE', 'getattr');
      const said = (opcode: number, parts: readonly Part[] = []) => {
        const { error, body } = ask(opcode, parts, at) as Reply;
        const shown = error === 0 ? readAttributes(body, 16) : undefined;
        return shown === undefined ? error : [(shown.mode ?? 0) & 0o7777, shown.links, shown.uid];
      };
      if (kind === 'file') {
        assert.equal(said(opcodes.getattr), -errno.ESTALE);
        continue;
      }
      assert.deepEqual(said(opcodes.getattr), [0o640, 0, 1001], kind);
      assert.deepEqual(said(opcodes.setattr, setattr(2)), [0o640, 0, 901]);
      assert.deepEqual(said(opcodes.getattr), [0o640, 0, 901]);
      ask(opcodes.forget, [1n], at);
      assert.equal(said(opcodes.getattr), -errno.ESTALE);
    }
  });

  it('is not what has its number later', () => {
    let answer: unknown = { ...file, kind: 'fifo', inode: 20 };
    const { filesystem } = notingFileSystem({
      ...answers,
      lookup: () => answer,
      getattr: failure('ESTALE', 'getattr'),
    });
    const { ask } = mounted(filesystem);
    ask(opcodes.lookup, ['p']);
    answer = { ...file, inode: 20 };
    ask(opcodes.lookup, ['f']);
    assert.equal(ask(opcodes.getattr, [], { node: 20 })?.error, -errno.ESTALE);
  });
});

describe('a directory that was removed while it is in use', () => {
  it('is empty, keeps what is changed of it, and takes no name', () => {
    const directory = { ...file, kind: 'directory' as Kind, inode: 20, links: 2 };
    const { filesystem, calls } = notingFileSystem({ ...answers, lookup: directory });
    const { ask } = mounted(filesystem);
    ask(opcodes.lookup, ['d']);
    ask(opcodes.rmdir, ['d']);
    calls.length = 0;
    const at = { node: 20 };
    const shown = readAttributes((ask(opcodes.getattr, [], at) as Reply).body, 16);
    assert.deepEqual([shown.links, shown.mode, shown.uid], [0, 0o044751, 1001]);
    const changed = readAttributes((ask(opcodes.setattr, setattr(1 + 2 + 16), at) as Reply).body, 16);
    assert.deepEqual(
      [changed.mode, changed.uid, changed.gid, changed.accessed],
      [0o047644, 901, 1002, 11_000_000_022n],
    );
    assert.deepEqual(readAttributes((ask(opcodes.getattr, [], at) as Reply).body, 16), changed);
    for (const name of [
      'lookup',
      'create',
      'mkdir',
      'mknod',
      'symlink',
      'link',
      'unlink',
      'rmdir',
      'rename',
      'rename2',
    ] as const) {
      assert.equal(ask(opcodes[name], [0n, 0n, 'x'], at)?.error, -errno.ENOENT, name);
    }
    const listing = (ask(opcodes.opendir, [0, 0], at) as Reply).body.readBigUInt64LE(0);
    assert.doesNotMatch((ask(opcodes.readdir, [listing, 2n, 4096, 0], at) as Reply).body.toString('latin1'), /one/);
    assert.deepEqual(calls, [], 'the engine does not have it any more');
    ask(opcodes.forget, [1n], at);
    ask(opcodes.getattr, [], at);
    assert.deepEqual(calls, [['getattr', 20]]);
  });

  it('is forgotten where the engine gives its number to another, however the kernel hears of that', () => {
    const directory = { ...file, kind: 'directory' as Kind, inode: 20, links: 2 };
    const [again, at] = [{ ...file, inode: 20 }, { node: 20 }];
    const made = { create: { ...opened, attributes: again }, mkdir: again, mknod: again, symlink: again, link: again };
    const readdir = [{ name: 'one', inode: 20, kind: 'directory' }];
    for (const row of ['lookup', 'create anew', 'mkdir', 'mknod of a file', 'symlink', 'link', 'readdirplus']) {
      const { filesystem, calls } = notingFileSystem({ ...answers, ...made, readdir, lookup: directory });
      const { ask } = mounted(filesystem);
      ask(opcodes.lookup, ['d']);
      ask(opcodes.rmdir, ['d']);
      assert.equal(readAttributes((ask(opcodes.getattr, [], at) as Reply).body, 16).links, 0);
      const listing = (ask(opcodes.opendir, [0, 0]) as Reply).body.readBigUInt64LE(0);
      const reply = ask(opcodeOf(row), row === 'readdirplus' ? [listing, 2n, 4096, 0] : rows[row]?.parts);
      assert.equal(reply?.error, 0, row);
      calls.length = 0;
      ask(opcodes.getattr, [], at);
      assert.deepEqual(calls, [['getattr', 20]], row);
    }
  });
});
