/** A caller's files by its own process: here one that has a single file, as native/object/caller-files.c has it. */
import assert from 'node:assert/strict';
import { constants } from 'node:os';
import { describe, it } from 'node:test';
import { ErrnoError, hasCode } from '../base/errno.js';
import { encodePath } from '../base/path-bytes.js';
import { type BeneathPath, CallerFiles } from './caller-files.js';
import { objectContentBytes } from './wire.js';

const at: BeneathPath = { root: '/w', source: 'workspace', path: 'file', shown: 'file' };
const [isNew, more] = [1, 4];

/** Does to `content` what is asked, and says so. */
function callerWith(start: Buffer | undefined) {
  let content = start;
  let largest = 0;
  const answer = (number: number, ...rest: readonly Buffer[]) => {
    const head = Buffer.alloc(4);
    head.writeUInt32LE(number);
    return Buffer.concat([head, ...rest]);
  };
  const attributes = (bytes: Buffer) => {
    const about = Buffer.alloc(21);
    about.writeUInt8(8, 0);
    about.writeUInt32LE(0o644, 1);
    about.writeBigUInt64LE(BigInt(bytes.length), 5);
    about.writeBigInt64LE(-7n, 13);
    return about;
  };
  const reach = async (request: Buffer): Promise<Buffer> => {
    const [what, flags, offset] = [
      request.toString('latin1', 0, 1),
      request.readUInt32LE(1),
      Number(request.readBigUInt64LE(5)),
    ];
    const length = request.readUInt32LE(13);
    const words = request.indexOf(0, request.indexOf(0, 17) + 1) + 1;
    assert.equal(request.toString('latin1', 17, words), '/w\0file\0');
    if (what === 'w') {
      const bytes = request.subarray(words);
      largest = Math.max(largest, bytes.length);
      if ((flags & isNew) !== 0 && content !== undefined) return answer(constants.errno.EEXIST);
      const before = (flags & more) === 0 ? Buffer.alloc(0) : (content ?? Buffer.alloc(0));
      assert.equal((flags & more) === 0 ? 0 : before.length, offset, 'each part follows the one before');
      content = Buffer.concat([before, bytes]);
      return answer(0);
    }
    if (content === undefined) return answer(constants.errno.ENOENT);
    return answer(0, attributes(content), what === 'r' ? content.subarray(offset, offset + length) : Buffer.alloc(0));
  };
  return { files: new CallerFiles('test', reach), content: () => content, largest: () => largest };
}

/** Made once: each size is looked at many times. */
const bytesOf = remembered((length: number): Buffer => {
  const bytes = Buffer.alloc(length);
  for (let index = 0; index < length; index += 1) bytes[index] = (index * 7 + (index >> 16)) & 0xff;
  return bytes;
});

function remembered(make: (length: number) => Buffer): (length: number) => Buffer {
  const known = new Map<number, Buffer>();
  return (length) => {
    const found = known.get(length) ?? make(length);
    known.set(length, found);
    return found;
  };
}

const sizes = [
  0,
  1,
  objectContentBytes - 1,
  objectContentBytes,
  objectContentBytes + 1,
  2 * objectContentBytes,
  5 << 19,
];

describe('a file of a caller', () => {
  it('is written whole, whatever its size, over what was there and where nothing was', async () => {
    for (const size of sizes) {
      for (const before of [undefined, bytesOf(3 << 20)]) {
        const caller = callerWith(before);
        const bytes = bytesOf(size);
        await caller.files.write(at, bytes, { create: before === undefined, parents: true });
        assert.ok(caller.content()?.equals(bytes), `${size} bytes`);
        assert.ok(caller.largest() <= objectContentBytes, `${size} bytes`);
      }
    }
  });

  it('is read whole, whatever its size, and its attributes with it', async () => {
    for (const size of sizes) {
      const { files } = callerWith(bytesOf(size));
      const pieces: Buffer[] = [];
      for await (const piece of files.content(at)) pieces.push(piece);
      assert.ok(Buffer.concat(pieces).equals(bytesOf(size)), `${size} bytes`);
      assert.deepEqual(await files.stat(at), { type: 'file', mode: 0o644, size, modified: -7, target: undefined });
    }
  });

  it('is refused by the errno that the kernel gave; beyond the workspace and read-only are not allowed', async () => {
    const { files } = callerWith(Buffer.from('there'));
    await assert.rejects(files.write(at, Buffer.alloc(1), { create: true }), (error) => hasCode(error, 'EEXIST'));
    await assert.rejects(callerWith(undefined).files.read(at), (error) => hasCode(error, 'ENOENT'));
    for (const [name, code] of [
      ['EXDEV', 'EACCES'],
      ['EROFS', 'EACCES'],
      ['EACCES', 'EACCES'],
      ['ENOSPC', 'ENOSPC'],
    ] as const) {
      const refused = new CallerFiles('test', async () => {
        const reply = Buffer.alloc(4);
        reply.writeUInt32LE(constants.errno[name]);
        return reply;
      });
      await assert.rejects(refused.stat(at), (error) => hasCode(error, code), name);
    }
    for (const length of [0, 3, 4, 20]) {
      const cut = new CallerFiles('test', async () => Buffer.alloc(length));
      await assert.rejects(cut.read(at), (error) => hasCode(error, 'EIO'), `an answer of ${length} bytes`);
    }
  });

  it('is refused in words of ours where we know any, with the path as the caller wrote it', async () => {
    const refusedBy = async (number: number) => {
      const files = new CallerFiles('fs.read', async () => {
        const reply = Buffer.alloc(4);
        reply.writeUInt32LE(number);
        return reply;
      });
      const error = await files.list({ ...at, shown: 'as written' }).catch((thrown: unknown) => thrown);
      assert.ok(error instanceof ErrnoError);
      assert.deepEqual([error.operation, error.path], ['fs.read', 'as written']);
      return [error.code, error.reason];
    };
    const known = ['ENOENT', 'EXDEV', 'EACCES', 'EROFS', 'EEXIST', 'EISDIR', 'ENOTDIR', 'ENXIO', 'ELOOP'] as const;
    const said = await Promise.all(known.map((name) => refusedBy(constants.errno[name])));
    assert.equal(new Set(said.map(([, reason]) => reason)).size, known.length);
    assert.deepEqual(
      said.map(([code]) => code),
      known.map((name) => (['EXDEV', 'EROFS'].includes(name) ? 'EACCES' : name)),
    );
    assert.deepEqual(await refusedBy(constants.errno.ENOSPC), ['ENOSPC', 'the kernel refused it (ENOSPC)']);
    assert.equal((await refusedBy(9_999))[0], 'EIO');
  });
});

/** An entry as the caller's process says it: its type, how long it is, its name. */
function entry(kind: number, size: number, name: Buffer | string): Buffer {
  const head = Buffer.alloc(9);
  head.writeUInt8(kind, 0);
  head.writeBigUInt64LE(BigInt(size), 1);
  return Buffer.concat([head, Buffer.from(name), Buffer.alloc(1)]);
}

describe('a directory of a caller', () => {
  const asked: Buffer[] = [];
  const listing = (...parts: readonly Buffer[]) =>
    new CallerFiles('test', async (request) => {
      asked.push(request);
      return Buffer.concat([Buffer.alloc(4), ...parts]);
    }).list(at);

  it('is listed by name, with what each is and how long', async () => {
    const { entries, isMore } = await listing(
      Buffer.from([0]),
      entry(8, 3, 'b'),
      entry(4, 4096, 'a'),
      entry(10, 1, 'ä'),
      entry(1, 2 ** 40, 'c c\n'),
      entry(8, 0, Buffer.from([0x66, 0xff])),
    );
    assert.equal(isMore, false);
    assert.deepEqual(entries.map(({ name, type, size }) => [name, type, size]).slice(0, 3), [
      ['a', 'directory', 4096],
      ['b', 'file', 3],
      ['c c\n', 'other', 2 ** 40],
    ]);
    assert.deepEqual(entries.map(({ name }) => encodePath(name)).slice(3), [
      ...[Buffer.from([0x66, 0xff]), Buffer.from('ä')],
    ]);
    assert.equal(asked[0]?.toString('latin1', 0, 1), 'l');
  });

  it('is empty, has more than was said, or is cut off: what came whole is listed', async () => {
    assert.deepEqual(await listing(Buffer.from([0])), { entries: [], isMore: false });
    assert.deepEqual(await listing(), { entries: [], isMore: false });
    assert.deepEqual(await listing(Buffer.from([1])), { entries: [], isMore: true });
    const whole = entry(8, 3, 'b');
    const second = entry(8, 4, 'name');
    for (let length = 0; length < second.length; length += 1) {
      const { entries, isMore } = await listing(Buffer.from([1]), whole, second.subarray(0, length));
      assert.deepEqual([entries.map(({ name }) => name), isMore], [['b'], true], `${length} bytes of the second`);
    }
    assert.equal((await listing(Buffer.from([1]), whole, second)).entries.length, 2);
  });

  it('has links that say where they lead, and nothing else does', async () => {
    const stat = (kind: number, rest: string) =>
      new CallerFiles('test', async () => {
        const about = Buffer.alloc(21);
        about.writeUInt8(kind, 0);
        return Buffer.concat([Buffer.alloc(4), about, Buffer.from(rest)]);
      }).stat(at);
    const found = await Promise.all([10, 8, 4, 2].map((kind) => stat(kind, 'over/there')));
    assert.deepEqual(
      found.map(({ type, target }) => [type, target]),
      [
        ['symlink', 'over/there'],
        ['file', undefined],
        ['directory', undefined],
        ['other', undefined],
      ],
    );
  });
});
