import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memoryFileSystem } from './engines/memory/memory.js';
import { failure } from './failure.js';
import type { FileSystem } from './filesystem.js';
import { MountTable } from './mount-table.js';
import { VfsTree } from './tree.js';

const creation = { mode: 0o644, uid: 0, gid: 0 };
const both = { read: true, write: true } as const;

/** A tree whose every `create` comes after somebody else's, `times` times. */
function overtaken(times: number): { readonly tree: VfsTree; readonly tries: () => number } {
  const engine = memoryFileSystem();
  const make = engine.create.bind(engine);
  let tries = 0;
  const create: FileSystem['create'] = (directory, name, ...rest) => {
    tries += 1;
    if (tries > times) return make(directory, name, ...rest);
    throw failure('EEXIST', 'create', name);
  };
  Object.assign(engine, { create });
  return { tree: new VfsTree(new MountTable([{ path: [], filesystem: engine }])), tries: () => tries };
}

describe('a file that others make and remove meanwhile', () => {
  it('is opened or made all the same', async () => {
    const { tree, tries } = overtaken(3);
    await tree.open('/f', { ...both, create: true }, creation);
    assert.equal(tries(), 4);
  });

  it('is EEXIST for whoever wants to be the one to make it', () => {
    const { tree, tries } = overtaken(3);
    assert.throws(() => tree.open('/f', { ...both, create: true, exclusive: true }, creation), { code: 'EEXIST' });
    assert.equal(tries(), 1);
  });

  it('is given up in the end', () => {
    const { tree } = overtaken(Infinity);
    assert.throws(() => tree.open('/f', { ...both, create: true }, creation), { code: 'EEXIST' });
  });
});
