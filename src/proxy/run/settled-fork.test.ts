import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrnoError } from '../../base/errno.js';
import { joinAttempts } from '../../base/limits/commands.js';
import { JoinPatience } from './settled-fork.js';

const error = (code: 'ESRCH' | 'EIO') => new ErrnoError(code, { operation: 'jail start', reason: 'of a test' });

test('whom a command would join may have ended also where it waited for room longer than its patience', async () => {
  const patience = new JoinPatience(-1);
  for (let made = 0; made < joinAttempts; made++) await patience.after(error('ESRCH'));
  await assert.rejects(patience.after(error('ESRCH')), { code: 'ESRCH' });
  await assert.rejects(new JoinPatience().after(error('EIO')), { code: 'EIO' });
});
