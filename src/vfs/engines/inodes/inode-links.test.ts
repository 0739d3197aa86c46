/** Whatever is made, moved and removed in a tree of inodes: each has as many links as it has names, and directories in it. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../../../test/property/seeded.js';
import { hasCode } from '../../../base/errno.js';
import type { Attributes, Entry, FileSystem, Inode, RenameRule } from '../../filesystem.js';
import { memoryFileSystem } from '../memory/memory.js';

const root = { mode: 0o755, uid: 0, gid: 0 };
const names = ['a', 'b', 'c'] as const;
const directories = [[], ['a'], ['b'], ['a', 'c']] as const;

const place = fc.record({ directory: fc.constantFrom(...directories), name: fc.constantFrom(...names) });
const rule = fc.constantFrom<RenameRule>('replace', 'keep', 'exchange');
type Step = typeof step extends fc.Arbitrary<infer Made> ? Made : never;
const step = fc.oneof(
  place.map((at) => ({ act: 'mkdir', at, to: at, rule: 'replace' }) as const),
  place.map((at) => ({ act: 'make', at, to: at, rule: 'replace' }) as const),
  place.map((at) => ({ act: 'rmdir', at, to: at, rule: 'replace' }) as const),
  place.map((at) => ({ act: 'unlink', at, to: at, rule: 'replace' }) as const),
  fc.tuple(place, place).map(([at, to]) => ({ act: 'link', at, to, rule: 'replace' }) as const),
  fc.tuple(place, place, rule).map(([at, to, by]) => ({ act: 'rename', at, to, rule: by }) as const),
);

function find(tree: FileSystem, path: readonly string[]): Inode | undefined {
  let at: Inode | undefined = tree.root;
  for (const name of path) {
    if (at === undefined) return undefined;
    if ((tree.getattr(at) as Attributes).kind !== 'directory') return undefined;
    at = (tree.lookup(at, name) as Attributes | undefined)?.inode;
  }
  return at;
}

function apply(tree: FileSystem, { act, at, to, rule: by }: Step): void {
  const [from, into] = [find(tree, at.directory), find(tree, to.directory)];
  if (from === undefined || into === undefined) return;
  if (act === 'mkdir') tree.mkdir(from, at.name, root);
  else if (act === 'make') tree.mknod(from, at.name, root, 'file', 0);
  else if (act === 'rmdir') tree.rmdir(from, at.name);
  else if (act === 'unlink') tree.unlink(from, at.name);
  else if (act === 'rename') tree.rename(from, at.name, into, to.name, by);
  else {
    const linked = find(tree, [...at.directory, at.name]);
    if (linked !== undefined) tree.link(linked, into, to.name);
  }
}

/** By a walk from the root: how often each was met, and how many directories it has. */
function counted(tree: FileSystem) {
  const met = new Map<Inode, number>([[tree.root, 1]]);
  const below = new Map<Inode, number>();
  const walk = (directory: Inode): void => {
    for (const { inode, kind } of tree.readdir(directory) as readonly Entry[]) {
      met.set(inode, (met.get(inode) ?? 0) + 1);
      if (kind !== 'directory') continue;
      assert.equal(met.get(inode), 1, 'a directory has two names');
      below.set(directory, (below.get(directory) ?? 0) + 1);
      walk(inode);
    }
  };
  walk(tree.root);
  return { met, below };
}

const refusals = ['EEXIST', 'EINVAL', 'EISDIR', 'ENOENT', 'ENOTDIR', 'ENOTEMPTY', 'EPERM'] as const;

it('links of a tree are its names and directories', () => {
  const property = fc.property(fc.array(step, { minLength: 5, maxLength: 30 }), (steps) => {
    const tree = memoryFileSystem({ root });
    const begun = tree.mkdir(tree.root, 'a', root) as Attributes;
    tree.mkdir(begun.inode, 'c', root);
    tree.mkdir(tree.root, 'b', root);
    for (const each of steps) {
      const before = JSON.stringify([...counted(tree).met]);
      try {
        apply(tree, each);
      } catch (error) {
        assert.ok(
          refusals.some((code) => hasCode(error, code)),
          String(error),
        );
        assert.equal(JSON.stringify([...counted(tree).met]), before, 'what is refused changed something');
      }
      const { met, below } = counted(tree);
      for (const [inode, names_] of met) {
        const { kind, links } = tree.getattr(inode) as Attributes;
        assert.equal(links, kind === 'directory' ? 2 + (below.get(inode) ?? 0) : names_);
      }
    }
  });
  fc.assert(property, seeded(300));
});
