/** The record as everybody writes it: what is signed by itself. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, mock } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { auditPlaces } from './audit/places.js';
import { bodiesOf, library } from './audit/record-fixture.js';
import { composeRecorder } from './compose-recorder.js';

it('a process that stays signs the record each time a segment has ended', async () => {
  const base = mkdtempSync(join(tmpdir(), 'ctx-composed-'));
  mock.timers.enable({ apis: ['Date'], now: Date.parse('2026-01-02T03:04:05.000Z') });
  try {
    const record = join(base, 'record');
    const recorder = composeRecorder(auditPlaces(record, join(base, 'configuration'), library), {
      root: join(base, 'ctx'),
      uid: 1000,
    });
    const sealed = () =>
      bodiesOf(record, 'host').filter(({ type, facts }) => type === 'audit.seal' && facts?.['chain'] === 'host').length;
    for (let day = 0; day <= 3; day += 1) {
      recorder.append({ type: 'x', object: 'y', status: 'ok' });
      for (let turn = 0; turn < 2_000 && sealed() < day; turn += 1) await nextTurn();
      assert.equal(sealed(), day);
      mock.timers.tick(25 * 60 * 60_000);
    }
    recorder.close();
  } finally {
    mock.timers.reset();
    rmSync(base, { recursive: true, force: true });
  }
});
