import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Worker } from '../../vault/store/worker-file.js';
import type { OpenFork } from '../../vault/vault.js';
import { refuseOthers } from './join-fork.js';

function forkWith(...others: readonly { readonly owners: string; readonly bound?: boolean }[]): OpenFork {
  const workers = others.map((other, index): Partial<Worker> => ({ name: String(index), command: 'make', ...other }));
  return { others: workers, vault: { origin: '/project' } } as unknown as OpenFork;
}

describe('a command that joins others', () => {
  it('is of the same owner as all of them: a mount shows files as one user’s', () => {
    const join = (...owners: readonly string[]) =>
      refuseOthers(forkWith(...owners.map((each) => ({ owners: each }))), 'mine', true);
    join();
    join('mine');
    join('mine', 'mine');
    for (const owners of [['other'], ['mine', 'other'], ['other', 'mine'], ['']]) {
      assert.throws(() => join(...owners), { code: 'EBUSY' }, owners.join());
    }
  });

  it('writes nothing beside one that was approved once', () => {
    const bound = forkWith({ owners: 'mine' }, { owners: 'mine', bound: true });
    assert.throws(() => refuseOthers(bound, 'mine', true), { code: 'EBUSY' });
    refuseOthers(bound, 'mine', false);
    refuseOthers(forkWith({ owners: 'mine', bound: false }), 'mine', true);
  });
});
