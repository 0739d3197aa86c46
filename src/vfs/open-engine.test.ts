/** A table of trees as it is opened: what is where, and what of it can be written to. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { nativeProgram } from '../base/native-program.js';
import type { Attributes, FileSystem } from './filesystem.js';
import { openTable, openTree } from './open-engine.js';
import type { TreePlan } from './tree-plan.js';

const directory = mkdtempSync(join(tmpdir(), 'ctx-open-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const lockLibrary = nativeProgram('flock.node');
const root = { mode: 0o755, uid: 0, gid: 0 };
const memory = { engine: 'memory' } as const;
const plan = (...mounts: TreePlan['mounts']): TreePlan => ({ isTable: true, mounts });

describe('a table of trees', () => {
  it('has a root that only holds the others where none is named, and each of them at its place', async () => {
    const { mounts } = await openTable(plan({ path: ['a', 'b'], source: memory, writable: true }), {
      writable: true,
      lockLibrary,
    });
    assert.deepEqual(
      mounts.map(({ path, filesystem }) => [path, filesystem.capabilities.writable]),
      [
        [[], false],
        [['a', 'b'], true],
      ],
    );
    const top = mounts[0]?.filesystem as FileSystem;
    assert.equal((top.lookup(top.root, 'a') as Attributes).kind, 'directory');
    assert.throws(() => top.mkdir(top.root, 'x', root), { code: 'EROFS' });
  });

  it('is written to where both the table and the one who opens it say so', async () => {
    for (const [ofMount, asked, expected] of [
      [true, true, true],
      [true, false, false],
      [false, true, false],
    ] as const) {
      const tree = await openTree(plan({ path: [], source: memory, writable: ofMount }), {
        writable: asked,
        lockLibrary,
      });
      assert.equal(tree.capabilities.writable, expected, `${ofMount} ${asked}`);
    }
    const file = join(directory, 'file');
    writeFileSync(file, '');
    const host = { engine: 'host', path: directory } as const;
    const whole = plan({ path: [], source: host, writable: false }, { path: ['m'], source: memory, writable: true });
    await assert.rejects(
      openTable(whole, { writable: true, lockLibrary }),
      'its mount point is not there, and cannot be made',
    );
  });
});
