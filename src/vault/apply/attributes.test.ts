/** Extended attributes of the user's own: a change of them alone is a change, for both sides, there and back. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { forkChanges, readChanges } from '../forks/changes.js';
import { diffText } from '../forks/diff-text.js';
import { flattenDeltas } from '../forks/flatten.js';
import { tree } from '../forks/vault-fixture.js';
import { freshApplies, put } from './apply-fixture.js';

const { at, write, withFork, command, showing, apply, undo } = freshApplies();

function python(code: string, ...words: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync('python3', ['-c', `import os, sys, json\n${code}`, ...words]);
  assert.equal(status, 0, String(stderr));
  return stdout.toString();
}

/** No value: it is taken away. */
function set(path: string, name: string, value?: string): void {
  if (value === undefined) python('os.removexattr(sys.argv[1], sys.argv[2])', path, name);
  else python('os.setxattr(sys.argv[1], sys.argv[2], sys.argv[3].encode())', path, name, value);
}

type Attributes = Readonly<Record<string, string>>;

function attributesOf(path: string): Attributes {
  const code =
    'print(json.dumps({n: os.getxattr(sys.argv[1], n).decode() for n in sorted(os.listxattr(sys.argv[1])) if n.startswith("user.")}))';
  return JSON.parse(python(code, path)) as Attributes;
}

const project = (path: string) => attributesOf(at('project', path));

async function inFork(path: string): Promise<Attributes> {
  return withFork(async (fork) => attributesOf(join(await showing(fork), path)));
}

const changed = () =>
  withFork(async (fork) =>
    (await forkChanges(fork)).map(({ kind, type, content, path }) => `${kind} ${type} ${content} ${path}`),
  );

/** A file and a directory that the person has given an attribute. */
function start(): void {
  for (const path of ['f', 'plain', 'd/x']) write(`project/${path}`, 'mine');
  for (const path of ['f', 'd']) set(at('project', path), 'user.note', 'mine');
}

describe('attributes that the fork alone changed', () => {
  it('are changes, without content, that are shown, written and taken back', async () => {
    start();
    await command((directory) => {
      set(join(directory, 'f'), 'user.note', 'in side');
      set(join(directory, 'd'), 'user.note');
      set(join(directory, 'd'), 'user.more', 'inside');
      set(join(directory, 'plain'), 'user.long', 'n'.repeat(100));
    });
    const list = ['modified directory false d', 'modified file false f', 'modified file false plain'];
    assert.deepEqual(await changed(), list);
    const style = { paint: (_: string, text: string) => text, escaped: true };
    const texts = await withFork(async (fork) => {
      const read = await readChanges(fork, await forkChanges(fork));
      return read.map((text) => diffText(text, style)).join('');
    });
    assert.equal(
      texts.replace(/BLAKE3 [0-9a-f]{64}/, 'BLAKE3 DIGEST'),
      `d: attribute user.more added, 'inside'
d: attribute user.note removed, was 'mine'
f: attribute user.note 'mine' -> 'in%20side'
plain: attribute user.long added, '${'n'.repeat(64)}... (100 bytes, BLAKE3 DIGEST)'
`,
    );
    assert.equal((await apply()).done, true);
    assert.deepEqual(
      [project('f'), project('d'), project('plain')],
      [{ 'user.note': 'in side' }, { 'user.more': 'inside' }, { 'user.long': 'n'.repeat(100) }],
    );
    assert.deepEqual(await changed(), []);
    assert.equal((await undo()).done, true);
    assert.deepEqual(
      [project('f'), project('d'), project('plain')],
      [{ 'user.note': 'mine' }, { 'user.note': 'mine' }, {}],
    );
    assert.deepEqual(await changed(), list);
  });

  it('stay changes while edits of the person’s enter, and when layers are merged', async () => {
    start();
    await command((directory) => {
      set(join(directory, 'f'), 'user.note', 'inside');
      set(join(directory, 'd'), 'user.note', 'inside');
    });
    write('project/d/x', 'edited');
    write('project/new', 'edited');
    await command(put('later', 'inside'));
    await withFork((fork) => flattenDeltas(fork, true));
    assert.deepEqual(await changed(), ['modified directory false d', 'modified file false f', 'added file true later']);
    assert.deepEqual([await inFork('f'), await inFork('d')], [{ 'user.note': 'inside' }, { 'user.note': 'inside' }]);
  });
});

describe('attributes that the person alone changed', () => {
  it('enter the fork, of files and of directories, and are no change of the fork’s', async () => {
    start();
    await command(put('other', 'inside'));
    set(at('project/f'), 'user.note', 'edited');
    set(at('project/plain'), 'user.new', 'edited');
    set(at('project/d'), 'user.note');
    await command(() => undefined);
    assert.deepEqual(
      [await inFork('f'), await inFork('plain'), await inFork('d')],
      [{ 'user.note': 'edited' }, { 'user.new': 'edited' }, {}],
    );
    assert.deepEqual(await changed(), ['added file true other']);
  });

  it('stay where the fork changed what is in the directory, or its mode', async () => {
    start();
    await command((directory) => {
      put('d/x', 'inside')(directory);
      put('d/y', 'inside')(directory);
    });
    set(at('project/d'), 'user.own', 'edited');
    assert.equal((await apply()).done, true);
    assert.deepEqual(project('d'), { 'user.note': 'mine', 'user.own': 'edited' });
  });
});

describe('attributes that one side changed of what the other changed, too', () => {
  it('are a conflict, whatever it was that each of them changed', async () => {
    start();
    await command((directory) => {
      put('f', 'inside')(directory);
      set(join(directory, 'plain'), 'user.note', 'inside');
      set(join(directory, 'd'), 'user.note', 'inside');
    });
    set(at('project/f'), 'user.note', 'edited');
    set(at('project/d'), 'user.note', 'edited');
    write('project/plain', 'edited');
    const refused = await apply();
    assert.deepEqual([refused.done, refused.conflicts], [false, ['d', 'f', 'plain']]);
    assert.deepEqual([project('f'), project('d')], [{ 'user.note': 'edited' }, { 'user.note': 'edited' }]);
    assert.equal((await apply({ conflicts: 'ours' })).done, true);
    assert.deepEqual([project('f'), await inFork('f')], [{ 'user.note': 'edited' }, { 'user.note': 'edited' }]);
  });

  it('are none where both have the same', async () => {
    start();
    await command((directory) => {
      for (const name of ['f', 'd']) set(join(directory, name), 'user.note', 'both');
    });
    for (const name of ['f', 'd']) set(at('project', name), 'user.note', 'both');
    const done = await apply();
    assert.deepEqual([done.done, done.conflicts, done.steps], [true, [], []]);
    assert.deepEqual(await changed(), []);
  });

  it('are never lost by an apply that began before they were set', async () => {
    start();
    await command((directory) => {
      put('f', 'inside')(directory);
      set(join(directory, 'd'), 'user.note', 'inside');
    });
    tree.before = (job, directory) => {
      if (job !== 'apply' || directory !== at('project')) return;
      set(at('project/f'), 'user.late', 'saved');
      set(at('project/d'), 'user.late', 'saved');
    };
    const met = await apply();
    assert.deepEqual([met.done, met.undecided], [false, ['f']]);
    assert.deepEqual(project('f'), { 'user.late': 'saved', 'user.note': 'mine' });
    assert.deepEqual(project('d'), { 'user.late': 'saved', 'user.note': 'inside' });
  });
});

describe('a mark of overlay’s or ctx’s own', () => {
  it('is not a change', async () => {
    start();
    await command((directory) => {
      const own = ['user.overlay.metacopy', 'user.ctxfs.other'];
      for (const name of own) set(join(directory, 'plain'), name, 'x');
      mkdirSync(join(directory, 'n'));
      writeFileSync(join(directory, 'n/x'), 'inside');
      utimesSync(join(directory, 'plain'), 1, 1);
    });
    assert.deepEqual(await changed(), ['added directory true n', 'added file true n/x']);
  });
});
