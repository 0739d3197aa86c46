/** What a drop throws away is freed by a process that no one waits for. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ErrnoError } from '../../base/errno.js';
import type { WalkerLock } from '../tree/tree.js';
import { freshPlace, program, tree } from '../tree/tree-fixture.js';
import { openStore } from './store.js';
import {
  discard,
  emptyTrash,
  emptyTrashLater,
  resumeEmptying,
  throwAway,
  throwAwayContents,
  throwAwayOrLeave,
  trashCount,
} from './trash.js';

const { at, write } = freshPlace();

function fill(trash: string, directories: number, files: number): void {
  for (let each = 0; each < directories; each += 1) {
    const directory = join(trash, `thrown-${each}`);
    mkdirSync(directory, { recursive: true });
    for (let file = 0; file < files; file += 1) writeFileSync(join(directory, String(file)), '');
  }
}

it('everything goes, what forbids it included, and the directory stays', () => {
  const trash = at('trash');
  fill(trash, 3, 5);
  chmodSync(join(trash, 'thrown-1'), 0);
  writeFileSync(join(trash, 'a file'), '');
  const { status, stderr } = spawnSync(program, ['empty', trash]);
  assert.equal(status, 0, stderr.toString());
  assert.deepEqual(readdirSync(trash), ['a file'], 'only directories are ever thrown away');
});

it('killed at any moment, the next one goes on', async () => {
  const trash = at('trash');
  fill(trash, 20, 100);
  const child = spawn(program, ['empty', trash], { stdio: 'ignore' });
  await once(child, 'spawn');
  child.kill('SIGKILL');
  await once(child, 'exit');
  assert.equal(spawnSync(program, ['empty', trash]).status, 0);
  // A process of the first one may still be at its entry: it and the second one do not mind each other.
  while (readdirSync(trash).length > 0) assert.equal(spawnSync(program, ['empty', trash]).status, 0);
});

it('a missing directory is fine, and nobody waits', () => {
  assert.equal(spawnSync(program, ['empty', at('nothing')]).status, 0);
  tree.emptyLater(at('nothing'));
  assert.equal(existsSync(at('nothing')), false);
});

describe('what is thrown away', () => {
  const store = () => openStore(at('store'));
  const inTrash = () => readdirSync(at('store/trash'));

  it('is in the trash as a whole, or but for itself, and what is missing is fine', () => {
    write('a/x', 'x');
    const away = throwAway(store(), at('a'));
    assert.deepEqual([existsSync(at('a')), readFileSync(`${away}/x`, 'utf8'), trashCount(store())], [false, 'x', 1]);
    assert.equal(throwAway(store(), at('a')), undefined);
    throwAwayContents(store(), at('a'));
    mkdirSync(at('b'));
    throwAwayContents(store(), at('b'));
    assert.equal(trashCount(store()), 1);
    for (const name of ['b/x', 'b/deep/y']) write(name);
    throwAwayContents(store(), at('b'));
    assert.deepEqual([readdirSync(at('b')), trashCount(store())], [[], 2]);
    // Not UTF-8, between others: readers of text name it otherwise.
    for (const name of ['a', '\xff', 'z']) {
      writeFileSync(Buffer.concat([Buffer.from(`${at('b')}/`), Buffer.from(name, 'latin1')]), '');
    }
    throwAwayContents(store(), at('b'));
    assert.deepEqual([readdirSync(at('b')), trashCount(store())], [[], 3]);
    write('file');
    assert.throws(() => throwAwayContents(store(), at('file')), { code: 'ENOTDIR' });
    assert.throws(() => throwAway(store(), at('file/x')), { code: 'ENOTDIR' });
    throwAwayOrLeave(store(), at('file/x'));
  });

  it('needs no trash that is there: one that a person deleted to make room is made again', async () => {
    for (const name of ['a/x', 'b/x', 'c/x']) write(name);
    const deleted = () => {
      const found = store();
      rmSync(at('store/trash'), { recursive: true, force: true });
      return found;
    };
    assert.equal(trashCount(deleted()), 0);
    await emptyTrash(deleted(), tree);
    await emptyTrashLater(deleted(), tree);
    await resumeEmptying(deleted(), tree);
    throwAway(deleted(), at('a'));
    assert.deepEqual([existsSync(at('a')), inTrash().length], [false, 1]);
    throwAwayContents(deleted(), at('b'));
    assert.deepEqual([readdirSync(at('b')), inTrash().length], [[], 1]);
    await discard(deleted(), tree, [at('c')]);
    assert.deepEqual([existsSync(at('c')), inTrash()], [false, []]);
    const gone = deleted();
    rmSync(at('store'), { recursive: true });
    assert.equal(throwAway(gone, at('b')), undefined, 'a store that is gone is not made again');
    assert.equal(existsSync(at('store')), false);
  });

  it('is deleted at once where that is waited for, and nothing else with it', async () => {
    for (const name of ['a/x', 'b/x', 'c/x']) write(name);
    throwAway(store(), at('c'));
    await discard(store(), tree, [at('a'), at('b'), at('none')]);
    assert.deepEqual([existsSync(at('a')), existsSync(at('b')), inTrash().length], [false, false, 1]);
    await emptyTrash(store(), tree);
    assert.deepEqual(inTrash(), []);
  });

  it('is emptied by another process where there is anything, and no other one is at it', async () => {
    const asked: string[] = [];
    const seen = {
      lock: (request: WalkerLock) => tree.lock(request),
      emptyLater: (directory: string) => void asked.push(directory),
    } as unknown as typeof tree;
    const trash = at('store/trash');
    store();
    for (const [count, expected] of [
      [0, 0],
      [1, 1],
      [2, 1],
    ] as const) {
      while (inTrash().length < count) mkdirSync(`${trash}/${inTrash().length}`);
      for (const act of [emptyTrashLater, resumeEmptying]) {
        asked.length = 0;
        await act(store(), seen);
        assert.deepEqual(
          asked,
          Array.from({ length: expected }, () => trash),
          `${act.name} ${count}`,
        );
      }
    }
    const descriptor = openSync(trash, 'r');
    await tree.lock({ descriptor, wait: false });
    asked.length = 0;
    await resumeEmptying(store(), seen);
    assert.deepEqual(asked, []);
    closeSync(descriptor);
    rmSync(trash, { recursive: true });
    await resumeEmptying({ ...store(), directory: at('nothing') }, seen);
    const defect = { ...seen, lock: () => Promise.reject(new TypeError('a defect')) } as unknown as typeof tree;
    mkdirSync(`${trash}/x`, { recursive: true });
    await assert.rejects(resumeEmptying(store(), defect), TypeError);
  });

  it('is waited for where the disk has little left, be it of blocks or of inodes, and else by no one', async () => {
    const done: string[] = [];
    const seen = {
      remove: async (directory: string) => {
        done.push('waited');
        await tree.remove(directory);
      },
      emptyLater: () => void done.push('later'),
    } as unknown as typeof tree;
    const [blocks, files] = [1_000_000, 5_000];
    for (const [bavail, ffree, expected] of [
      [blocks, files, 'later'],
      [20_000, 100, 'later'],
      [19_999, files, 'waited'],
      [0, files, 'waited'],
      [blocks, 99, 'waited'],
      [blocks, 0, 'waited'],
      [19_999, 99, 'waited'],
      [0, 0, 'waited'],
    ] as const) {
      write('a/x');
      throwAway(store(), at('a'));
      await emptyTrashLater(store(), seen, { bavail, blocks, ffree, files });
      assert.deepEqual([...new Set(done.splice(0))], [expected], `${bavail} of ${blocks}, ${ffree} of ${files}`);
      if (expected === 'waited') assert.deepEqual(inTrash(), []);
    }
    // One that makes inodes as they are needed has no number of them.
    await emptyTrashLater(store(), seen, { bavail: blocks, blocks, ffree: 0, files: 0 });
    assert.deepEqual(done, []);
  });

  it('that two processes delete is waited for, and what another has deleted is gone', async () => {
    write('a/x');
    let tries = 0;
    const failing = (code: 'ENOTEMPTY' | 'ENOENT' | 'EIO', times: number) =>
      ({
        remove: async (directory: string) => {
          tries += 1;
          if (tries <= times) throw new ErrnoError(code, { operation: 'delete', reason: 'x' });
          await tree.remove(directory);
        },
      }) as unknown as typeof tree;
    await discard(store(), failing('ENOTEMPTY', 2), [at('a')]);
    assert.deepEqual([tries, inTrash()], [3, []]);
    for (const [code, isFine] of [
      ['ENOENT', true],
      ['EIO', false],
    ] as const) {
      write('a/x');
      tries = 0;
      const discarding = discard(store(), failing(code, 9), [at('a')]);
      if (isFine) await discarding;
      else await assert.rejects(discarding, { code });
      assert.equal(tries, 1, code);
    }
  });
});
