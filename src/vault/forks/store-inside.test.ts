/** Directories of the person's that hold the store: it is no part of them, when they are imported and whenever they are looked at. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { rootKey, workspaceRoot } from '../store/layout.js';
import { openStore } from '../store/store.js';
import type { OpenFork } from '../vault.js';
import { addRoots } from './roots.js';
import { syncFork } from './sync.js';
import { freshVault } from './vault-fixture.js';

const { at, write, withFork, shown } = freshVault();

for (const place of ['project', 'more']) {
  it(`the store below a root (${place}) is neither copied nor an edit, whatever is written there`, async () => {
    for (const path of ['project/own', 'more/own', `${place}/data/beside`]) write(path, 'mine');
    const store = openStore(at(place, 'data/store'));
    const keys = [workspaceRoot, rootKey(at('more'))] as const;
    const holder = place === 'project' ? keys[0] : keys[1];
    const look = (act: (fork: OpenFork) => Promise<void>) => withFork(act, { store });
    await look(async (opened) => {
      const { fork, problems } = await addRoots(opened, { paths: [at('more')] });
      assert.deepEqual(problems, []);
      const synced = await syncFork(fork, keys, [keys[1]]);
      for (const key of keys) {
        const beside = key === holder ? { data: '/', 'data/beside': 'mine' } : {};
        assert.deepEqual(await shown(synced.fork, key), { ...beside, own: 'mine' });
      }
    });
    await look(async (opened) => assert.deepEqual((await syncFork(opened, keys)).entered, []));
    write(`${place}/data/beside`, 'edited');
    const edited = place === 'project' ? 'data/beside' : at('more/data/beside');
    await look(async (opened) => assert.deepEqual((await syncFork(opened, keys)).entered, [edited]));
  });
}
