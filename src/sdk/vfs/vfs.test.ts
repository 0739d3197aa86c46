import assert from 'node:assert/strict';
import { mkdtempSync, promises, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../../test/property/seeded.js';
import { ErrnoError } from '../../base/errno.js';
import { nativeProgram } from '../../base/native-program.js';
import { memoryFileSystem } from '../../vfs/engines/memory/memory.js';
import { makeVfs } from './create.js';
import type { VfsFileHandle } from './file-handle.js';

const directory = mkdtempSync(join(tmpdir(), 'ctx-vfs-'));
after(() => rmSync(directory, { recursive: true, force: true }));

type Files = Pick<typeof promises, 'open' | 'readFile' | 'writeFile' | 'appendFile'>;

/** The same in a tree of ours and in Node's. */
async function bothWays(act: (files: Files, place: string) => Promise<unknown>): Promise<readonly unknown[]> {
  const vfs = await makeVfs({}, nativeProgram('flock.node'));
  const told = async (files: Files, place: string) => {
    try {
      return await act(files, place);
    } catch (error) {
      return (error as { code?: string }).code;
    }
  };
  const place = mkdtempSync(join(directory, 'in-'));
  try {
    return [await told(vfs as unknown as Files, ''), await told(promises, place)];
  } finally {
    await vfs.close();
  }
}

const letters = ['r', 'rs', 'sr', 'w', 'wx', 'xw', 'a', 'ax', 'xa', 'as', 'sa'];

describe('flags for opening', () => {
  it('mean what they mean to Node, each of them, whether the file is there or not', async () => {
    for (const flags of letters.flatMap((each) => [each, `${each}+`])) {
      for (const isThere of [true, false]) {
        const [ours, nodes] = await bothWays(async (files, place) => {
          const path = `${place}/file`;
          if (isThere) await files.writeFile(path, 'before');
          const opened: (string | undefined)[] = [];
          const file = await files.open(path, flags);
          for (const use of [
            () => file.write(Buffer.from('xy')),
            () => file.read(Buffer.alloc(9), 0, 9, 0),
            () => file.truncate(1),
          ]) {
            opened.push(
              await use().then(
                () => 'done',
                (error: { code?: string }) => error.code,
              ),
            );
          }
          await file.close();
          return [...opened, await files.readFile(path, 'utf8')];
        });
        // Node has no `rs` without a plus on every platform: what it takes is what counts.
        if (nodes !== 'ERR_INVALID_ARG_VALUE') assert.deepEqual(ours, nodes, `${flags}, there: ${isThere}`);
      }
    }
  });

  it('are refused where they are none, also names that every object has', async () => {
    for (const flags of ['', 'x', 'rw', 'wa', 'r++', 'R', 'valueOf', 'toString', '__proto__', 'hasOwnProperty']) {
      const [ours] = await bothWays((files, place) => files.open(`${place}/file`, flags));
      assert.equal(ours, 'EINVAL', flags);
    }
  });
});

type Act = readonly [name: string, ...values: readonly unknown[]];

/** What each answers, and what the file is after all of them. */
async function acted(files: Files, place: string, flags: string, acts: readonly Act[]): Promise<unknown> {
  const path = `${place}/file`;
  await files.writeFile(path, 'abcdefghij');
  const file = await files.open(path, flags);
  const answers: unknown[] = [];
  for (const [name, first, second, third] of acts) {
    const answer = async (): Promise<unknown> => {
      const buffer = Buffer.alloc(6, '-');
      if (name === 'read') {
        const { bytesRead } = await file.read(buffer, Number(first), Number(second), third as number | null);
        return [bytesRead, buffer.toString()];
      }
      if (name === 'write') {
        return (await file.write(Buffer.from('0123'), Number(first), Number(second), third as number | null))
          .bytesWritten;
      }
      if (name === 'text') return (await file.write('zz')).bytesWritten;
      if (name === 'truncate') return file.truncate(Number(first));
      if (name === 'size') return (await file.stat()).size;
      if (name === 'readFile') return file.readFile('latin1');
      return name === 'writeFile' ? file.writeFile('WRITE') : file.appendFile('APPEND');
    };
    answers.push(await answer().catch((error: { code?: string }) => error.code));
  }
  await file.close();
  answers.push(await file.read(Buffer.alloc(1), 0, 1, 0).catch((error: { code?: string }) => error.code));
  return [answers, await files.readFile(path, 'latin1')];
}

describe('an open file', () => {
  const place = fc.option(fc.nat(12));
  const act: fc.Arbitrary<Act> = fc.oneof(
    fc.tuple(fc.constant('read'), fc.nat(3), fc.integer({ min: 1, max: 3 }), place),
    fc.tuple(fc.constant('write'), fc.nat(2), fc.integer({ min: 1, max: 2 }), place),
    fc.tuple(fc.constant('truncate'), fc.nat(14)),
    fc.constantFrom<Act>(['text'], ['size'], ['readFile'], ['writeFile'], ['appendFile']),
  );

  it('does what one of Node does, whatever is done to it and however it was opened', async () => {
    const flags = fc.constantFrom('r', 'r+', 'w', 'w+', 'a', 'a+');
    await fc.assert(
      fc.asyncProperty(flags, fc.array(act, { maxLength: 8 }), async (word, acts) => {
        const [ours, nodes] = await bothWays((files, at) => acted(files, at, word, acts));
        assert.deepEqual(ours, nodes);
      }),
      seeded(150),
    );
  });

  it('of a guest does nothing that the guest was not granted, by the file either', async () => {
    const uses = {
      read: (file: VfsFileHandle) => file.read({ position: 0 }),
      readFile: (file: VfsFileHandle) => file.readFile(),
      write: (file: VfsFileHandle) => file.write('x'),
      writeFile: (file: VfsFileHandle) => file.writeFile('x'),
      appendFile: (file: VfsFileHandle) => file.appendFile('x'),
      truncate: (file: VfsFileHandle) => file.truncate(),
    };
    const vfs = await makeVfs({}, nativeProgram('flock.node'));
    for (const granted of [['fs.read'], ['fs.write'], ['fs.read', 'fs.write']]) {
      const guest = vfs.restricted(Object.fromEntries(granted.map((scope) => [scope, ['/']])));
      for (const flags of ['r', 'r+', 'w', 'w+', 'a', 'a+']) {
        for (const [name, use] of Object.entries(uses)) {
          await vfs.writeFile('/file', 'before');
          const file = await guest.open('/file', flags).catch(() => undefined);
          const done = await (file === undefined ? Promise.reject() : use(file)).then(
            () => true,
            () => false,
          );
          await file?.close();
          const [reads, writes] = [name.startsWith('read'), flags !== 'r'];
          const opens =
            (!/^r|\+/.test(flags) || granted.includes('fs.read')) && (!writes || granted.includes('fs.write'));
          const may = opens && (reads ? /^r|\+/.test(flags) : writes);
          assert.equal(done, may, `${granted}, ${flags}, ${name}`);
          if (!granted.includes('fs.write')) assert.equal(await vfs.readFile('/file', 'utf8'), 'before');
        }
      }
    }
    await vfs.close();
  });
});

describe('a whole file', () => {
  it('is read, written and appended to as by Node where options are given and left undefined', async () => {
    for (const options of [
      undefined,
      null,
      'utf8',
      {},
      { flag: undefined },
      { encoding: null, mode: undefined },
    ] as const) {
      const [ours, nodes] = await bothWays(async (files, place) => {
        const path = `${place}/file`;
        await files.writeFile(path, 'one', options as undefined);
        await files.appendFile(path, ' two', options as undefined);
        return [String(await files.readFile(path, options as undefined)), await files.readFile(path, 'latin1')];
      });
      assert.deepEqual(
        [ours, nodes],
        [
          ['one two', 'one two'],
          ['one two', 'one two'],
        ],
        JSON.stringify(options),
      );
    }
  });
});

describe('a tree of several mounts', () => {
  it('leaves none of them open where one cannot be made: each can be written to by the next', async () => {
    const library = nativeProgram('flock.node');
    const file = join(directory, 'store');
    const store = { spec: `chunked:${file}`, writable: true };
    await (await makeVfs({ mounts: { '/store': store } }, library)).close();
    const cannot: Readonly<Record<string, string>> = {
      '/unknown': 'nothing:x',
      '/missing': `host:${join(directory, 'missing')}`,
      'not absolute': 'memory:',
    };
    for (const [path, specification] of Object.entries(cannot)) {
      for (const mounts of [
        { '/store': store, [path]: specification },
        { [path]: specification, '/store': store },
      ]) {
        await assert.rejects(makeVfs({ mounts }, library), path);
        const again = await makeVfs({ mounts: { '/store': store } }, library);
        await again.writeFile('/store/file', path);
        await again.close();
      }
    }
    await assert.rejects(makeVfs({ mounts: { store } }, library), { code: 'EINVAL' });
    await (await makeVfs({ mounts: { '/store': store } }, library)).close();
  });

  it('is closed with all that is open in it, also where a file cannot be written to its end', async () => {
    const library = nativeProgram('flock.node');
    const store = { spec: `chunked:${join(directory, 'full')}`, writable: true };
    const full = memoryFileSystem({ writable: true, root: { mode: 0o755, uid: 0, gid: 0 } });
    const release = () => {
      throw new ErrnoError('ENOSPC', { operation: 'write', reason: 'the disk is full' });
    };
    const tree = new Proxy(full, {
      get: (target, member) => {
        if (member === 'release') return release;
        const value: unknown = Reflect.get(target, member, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const vfs = await makeVfs({ mounts: { '/store': store, '/full': tree } }, library);
    const file = await vfs.open('/full/file', 'w');
    await assert.rejects(file.close(), { code: 'ENOSPC' });
    await assert.rejects(file.write('more'), { code: 'EBADF' }, 'it is closed');
    await vfs.open('/full/other', 'w');
    await assert.rejects(vfs.close(), { code: 'ENOSPC' });
    // Nobody has it locked any more.
    await (await makeVfs({ mounts: { '/store': store } }, library)).close();
  });
});
