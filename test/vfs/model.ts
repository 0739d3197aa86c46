/** Random operations on an engine against a plain model: maps of paths, and nothing of what engines are made of. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { ErrnoError } from '../../src/base/errno.js';
import type { FileSystem } from '../../src/vfs/filesystem.js';
import { MountTable } from '../../src/vfs/mount-table.js';
import { VfsTree } from '../../src/vfs/tree.js';
import { seeded } from '../property/seeded.js';
import { directoryMode, fileMode, type MadeEngine } from './engines.js';

type Node = { kind: 'file'; bytes: Buffer } | { kind: 'directory' };

/** Paths without links, so that text is enough to walk them. */
class Model {
  readonly nodes: Map<string, Node>;

  constructor(holds: ReadonlyMap<string, string | undefined> = new Map()) {
    const nodes = [...holds].map(([path, text]): [string, Node] => [
      path,
      text === undefined ? { kind: 'directory' } : { kind: 'file', bytes: Buffer.from(text) },
    ]);
    this.nodes = new Map<string, Node>([['/', { kind: 'directory' }], ...nodes]);
  }

  #parent(path: string): string | undefined {
    const parent = path.slice(0, path.lastIndexOf('/')) || '/';
    for (let at = parent; ; at = at.slice(0, at.lastIndexOf('/')) || '/') {
      const node = this.nodes.get(at);
      if (node !== undefined && node.kind !== 'directory') return 'ENOTDIR';
      if (at === '/') break;
    }
    return this.nodes.has(parent) ? undefined : 'ENOENT';
  }

  #below(path: string): string[] {
    return [...this.nodes.keys()].filter((each) => each !== path && each.startsWith(path === '/' ? '/' : `${path}/`));
  }

  write(path: string, at: number, bytes: Buffer): string | undefined {
    const refused = this.#parent(path);
    if (refused !== undefined) return refused;
    const node = this.nodes.get(path) ?? { kind: 'file', bytes: Buffer.alloc(0) };
    if (node.kind === 'directory') return 'EISDIR';
    const whole = Buffer.alloc(Math.max(node.bytes.length, bytes.length === 0 ? 0 : at + bytes.length));
    node.bytes.copy(whole);
    bytes.copy(whole, at);
    this.nodes.set(path, { kind: 'file', bytes: whole });
    return undefined;
  }

  truncate(path: string, size: number): string | undefined {
    const refused = this.#parent(path);
    if (refused !== undefined) return refused;
    const node = this.nodes.get(path);
    if (node === undefined) return 'ENOENT';
    if (node.kind === 'directory') return 'EISDIR';
    const bytes = Buffer.alloc(size);
    node.bytes.copy(bytes);
    this.nodes.set(path, { kind: 'file', bytes });
    return undefined;
  }

  mkdir(path: string): string | undefined {
    const refused = this.#parent(path);
    if (refused !== undefined) return refused;
    if (this.nodes.has(path)) return 'EEXIST';
    this.nodes.set(path, { kind: 'directory' });
    return undefined;
  }

  remove(path: string, directory: boolean): string | undefined {
    const refused = this.#parent(path);
    if (refused !== undefined) return refused;
    const node = this.nodes.get(path);
    if (node === undefined) return 'ENOENT';
    if (directory && node.kind !== 'directory') return 'ENOTDIR';
    if (!directory && node.kind === 'directory') return 'EISDIR';
    if (this.#below(path).length > 0) return 'ENOTEMPTY';
    this.nodes.delete(path);
    return undefined;
  }

  rename(path: string, to: string): string | undefined {
    const refused = this.#parent(path) ?? this.#parent(to);
    if (refused !== undefined) return refused;
    const node = this.nodes.get(path);
    const there = this.nodes.get(to);
    if (node === undefined) return 'ENOENT';
    if (path === to) return undefined;
    if (node.kind === 'directory' && to.startsWith(`${path}/`)) return 'EINVAL';
    if (there?.kind === 'directory') {
      if (node.kind !== 'directory') return 'EISDIR';
      if (this.#below(to).length > 0) return 'ENOTEMPTY';
    } else if (there !== undefined && node.kind === 'directory') return 'ENOTDIR';
    const moved = [path, ...this.#below(path)].map((from) => [from, this.nodes.get(from)] as const);
    for (const [from] of moved) this.nodes.delete(from);
    for (const [from, each] of moved) if (each !== undefined) this.nodes.set(to + from.slice(path.length), each);
    return undefined;
  }
}

const path = fc
  .array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 3 })
  .map((names) => `/${names.join('/')}`);
const place = fc.oneof(fc.nat(50), fc.nat(200_000), fc.constantFrom(65_535, 65_536, 131_072));
const step = fc.oneof(
  fc.record({
    do: fc.constant('write' as const),
    path,
    at: place,
    size: fc.nat(3_000),
    fill: fc.integer({ min: 1, max: 255 }),
  }),
  fc.record({ do: fc.constant('truncate' as const), path, at: place }),
  fc.record({ do: fc.constant('mkdir' as const), path }),
  fc.record({ do: fc.constant('unlink' as const), path }),
  fc.record({ do: fc.constant('rmdir' as const), path }),
  fc.record({ do: fc.constant('rename' as const), path, to: path }),
  fc.record({ do: fc.constant('reopen' as const) }),
);

export async function outcome(act: () => unknown): Promise<string | undefined> {
  try {
    await act();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof ErrnoError, String(error));
    return error.code;
  }
}

export async function writeTo(tree: VfsTree, at: string, offset: number, bytes: Buffer): Promise<void> {
  const { filesystem, handle } = await tree.open(at, { read: true, write: true, create: true }, fileMode);
  await filesystem.write(handle, offset, bytes);
  await filesystem.release(handle);
}

async function contents(tree: VfsTree): Promise<Map<string, Node>> {
  const found = new Map<string, Node>([['/', { kind: 'directory' }]]);
  const visit = async (directory: string): Promise<void> => {
    for (const { name, kind } of await tree.readdir(directory)) {
      const at = `${directory === '/' ? '' : directory}/${name}`;
      if (kind === 'directory') {
        found.set(at, { kind });
        await visit(at);
        continue;
      }
      const { filesystem, handle } = await tree.open(at, { read: true, write: false }, fileMode);
      found.set(at, { kind: 'file', bytes: await filesystem.read(handle, 0, 1 << 22) });
      await filesystem.release(handle);
    }
  };
  await visit('/');
  return found;
}

export const treeOf = (filesystem: FileSystem) => new VfsTree(new MountTable([{ path: [], filesystem }]));
const sorted = (nodes: Map<string, Node>) => [...nodes].sort(([one], [other]) => (one < other ? -1 : 1));

/** So many runs, each with a new tree, of up to 60 operations, or fewer. */
export async function playModel(make: () => Promise<MadeEngine>, runs: number, most = 60): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: most }), async (steps) => {
      const engine = await make();
      const model = new Model(engine.holds);
      let tree = treeOf(engine.filesystem);
      try {
        for (const each of steps) {
          if (each.do === 'write') {
            const bytes = Buffer.alloc(each.size, each.fill);
            const expected = model.write(each.path, each.at, bytes);
            assert.equal(await outcome(() => writeTo(tree, each.path, each.at, bytes)), expected, JSON.stringify(each));
          } else if (each.do === 'truncate') {
            const expected = model.truncate(each.path, each.at);
            assert.equal(await outcome(() => tree.setattr(each.path, { size: each.at }, true)), expected);
          } else if (each.do === 'mkdir') {
            assert.equal(await outcome(() => tree.mkdir(each.path, directoryMode)), model.mkdir(each.path));
          } else if (each.do === 'unlink') {
            assert.equal(await outcome(() => tree.unlink(each.path)), model.remove(each.path, false));
          } else if (each.do === 'rmdir') {
            assert.equal(await outcome(() => tree.rmdir(each.path)), model.remove(each.path, true));
          } else if (each.do === 'rename') {
            assert.equal(await outcome(() => tree.rename(each.path, each.to)), model.rename(each.path, each.to));
          } else if (engine.reopen !== undefined) tree = treeOf(await engine.reopen());
        }
        assert.deepEqual(sorted(await contents(tree)), sorted(model.nodes));
        await engine.unchanged?.();
      } finally {
        await engine.end();
      }
    }),
    seeded(runs),
  );
}
