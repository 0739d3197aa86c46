import assert from 'node:assert/strict';
import { mkdtempSync, promises, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { nativeProgram } from '../../base/native-program.js';
import { makeVfs } from './create.js';

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
          for (const use of [() => file.write(Buffer.from('xy')), () => file.read(Buffer.alloc(9), 0, 9, 0)]) {
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
