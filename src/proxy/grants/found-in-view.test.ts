import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { agent, base, data, host, origin, place } from './authority-fixture.js';
import { resolveAuthority } from './authority-of.js';
import { foundInView } from './found-in-view.js';

it('finds what is mounted where the workspace has nothing, by directories that are made in the fork for it', async () => {
  writeFileSync(join(data, 'inner/x'), '');
  const target = join(origin, 'new/deep');
  const coder = agent('coder', { mountText: `${join(data, 'inner')}\t${target}\tro\trbind\n` });
  const resolved = await resolveAuthority(host, { place, agent: coder });
  mkdirSync(join(base, 'empty'), { recursive: true });
  const at = { ...host, store: { directory: join(base, 'empty') } } as typeof host;
  const found = await foundInView(at, place, resolved, join(target, 'x'));
  assert.equal(found.entry?.type, 'file');
  const way = found.way.find(([path]) => path === join(origin, 'new'))?.[1];
  assert.deepEqual([way?.type, way?.uid, way?.inFork], ['directory', place.owner.uid, true]);
  assert.equal((await foundInView(at, place, resolved, join(origin, 'none/x'))).entry, undefined);
});
