/** What the tests of the tree walker share: the built program and a place that is gone afterwards. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Tree } from './tree.js';

function findProgram(): string {
  for (let at = dirname(fileURLToPath(import.meta.url)); at !== '/'; at = dirname(at)) {
    const candidate = join(at, 'dist/native/tree');
    if (existsSync(candidate)) return candidate;
  }
  throw new Error('expected dist/native/tree; build the native programs first');
}

/** CTX_TEST_TREE is another build of the same program: with sanitizers. */
export const program = process.env['CTX_TEST_TREE'] ?? findProgram();
export const tree = new Tree({ program });
export const isRoot = process.getuid?.() === 0;

export interface TestPlace {
  /** A path inside the test's own directory. */
  at(...names: string[]): string;
  write(path: string, text?: string): void;
}

/** A fresh directory for each test of the file. */
export function freshPlace(): TestPlace {
  let base = '';
  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'ctx-tree-'));
  });
  afterEach(async () => {
    await tree.remove(base);
    assert.equal(existsSync(base), false);
  });
  const at = (...names: string[]) => join(base, ...names);
  return {
    at,
    write(path, text = path) {
      mkdirSync(dirname(at(path)), { recursive: true });
      writeFileSync(at(path), text);
    },
  };
}

/** Nothing but what must be the same: `diff` of two whole trees as two layers. */
export const differences = (left: string, right: string) => tree.diff({ uppers: [left], lowers: [right] });
