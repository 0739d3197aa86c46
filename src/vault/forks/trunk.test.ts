/** What the trunk takes over, from whom, and that nothing is added to it for nothing. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, symlinkSync, utimesSync } from 'node:fs';
import { createServer } from 'node:net';
import { it } from 'node:test';
import { rootKey, workspaceRoot } from '../store/layout.js';
import { readVaultMeta, writeVaultMeta } from '../store/vault-meta.js';
import { addRoots } from './roots.js';
import { syncFork } from './sync.js';
import { takeWritten } from './take-written.js';
import { advanceTrunk, lookAtRoots, takeEdits } from './trunk.js';
import { freshVault, lookAt } from './vault-fixture.js';

const { at, write, withFork, access } = freshVault();
const meta = () => readVaultMeta(access().paths.meta) ?? assert.fail();
const stepAt = (position: number) => JSON.parse(readFileSync(access().paths.edits(position), 'utf8'));
const layers = () => readdirSync(access().paths.layers).length;
const listed = (...paths: string[]) => ({ [workspaceRoot]: paths });
const found = (...paths: string[]) => new Map([[workspaceRoot, paths]]);

it('what is found and is as the trunk has it is no step of it, and no layer', async () => {
  write('project/own', 'mine');
  write('more/own', 'mine');
  await withFork(async (opened) => {
    const { fork } = await addRoots(opened, { paths: [at('more')] });
    const before = [meta(), layers()] as const;
    const looked = new Map([...found('own'), [rootKey(at('more')), ['own']], ['unknown', ['own']]]);
    const { vault, problems } = await takeEdits(fork, looked);
    assert.deepEqual([vault, problems, meta(), layers()], [before[0], [], ...before]);
    write('more/own', 'edited');
    await takeEdits(fork, looked);
    assert.deepEqual(
      [stepAt(2).paths, meta().position, layers()],
      [{ [rootKey(at('more'))]: ['own'] }, 2, before[1] + 1],
    );
    const top = meta().trunk.at(-1) ?? '';
    assert.deepEqual(lookAt(access().paths.tree(top, rootKey(at('more')))), { own: 'edited' });
    assert.ok(!readdirSync(access().paths.layer(top)).includes(workspaceRoot));
  });
});

it('what a fork wrote is its own, what the person wrote meanwhile is theirs, and each is a step', async () => {
  for (const name of ['a', 'b', 'c', 'time']) write(`project/${name}`, 'mine');
  await withFork(async (fork) => {
    for (const name of ['a', 'b']) write(`project/${name}`, 'other');
    utimesSync(at('project/time'), 5, 5);
    const looked = found('a', 'b', 'c', 'time');
    const { vault, problems } = await takeWritten(fork, looked, found('a', 'gone'));
    assert.deepEqual([vault.position, problems], [2, []]);
    assert.deepEqual(stepAt(1), { paths: listed('b'), touched: listed('time') });
    assert.deepEqual(stepAt(2), { by: 'main', paths: listed('a') });
    const known = { isKnown: (_key: string, path: string) => path === 'c' };
    const own = await takeWritten({ ...fork, vault }, found('c', 'a'), found('c', 'a'), known);
    assert.deepEqual([own.vault.position, stepAt(3)], [3, { by: 'main', paths: listed('c') }]);
    const { entered } = await syncFork(fork);
    assert.deepEqual(entered, ['b'], 'what it wrote is no news to the fork');
  });
});

it('edits beyond what the vault may hold do not enter, and leave no layer; they do when there is room', async () => {
  write('project/own', 'mine');
  await withFork(async (fork) => {
    writeVaultMeta(access().paths.meta, { ...meta(), limits: { maxFileBytes: 10 } });
    write('project/own', 'x'.repeat(11));
    const before = [meta(), layers()];
    const look = () => lookAtRoots(fork, [workspaceRoot]);
    await assert.rejects(
      look().then((looked) => advanceTrunk(fork, looked)),
      { code: 'EDQUOT' },
    );
    assert.deepEqual([meta(), layers()], before);
    write('project/own', 'x'.repeat(10));
    assert.equal((await advanceTrunk(fork, await look())).vault.position, 1);
    assert.deepEqual(await look(), found(), 'it is known by now');
  });
});

it('a further directory is counted and copied as its caller says, and what of it stays behind is named in full', async () => {
  write('project/own', 'mine');
  write('more/own', 'mine');
  symlinkSync('own', at('more/link'));
  const server = createServer().listen(at('more/socket'));
  await new Promise((resolve) => server.once('listening', resolve));
  try {
    await withFork(async (fork) => {
      const request = { paths: [at('more')] };
      await assert.rejects(addRoots(fork, { ...request, signal: AbortSignal.abort() }), { code: 'ECANCELED' });
      writeVaultMeta(access().paths.meta, { ...meta(), limits: { maxFiles: 5 } });
      await assert.rejects(addRoots(fork, request), { code: 'EDQUOT' });
      assert.deepEqual(Object.keys(meta().roots), [workspaceRoot]);
      const { limits: _limits, ...unlimited } = meta();
      writeVaultMeta(access().paths.meta, unlimited);
      const { problems } = await addRoots(fork, { ...request, onProgress: () => undefined });
      assert.deepEqual(
        problems.map(({ path }) => path),
        [at('more/socket')],
      );
      assert.deepEqual(
        meta().known?.[rootKey(at('more'))]?.is,
        `${statSync(at('more')).dev}:${statSync(at('more')).ino}`,
      );
    });
  } finally {
    server.close();
  }
});
