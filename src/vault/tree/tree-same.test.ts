/** Whether two entries are the same: every kind beside every other, and every member of each alone. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  lchownSync,
  linkSync,
  lutimesSync,
  mkdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { describe, it } from 'node:test';
import type { CompareOptions } from './tree.js';
import { freshPlace, isRoot, tree } from './tree-fixture.js';

const { at, write } = freshPlace();

const socket = 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])';
const run = (file: string, ...words: readonly string[]) => assert.equal(spawnSync(file, words).status, 0, file);
const makes = {
  nothing: () => undefined,
  file: (path: string) => writeFileSync(path, 'text'),
  'other file': (path: string) => writeFileSync(path, 'next'),
  'longer file': (path: string) => writeFileSync(path, 'text and more'),
  'empty file': (path: string) => writeFileSync(path, ''),
  link: (path: string) => symlinkSync('text', path),
  'other link': (path: string) => symlinkSync('next', path),
  'longer link': (path: string) => symlinkSync('text-and-more', path),
  directory: (path: string) => mkdirSync(path),
  pipe: (path: string) => run('mkfifo', path),
  socket: (path: string) => run('python3', '-c', socket, path),
  ...(isRoot
    ? {
        device: (path: string) => run('mknod', path, 'c', '1', '3'),
        'other device': (path: string) => run('mknod', path, 'c', '1', '5'),
        'block device': (path: string) => run('mknod', path, 'b', '1', '3'),
      }
    : {}),
};
const kinds = Object.keys(makes) as readonly (keyof typeof makes)[];
const typeOf = (kind: string) =>
  ({ link: 'symlink', pipe: 'fifo' })[kind.split(' ').at(-1) ?? ''] ?? kind.split(' ').at(-1) ?? '';

/** What takes a program to make is made once, and gets further names. */
const isMadeApart = (kind: string) => /pipe|socket|device/.test(kind);

/** One directory with an entry of each kind for each kind, on either side. */
function makeAll(): void {
  for (const side of ['left', 'right', 'made']) mkdirSync(at(side));
  for (const kind of kinds.filter(isMadeApart)) makes[kind]?.(at('made', kind));
  const make = (kind: keyof typeof makes, path: string) =>
    isMadeApart(kind) ? linkSync(at('made', kind), path) : makes[kind]?.(path);
  for (const [index, left] of kinds.entries())
    for (const [number, right] of kinds.entries()) {
      make(left, at('left', `${index}-${number}`));
      make(right, at('right', `${index}-${number}`));
    }
}
const pairs = kinds.flatMap((left, index) =>
  kinds.map((right, number) => ({ left, right, path: `${index}-${number}` })),
);

describe('entries of every kind, beside every other', () => {
  it('are the same, another, or on one side alone', async () => {
    makeAll();
    const paths = pairs.map(({ path }) => path);
    const verdicts = await tree.compare({ layers: [at('left')], root: at('right'), paths });
    for (const { left, right, path } of pairs) {
      const only = left === 'nothing' ? 'only-root' : right === 'nothing' ? 'only-layers' : 'different';
      assert.equal(verdicts.get(path), left === right ? 'same' : only, `${left} and ${right}`);
    }
    const differing = await tree.compare({ layers: [at('left')], root: at('right'), paths, differing: true });
    assert.deepEqual(
      [...differing],
      [...verdicts].filter(([, verdict]) => verdict !== 'same'),
    );
  });

  it('are told as changes of one layer to another, with the type of what is there now', async () => {
    makeAll();
    const changes = await tree.diff({ uppers: [at('right')], lowers: [at('left')], whole: true });
    const told = changes.map(({ path, kind, type, content }) => `${path} ${kind} ${type} ${content}`);
    const expected = pairs.flatMap(({ left, right, path }) => {
      if (left === right) return [];
      const kind = left === 'nothing' ? 'added' : right === 'nothing' ? 'deleted' : 'modified';
      const type = typeOf(kind === 'deleted' ? left : right);
      return [`${path} ${kind} ${type === 'block' ? 'device' : type} true`];
    });
    assert.deepEqual(told.sort(), expected.sort());
  });
});

describe('the members of an entry, each alone', () => {
  const shift = isRoot ? 100_000 : undefined;
  const compare = async (paths: readonly string[], more: Partial<CompareOptions> = {}) => [
    ...(await tree.compare({ layers: [at('left')], root: at('right'), paths, shift, ...more })).values(),
  ];

  /** Both as the other, with the owner shifted. */
  function makeSame(kind: 'file' | 'directory' | 'link' | 'pipe'): void {
    for (const side of ['left', 'right']) {
      mkdirSync(at(side), { recursive: true });
      makes[kind](at(side, kind));
      if (isRoot) lchownSync(at(side, kind), side === 'left' ? 100_007 : 7, side === 'left' ? 100_008 : 8);
      lutimesSync(at(side, kind), 1, 1000);
    }
  }

  it('are bits of the mode: of a file those for reading, writing and running, of a directory all', async () => {
    for (const kind of ['file', 'directory'] as const) {
      makeSame(kind);
      for (let bit = 1; bit <= 0o4000; bit *= 2) {
        chmodSync(at('left', kind), 0o755 ^ bit);
        chmodSync(at('right', kind), 0o755);
        const isSame = kind === 'file' && bit > 0o777;
        assert.deepEqual(await compare([kind]), [isSame ? 'same' : 'different'], `${kind} ${bit.toString(8)}`);
      }
    }
  });

  it('are the owner and the group, whatever the kind', {
    skip: isRoot ? false : 'only root can give away',
  }, async () => {
    for (const kind of ['file', 'directory', 'link', 'pipe'] as const) {
      makeSame(kind);
      assert.deepEqual(await compare([kind]), ['same'], kind);
      for (const [uid, gid] of [
        [6, 8],
        [7, 9],
        [100_007, 100_008],
      ] as const) {
        lchownSync(at('right', kind), uid, gid);
        assert.deepEqual(await compare([kind]), ['different'], `${kind} ${uid}:${gid}`);
      }
      lchownSync(at('right', kind), 7, 8);
    }
  });

  it('are its times where they are asked for, of files alone', async () => {
    const all = ['file', 'directory', 'link', 'pipe'] as const;
    for (const kind of all) makeSame(kind);
    assert.deepEqual(await compare(all, { times: true }), ['same', 'same', 'same', 'same']);
    for (const kind of all) lutimesSync(at('right', kind), 1, 999);
    assert.deepEqual(await compare(all), ['same', 'same', 'same', 'same']);
    assert.deepEqual(await compare(all, { times: true }), ['touched', 'same', 'same', 'same']);
    writeFileSync(at('right/file'), 'next');
    assert.deepEqual(await compare(['file'], { times: true }), ['different']);
  });

  it('are without the rights of the group for an undo, where a list of rights could not be kept', async () => {
    makeSame('file');
    makeSame('directory');
    for (const [there, plain, undone] of [
      [0o664, 'same', 'same'],
      [0o604, 'different', 'same'],
      [0o644, 'different', 'different'],
      [0o600, 'different', 'different'],
      [0o606, 'different', 'different'],
    ] as const) {
      chmodSync(at('left/file'), 0o664);
      chmodSync(at('right/file'), there);
      assert.deepEqual(await compare(['file']), [plain], there.toString(8));
      assert.deepEqual(await compare(['file'], { undoes: true }), [undone], there.toString(8));
    }
    chmodSync(at('left/directory'), 0o775);
    chmodSync(at('right/directory'), 0o705);
    assert.deepEqual(await compare(['directory'], { undoes: true }), ['different'], 'of files alone');
  });

  it('of the top are its mode but for setgid, and its owner and group', async () => {
    for (const side of ['left', 'right']) mkdirSync(at(side));
    if (isRoot) chownSync(at('left'), 100_007, 100_008);
    if (isRoot) chownSync(at('right'), 7, 8);
    for (let bit = 1; bit <= 0o4000; bit *= 2) {
      chmodSync(at('left'), 0o755 ^ bit);
      chmodSync(at('right'), 0o755);
      // Setuid of a directory says nothing.
      const isSame = bit === 0o2000 || bit === 0o4000;
      assert.deepEqual(await compare(['.']), [isSame ? 'same' : 'different'], bit.toString(8));
      const changes = await tree.diff({ uppers: [at('left')], lowers: [at('right')] });
      if (!isRoot) assert.equal(changes.length, isSame ? 0 : 1, bit.toString(8));
    }
    chmodSync(at('left'), 0o755);
    for (const [uid, gid] of isRoot
      ? ([
          [6, 8],
          [7, 9],
        ] as const)
      : []) {
      chownSync(at('right'), uid, gid);
      assert.deepEqual(await compare(['.']), ['different'], `${uid}:${gid}`);
      // Without a shift the ids of both are those of one person.
      chownSync(at('right'), uid + 100_000, gid + 100_000);
      const [change, ...more] = await tree.diff({ uppers: [at('left')], lowers: [at('right')] });
      assert.deepEqual([change?.path, change?.kind, change?.content, more], ['.', 'modified', false, []]);
    }
  });
});

describe('a whole tree', () => {
  it('is compared at any depth, in a stack, with all that either side has in it and nothing beside it', async () => {
    for (const side of ['upper', 'lower', 'root'])
      for (const path of ['a/b/c/f', 'a/b/c/d/f', 'a/b/other', 'a/bc/f', 'b/c/f'])
        write(`${side}/${path}`, side === 'upper' || path.endsWith('other') ? 'above' : 'below');
    write('upper/a/b/c/only', '');
    write('lower/a/b/c/only-below', '');
    write('root/a/b/c/theirs/inner', '');
    const layers = [at('upper'), at('lower')];
    for (const [path, below] of Object.entries({
      'a/': [
        'a',
        'a/b',
        'a/b/c',
        'a/b/c/d',
        'a/b/c/d/f',
        'a/b/c/f',
        'a/b/c/only',
        'a/b/c/only-below',
        'a/b/c/theirs',
        'a/b/c/theirs/inner',
        'a/b/other',
        'a/bc',
        'a/bc/f',
      ],
      'a/b/c/': [
        'a/b/c',
        'a/b/c/d',
        'a/b/c/d/f',
        'a/b/c/f',
        'a/b/c/only',
        'a/b/c/only-below',
        'a/b/c/theirs',
        'a/b/c/theirs/inner',
      ],
      'a/b/c/d/': ['a/b/c/d', 'a/b/c/d/f'],
      'missing/deep/': ['missing/deep'],
    })) {
      const verdicts = await tree.compare({ layers, root: at('root'), paths: [path] });
      assert.deepEqual([...verdicts.keys()], below, path);
      for (const [each, verdict] of verdicts) {
        const expected = /only/.test(each)
          ? 'only-layers'
          : /theirs/.test(each)
            ? 'only-root'
            : /f$/.test(each)
              ? 'different'
              : 'same';
        assert.equal(verdict, expected, `${path}: ${each}`);
      }
    }
  });
});
