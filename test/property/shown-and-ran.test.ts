/**
 * What was shown is what ran: random commands, words, variables, inputs and askers; while the question waits the script, what it
 * reads, the fork or its home is changed, or nothing is; it is granted, denied, left alone, or its asker goes. A command
 * that runs prints what could be seen when it was asked, and one that nothing was changed under runs.
 *
 * `npm test` asks the same every time. CTX_SOAK=1 asks others, which CTX_TEST_SEED repeats, for long.
 */
import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { checkout } from '../support/program.js';
import { hasSoakTime, soakEnvironment, testSeed } from '../support/random.js';
import { useStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

const main = fileURLToPath(new URL('shown-and-ran/main.js', import.meta.url));
const isSoak = process.env['CTX_SOAK'] === '1';
const rounds = isSoak ? 1_000 : 10;
const timeoutSeconds = isSoak ? 4 * 3600 : 900;

forEitherUser((user) => {
  const stage = useStage(user);

  test(`what was shown is what ran, CTX_TEST_SEED=${testSeed}`, async (context) => {
    if (dirname(dirname(stage.program)) !== checkout) return context.skip('this user cannot enter the checkout');
    const identity = [String(user.uid), String(user.gid)];
    const argv = [process.execPath, main, ...identity, stage.project(), String(rounds), String(testSeed)];
    const { code, stdout, stderr } = await stage.start('/', argv, { timeoutSeconds, env: soakEnvironment }).finished;
    assert.equal(code, 0, `${stdout}${stderr}`);
    const { rounds: done, ran } = JSON.parse(stdout) as { readonly rounds: number; readonly ran: object };
    context.diagnostic(`${done} rounds, of which ran ${JSON.stringify(ran)}`);
    assert.ok(done === rounds || !hasSoakTime(), String(done));
  });
});
