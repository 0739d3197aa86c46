import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { AskedTree } from '../asked-tree.js';
import type { Host } from '../host.js';
import { withMounts, withTreesOf } from './asked-mounts.js';

/** What was asked for, and trees that say nothing but that. */
function stage() {
  const asked: unknown[] = [];
  const askTrees: Host['askTrees'] = async (trees, directory, agent) => {
    asked.push([trees, directory, agent]);
    return trees.map((tree) => tree as unknown as AskedTree);
  };
  return { asked, host: { askTrees } as Host, without: {} as Host };
}
const request: Parameters<typeof withTreesOf>[1] = { cwd: '/work', agent: 'ada' };
const entry = (of: string, target: string, access: string) => ({ of, source: `memory:${target}`, target, access });
const authority = (...entries: readonly object[]) => ({ authority: { view: { entries } } }) as never;

it('trees of a request are read where it was made, for its agent, and before anything else where there are any', async () => {
  const { asked, host, without } = stage();
  assert.equal(await withMounts(host, request), request);
  assert.equal(await withMounts(without, { ...request, mounts: [] }).then(({ cwd }) => cwd), '/work');
  const found = await withMounts(host, { ...request, mounts: ['memory:=/m'] });
  assert.deepEqual([found.trees, asked], [['memory:=/m'], [[['memory:=/m'], '/work', 'ada']]]);
  await assert.rejects(withMounts(without, { ...request, mounts: ['memory:=/m'] }), { code: 'ENOTSUP' });
});

it('trees of the agent’s and the operator’s files come after those, and are the caller’s for a command beside it', async () => {
  const { asked, host, without } = stage();
  const trees = [{ target: '/first' }] as unknown as readonly AskedTree[];
  const files = authority(entry('host', '/h', 'read'), entry('tree', '/r', 'read'), entry('tree', '/w', 'write'));
  const written = [
    { specification: 'memory:/r', target: '/r', writable: false },
    { specification: 'memory:/w', target: '/w', writable: true },
  ];
  assert.deepEqual((await withTreesOf(host, { ...request, trees }, files)).trees, [...trees, ...written]);
  assert.deepEqual(asked, [[written, '/', 'ada']]);
  assert.deepEqual((await withTreesOf(host, request, files)).trees, written);
  const beside = { ...request, isBeside: true };
  assert.equal(await withTreesOf(without, beside, files), beside);
  assert.equal(await withTreesOf(without, request, authority(entry('host', '/h', 'read'))), request);
  await assert.rejects(withTreesOf(without, request, files), { code: 'ENOTSUP' });
});
