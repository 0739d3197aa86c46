/** What a command is refused and held to: seen in the report, in the record, and while it runs. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { useStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';

forEachUser((user) => {
  const stage = useStage(user);
  const record = () => readFileSync(join(stage.store, 'record/host.jsonl'), 'utf8');

  test('a refused system call is told with its count and its time, in the report and in the record', async () => {
    const project = stage.project();
    const script = 'unshare -U true; sleep 0.1; unshare -U true; true';
    const { refusals, startedAt } = await stage.exec(project, ['sh', '-c', script]);
    const [refusal] = refusals;
    assert.deepEqual([refusals.length, refusal?.call, refusal?.count], [1, 'unshare', 2]);
    const times = [startedAt, refusal?.firstAt, refusal?.lastAt, new Date().toISOString()].map((at) =>
      Date.parse(at ?? ''),
    );
    assert.deepEqual(
      [...times].sort((a, b) => a - b),
      times,
    );
    assert.ok(Number(times[2]) - Number(times[1]) >= 100);
    const { firstAt, lastAt } = refusal ?? {};
    assert.ok(record().includes(JSON.stringify({ call: 'unshare', count: 2, firstAt, lastAt })));
  });
});
