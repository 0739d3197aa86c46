/**
 * Everyday work is as it is outside: each flow is played outside and inside on equal trees, and exit codes, outputs and trees are
 * compared, after apply, undo, rollback and drop too. What differs on purpose is in docs/differences.md, which is read here: a flow that
 * differs has to be listed there with its reason, and one that is listed has to differ.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { type Stage, useWarmStage } from '../support/stage.js';
import { forEachUser, spawnIdentity, type TestUser } from '../support/users.js';
import type { Flow } from './flow.js';
import { flows } from './flows.js';
import { play } from './play.js';
import { listedDifferences } from './table.js';

const isSoak = process.env['CTX_SOAK'] === '1';
/** One flow, or some: a part of their names. */
const wanted = process.env['CTX_FLOW'] ?? '';
const listed = listedDifferences();

function missing(user: TestUser, flow: Flow, stage: Stage): string | undefined {
  if (flow.only !== undefined && flow.only !== user.name) return `it is for ${flow.only}`;
  const absent = (flow.needs ?? []).find((need) => {
    if (need.startsWith('/'))
      return !existsSync(need) || spawnSync('test', ['-r', need], spawnIdentity(user)).status !== 0;
    const env = { ...stage.environment, ...flow.environment };
    const question = need.startsWith('!') ? need.slice(1) : `command -v ${need}`;
    return spawnSync('sh', ['-c', question], { env, ...spawnIdentity(user) }).status !== 0;
  });
  return absent === undefined ? undefined : `there is no ${absent} here for ${user.name}`;
}

forEachUser(
  (user) => {
    const stage = useWarmStage(user);
    for (const flow of flows) {
      if (wanted === '' ? !isSoak && flow.quick !== true : !flow.name.includes(wanted)) continue;
      test(flow.name, async (context) => {
        const reason = missing(user, flow, stage);
        if (reason !== undefined) return context.skip(reason);
        const differences = await play(stage, flow, isSoak);
        const rows = listed.filter(
          ({ flow: name, who }) => name === flow.name && (who === 'both' || who === user.name),
        );
        const expected = new Set(rows.flatMap((row) => row.in));
        const unlisted = differences.filter(({ aspect }) => !expected.has(aspect));
        assert.deepEqual(
          unlisted.map(({ aspect, text }) => `${aspect}: ${text}`),
          [],
          'it differs, and docs/differences.md does not say so',
        );
        for (const row of rows) {
          const differ = row.in.filter((aspect) => differences.some((each) => each.aspect === aspect));
          // What only the thorough form looks at is not expected of the short one.
          const looked = row.in.filter((aspect) => isSoak || !['again', 'rollback', 'drop'].includes(aspect));
          assert.deepEqual(differ, looked, 'docs/differences.md lists it, and it does not differ');
        }
      });
    }
  },
  // Outside, flows use names in /tmp.
  { concurrency: 2, inTurn: true },
);

test('every flow that docs/differences.md names is in the table of flows', () => {
  const names = new Set(flows.map(({ name }) => name));
  assert.deepEqual(
    listed.filter(({ flow }) => !names.has(flow)),
    [],
  );
  assert.equal(names.size, flows.length, 'two flows have one name');
});
