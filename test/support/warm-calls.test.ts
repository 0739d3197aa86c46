/** A suite that believes its calls to be warm and starts Node for each would be slow, and nothing else would say so. */
import assert from 'node:assert/strict';
import { readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { callsOf, keeperOf } from './keeper.js';
import { ownSeconds, processesCalled, until } from './process.js';
import { useWarmStage, withWarmStages } from './stage.js';
import { forEachUser } from './users.js';

const keepers = process.env['CTX_TEST_KEEPERS'];
const skip = keepers === undefined ? 'npm test makes the keepers' : !withWarmStages && 'this run has no warm stages';

function directoryOf(process: number): string | undefined {
  try {
    return readlinkSync(`/proc/${process}/cwd`);
  } catch {
    return undefined; // ended meanwhile
  }
}

forEachUser((user) => {
  const stage = useWarmStage(user);

  test('a call that is waited for is run by a copy of the keeper of all suites', { skip }, async () => {
    const keeper = keeperOf(join(keepers ?? '', String(user.uid)));
    assert.ok(keeper !== undefined);
    const project = stage.project();
    const copies = async () => {
      const seconds = ownSeconds();
      const call = stage.ctx(project, ['exec', '--', 'sleep', seconds]);
      await until(() => processesCalled('sleep', seconds).length > 0, 'the command runs');
      const here = callsOf(keeper).filter((each) => directoryOf(each) === project);
      for (const each of processesCalled('sleep', seconds)) process.kill(each, 'SIGTERM');
      assert.equal((await call).code, 143);
      return here.length;
    };
    // A keeper that does not answer within half a second, on a busy machine, is not waited for.
    let found = 0;
    for (let tries = 0; found === 0 && tries < 10; tries++) found = await copies();
    assert.equal(found, 1);
  });

  test('a call whose process a test holds starts Node', { skip }, async () => {
    const seconds = ownSeconds();
    const { pid, finished } = stage.startCtx(stage.project(), ['exec', '--', 'sleep', seconds]);
    await until(() => processesCalled('sleep', seconds).length > 0, 'the command runs');
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    for (const each of processesCalled('sleep', seconds)) process.kill(each, 'SIGTERM');
    assert.equal((await finished).code, 143);
    assert.match(words[1] ?? '', /ctx\.cjs$/);
  });
});
