import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type ErrnoCode, ErrnoError } from '../base/errno.js';
import type { ForkWork } from '../proxy/agent-views.js';
import type { Host } from '../proxy/host.js';
import { settleWork } from './fork-work.js';

/** Whatever a verb asks of it, it fails. */
const failing = (error: Error): Host =>
  new Proxy({} as Host, {
    get() {
      throw error;
    },
  });
const works: readonly ForkWork[] = [
  { kind: 'checkpoint', name: 'one' },
  { kind: 'rollback', checkpoint: '1' },
];
const settle = async (error: Error) => {
  const pending = [...works];
  const said = await settleWork(failing(error), { cwd: '/', fork: undefined }, pending).catch(String);
  return { said, pending };
};
const failure = (code: ErrnoCode) => new ErrnoError(code, { operation: 'x', reason: 'of a test' });

it('what was asked of a fork waits while others use it, and is said to have failed once where it cannot be', async () => {
  assert.deepEqual(await settle(failure('EBUSY')), {
    said: ['fork.checkpoint waits: other commands are at work on the fork'],
    pending: works,
  });
  for (const code of ['ENOENT', 'ENOSPC', 'EACCES'] as const) {
    assert.deepEqual(await settle(failure(code)), {
      said: works.map(({ kind }) => `fork.${kind} failed: of a test (${code})`),
      pending: [],
    });
  }
  const bug = await settle(new TypeError('a bug'));
  assert.deepEqual(bug, { said: 'TypeError: a bug', pending: works });
  assert.deepEqual(await settleWork(failing(failure('EIO')), { cwd: '/', fork: 'main' }, []), []);
});
