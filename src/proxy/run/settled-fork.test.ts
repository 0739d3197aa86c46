import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrnoError } from '../../base/errno.js';
import { joinAgainMostMilliseconds, joinAttempts, joinPatienceMilliseconds } from '../../base/limits/commands.js';
import type { Worker } from '../../vault/store/worker-file.js';
import { isUnsettled } from './group-part.js';
import { JoinPatience, Pauses, Standstill } from './settled-fork.js';

const error = (code: 'ESRCH' | 'EIO') => new ErrnoError(code, { operation: 'jail start', reason: 'of a test' });

test('whom a command would join may have ended also where it waited for room longer than its patience', async () => {
  const patience = new JoinPatience(-1);
  for (let made = 0; made < joinAttempts; made++) await patience.after(error('ESRCH'));
  await assert.rejects(patience.after(error('ESRCH')), { code: 'ESRCH' });
  await assert.rejects(new JoinPatience().after(error('EIO')), { code: 'EIO' });
});

const worker = (name: string, jail: number | null): Worker => ({
  ...{ name, pid: 7, command: 'make', since: '2026-01-01T00:00:00.000Z' },
  ...{ jail, roots: ['main'], owners: '', checkpoint: null, runs: [] },
});

test('patience is over where nobody has begun, mounted or ended for so long', () => {
  const standstill = new Standstill();
  const steps = [[worker('a', null)], [worker('a', 8)], [worker('a', 8), worker('b', null)], [worker('b', null)], []];
  let now = 1;
  for (const workers of steps) {
    assert.equal(standstill.isOver(workers, now), false);
    now += joinPatienceMilliseconds;
    assert.equal(standstill.isOver(workers, now), false);
  }
  assert.equal(standstill.isOver([], now + 1), true);
});

test('pauses between tries begin short, become longer, and are bounded', () => {
  const pauses = new Pauses();
  const drawn = Array.from({ length: 30 }, () => pauses.next(0.5));
  assert.ok(drawn.slice(0, 3).every((each) => each < 20));
  assert.deepEqual(
    drawn,
    drawn.toSorted((left, right) => left - right),
  );
  assert.equal(drawn.at(-1), joinAgainMostMilliseconds);
  const [least, most] = [new Pauses().next(0), new Pauses().next(1)];
  assert.ok(least < most && least > 0);
});

test('one that has left, and is ending, may have had any directory: another one that has it is as good', () => {
  const leaving = { ...worker('a', null), pid: 0, roots: [] };
  const [mounted, lives] = [worker('b', 8), () => true];
  const asked: readonly (readonly Worker[])[] = [[leaving], [mounted], [leaving, mounted], []];
  assert.deepEqual(
    asked.map((others) => isUnsettled(others, ['main'], lives)),
    [true, false, false, false],
  );
});
