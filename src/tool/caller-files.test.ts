/** A caller's files by its own process: here one that has a single file, as native/object/caller-files.c has it. */
import assert from 'node:assert/strict';
import { constants } from 'node:os';
import { describe, it } from 'node:test';
import { hasCode } from '../base/errno.js';
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
    about.writeBigUInt64LE(7n, 13);
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

function bytesOf(length: number): Buffer {
  return Buffer.from(Uint8Array.from({ length }, (_, index) => (index * 7 + (index >> 16)) & 0xff));
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
      assert.deepEqual(await files.stat(at), { type: 'file', mode: 0o644, size, modified: 7, target: undefined });
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
});
