/** What a scan says of a change: every member of an entry alone, of every kind of entry. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  lchownSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { describe, it } from 'node:test';
import { freshPlace, isRoot, tree } from './tree-fixture.js';

const { at } = freshPlace();

type Kind = 'file' | 'directory' | 'link' | 'pipe';
const make: Readonly<Record<Kind, (path: string) => void>> = {
  file: (path) => writeFileSync(path, 'text'),
  directory: (path) => mkdirSync(path),
  link: (path) => symlinkSync('text', path),
  pipe: (path) => execFileSync('mkfifo', [path]),
};
const kinds = Object.keys(make) as readonly Kind[];

const isNoDirectory = (kind: Kind) => kind !== 'directory';
/** A change that keeps all else of an entry, as far as a person can. `of`: which kinds have it. */
const changes: Readonly<Record<string, { of(kind: Kind): boolean; act(path: string, kind: Kind): void }>> = {
  nothing: { of: () => true, act: () => undefined },
  mode: { of: (kind) => kind !== 'link', act: (path) => chmodSync(path, 0o711) },
  owner: { of: () => isRoot, act: (path) => lchownSync(path, 4711, 0) },
  group: { of: () => isRoot, act: (path) => lchownSync(path, 0, 4711) },
  // What is made and deleted in a directory is no change of its own.
  time: { of: isNoDirectory, act: (path) => lutimesSync(path, 1, 1) },
  'another in its place': {
    of: isNoDirectory,
    act(path, kind) {
      make[kind](`${path}.new`);
      renameSync(`${path}.new`, path);
    },
  },
  'another kind': {
    of: () => true,
    act(path, kind) {
      renameSync(path, at('away'));
      make[kind === 'file' ? 'directory' : 'file'](path);
    },
  },
};

describe('a scan', () => {
  for (const [name, { of, act }] of Object.entries(changes)) {
    it(`tells of an entry that has changed: ${name}`, async () => {
      for (const kind of kinds.filter(of)) {
        const root = at(`o-${kind}`);
        mkdirSync(root);
        for (const each of ['a', 'b', 'c']) make[kind](`${root}/${each}`);
        await tree.scan({ root, signatures: at('before') });
        act(`${root}/b`, kind);
        const found = await tree.scan({ root, signatures: at('after'), against: at('before') });
        const expected = name === 'nothing' ? [] : [{ path: 'b', what: 'changed' }];
        assert.deepEqual(found, expected, kind);
        execFileSync('rm', ['-rf', at('away')]);
      }
    });
  }

  it('tells of the top by the same, and by its own name', async () => {
    for (const [name, { of, act }] of Object.entries(changes)) {
      if (!['nothing', 'mode', 'owner', 'group'].includes(name) || !of('directory')) continue;
      const root = at(`top-${name}`);
      mkdirSync(root);
      await tree.scan({ root, signatures: at('before') });
      act(root, 'directory');
      const found = await tree.scan({ root, signatures: at('after'), against: at('before') });
      assert.deepEqual(found, name === 'nothing' ? [] : [{ path: '.', what: 'changed' }], name);
    }
  });

  it('leaves the file of signatures that it would write as it is, and replaces whatever else is there', async () => {
    const root = at('same');
    const signatures = at('written');
    mkdirSync(root);
    writeFileSync(`${root}/file`, 'text');
    await tree.scan({ root, signatures });
    const whole = readFileSync(signatures);
    const before = lstatSync(signatures);
    await tree.scan({ root, signatures });
    assert.equal(lstatSync(signatures).ino, before.ino);
    const others: Readonly<Record<string, () => void>> = {
      'a byte more': () => writeFileSync(signatures, Buffer.concat([whole, Buffer.from('x')])),
      'a byte less': () => writeFileSync(signatures, whole.subarray(0, -1)),
      'another byte': () => writeFileSync(signatures, Buffer.from(whole).fill('x', whole.length - 1)),
      nothing: () => writeFileSync(signatures, ''),
      'a link to the same bytes': () => {
        writeFileSync(at('target'), whole);
        rmSync(signatures);
        symlinkSync(at('target'), signatures);
      },
    };
    for (const [name, put] of Object.entries(others)) {
      put();
      await tree.scan({ root, signatures });
      assert.ok(lstatSync(signatures).isFile(), name);
      assert.deepEqual(readFileSync(signatures), whole, name);
    }
  });
});
