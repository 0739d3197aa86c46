/** What an apply says that did not come to its end. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrnoError } from '../../base/errno.js';
import { interruptibly } from './apply-progress.js';

const failing = (verb: 'apply' | 'apply --undo', done: number, remedy?: string) =>
  interruptibly(verb, async ({ onProgress }) => {
    onProgress?.(done, 1400);
    throw new ErrnoError('EPERM', { operation: 'tree apply', path: 'a', reason: 'could not rename', remedy });
  });

test('a failure in the middle says how much is written, and what can be done', async () => {
  const undo = 'ctx apply --undo takes back what is written';
  await assert.rejects(failing('apply', 1200), {
    code: 'EPERM',
    path: 'a',
    reason: 'could not rename; 1,200 of 1,400 changes are written',
    remedy: `ctx apply goes on with the rest; ${undo}`,
  });
  await assert.rejects(failing('apply --undo', 2, 'make room'), {
    reason: 'could not rename; 2 of 1,400 changes are taken back',
    remedy: 'make room; ctx apply --undo goes on with the rest',
  });
});

test('a failure before anything is written is told as it is', async () => {
  await assert.rejects(failing('apply', 0), { reason: 'could not rename', remedy: undefined });
});

test('what a signal ends may have written a little more than it had told', async () => {
  const ended = (told: readonly [number, number] | undefined) =>
    interruptibly('apply', async ({ onProgress }) => {
      if (told !== undefined) onProgress?.(...told);
      process.emit('SIGHUP', 'SIGHUP');
      throw new ErrnoError('ECANCELED', { operation: 'tree apply', reason: 'it was interrupted' });
    });
  const remedy = 'ctx apply goes on with the rest; ctx apply --undo takes back what is written';
  await assert.rejects(ended(undefined), { reason: 'interrupted by SIGHUP: nothing was written', remedy: undefined });
  await assert.rejects(ended([0, 1400]), {
    reason: 'interrupted by SIGHUP: it had begun; a few of 1,400 changes may be written',
    remedy,
  });
  await assert.rejects(ended([9, 1400]), {
    reason: 'interrupted by SIGHUP: at least 9 of 1,400 changes are written',
    remedy,
  });
});
