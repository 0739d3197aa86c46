/** A command that was killed: whichever verb opens its fork next says in the record how it ended, once, and those after it say nothing. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { bodiesOf, recordPlace } from '../audit/record-fixture.js';
import type { Host } from '../proxy/host.js';
import { readGroup } from '../vault/store/group.js';
import { Member } from '../vault/store/member.js';
import { applyForkTo } from './apply-to.js';
import { diffOfFork } from './fork-diff.js';
import { lookAtFork } from './fork-status.js';
import { applyFork, dropFork } from './fork-verbs.js';
import { listCheckpoints, lookAtCheckpoint, rollBackFork, saveCheckpoint } from './history-verbs.js';
import { exportFork, flattenFork, syncFork, undoApply } from './vault-verbs.js';
import { freshWorkspace } from './workspace-fixture.js';

const { at, write, command, host: hostOf, access } = freshWorkspace();
const record = recordPlace();
after(() => record.remove());

const here = {
  get cwd() {
    return at('project');
  },
  wait: false,
};
const choices = { conflicts: 'refuse', allowSensitive: true } as const;

const verbs: Readonly<Record<string, (host: Host) => Promise<unknown>>> = {
  status: (host) => lookAtFork(host, here),
  diff: (host) => diffOfFork(host, { ...here, paths: [] }, () => undefined),
  'checkpoint save': (host) => saveCheckpoint(host, here, undefined),
  'checkpoint list': (host) => listCheckpoints(host, here),
  'checkpoint info': (host) => lookAtCheckpoint(host, here, '1'),
  'vault export': (host) => exportFork(host, here, at('exported')),
  'vault sync': (host) => syncFork(host, here),
  flatten: (host) => flattenFork(host, here),
  'apply --dry-run': (host) => applyFork(host, here, { ...choices, dryRun: true }),
  'apply --to': (host) => applyForkTo(host, here, at('other'), choices),
  apply: (host) => applyFork(host, here, choices),
  'apply --undo': (host) => undoApply(host, here),
  rollback: (host) => rollBackFork(host, { ...here, checkpoint: '1', paths: [] }),
  drop: (host) => dropFork(host, here),
};

it('a run that was killed is given its end by every verb that opens its fork, once', async () => {
  const recorder = record.recorder();
  const host = hostOf({ recorder, audit: { record: record.directory } as Host['audit'] });
  const place = access().paths.fork('main');
  write('project/own', 'mine');
  mkdirSync(at('other'));
  write('other/own', 'mine');
  const endsOf = (run: string) =>
    bodiesOf(record.directory).filter(
      ({ type, status, facts }) => type === 'exec' && status !== 'begin' && facts?.['run'] === run,
    );
  for (const [run, verb] of Object.entries(verbs)) {
    await command((directory) => writeFileSync(join(directory, `by ${run}`), 'inside'));
    recorder.append({ type: 'exec', object: `fork/${access().id}/main`, status: 'begin', facts: { run } });
    const facts = { command: run, roots: ['workspace'], owners: '', checkpoint: null };
    const member = await Member.enter(host.tree, place, facts, []);
    member.begin({ run, agent: null });
    // As a kill leaves it: its lock is gone, and what it says stays.
    const said = readFileSync(join(place.group, member.name));
    member.leave();
    writeFileSync(join(place.group, member.name), said);
    assert.deepEqual(
      (await readGroup(host.tree, place)).dead.map((worker) => worker.command),
      [run],
    );
    await verb(host);
    for (const [index, again] of [undefined, lookAtFork].entries()) {
      await again?.(host, here);
      const [end, ...more] = endsOf(run);
      assert.deepEqual(
        [end?.status, end?.facts?.['interrupted'], more.length],
        ['failed', true, 0],
        `${run}, looked at ${index} times more`,
      );
      const changes = end?.facts?.['changes'];
      assert.ok(Array.isArray(changes) && changes.includes(`added by ${run}`), run);
      assert.deepEqual(await readGroup(host.tree, place), { live: [], dead: [] });
    }
  }
});
