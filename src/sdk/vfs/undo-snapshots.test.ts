/** Which snapshots of a chunked tree go when a command's mount has ended: those that mounts left, and none that a person took. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { automaticSnapshots } from '../../base/limits/trees.js';
import { nativeProgram } from '../../base/native-program.js';
import { uniqueName } from '../../base/unique-name.js';
import { openChunkedStore } from '../../vfs/engines/chunked/chunked.js';
import { editsOf, listSnapshots } from '../../vfs/engines/chunked/snapshots.js';
import { settleSnapshots } from './undo-snapshots.js';

const directory = mkdtempSync(join(tmpdir(), 'ctx-snapshots-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const lockLibrary = nativeProgram('flock.node');
const root = { mode: 0o755, uid: 0, gid: 0 };

const namesOf = async (file: string) => (await listSnapshots(file)).map(([name]) => name).sort();

it('the oldest that mounts left go beyond the most that are kept, and those of a person stay', async () => {
  // In their order by name, too: some are made in the same millisecond.
  const left = Array.from(
    { length: automaticSnapshots + 2 },
    (_, at) => `before-1-mabcd${String(at).padStart(3, '0')}-abcdefg`,
  );
  const made = `before-${uniqueName()}`;
  const persons = ['a-before-b', 'before', 'before-my-big-change', 'before-release', 'first', 'last'];
  const file = join(directory, 'tree');
  const opened = await openChunkedStore({ file, writable: true, create: true, lockLibrary, root });
  for (const each of [...persons.slice(0, -1), ...left.slice(0, -1), made, 'last']) opened.store.snapshot(each);
  await opened.store.close();
  opened.release();
  const after = await editsOf(file);
  const [before = ''] = left.slice(2);
  for (const [isChanged, first] of [
    [true, 2],
    [true, 2],
    [false, 3],
  ] as const) {
    const undo = await settleSnapshots([file], { before, isChanged, lockLibrary });
    assert.deepEqual(await namesOf(file), [...persons, ...left.slice(first, -1), made].sort());
    assert.deepEqual(undo, isChanged ? [{ file, before, after }] : []);
  }
});
