/**
 * `why`, `rules test`, the hook and reality: random questions about paths, hosts and commands, in random trees and forks, with random
 * grants, rules and agents, are answered beforehand and then tried. What they disagree about is in docs/agreement.md.
 *
 * `npm test` asks the same every time. CTX_SOAK=1 asks others, which CTX_TEST_SEED repeats, ten thousand of them.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { checkout } from '../support/program.js';
import { hasSoakTime, soakEnvironment, testSeed } from '../support/random.js';
import { useStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';

const main = fileURLToPath(new URL('agreement/main.js', import.meta.url));
const isSoak = process.env['CTX_SOAK'] === '1';
/** About 160 questions each in the soak. */
const places = isSoak ? 64 : 1;
const timeoutSeconds = isSoak ? 4 * 3600 : 900;

forEachUser((user) => {
  const stage = useStage(user);

  test(`what why, rules test and the hook say is what happens, CTX_TEST_SEED=${testSeed}`, async (context) => {
    if (dirname(dirname(stage.program)) !== checkout) return context.skip('this user cannot enter the checkout');
    const argv = [
      process.execPath,
      main,
      String(user.uid),
      String(user.gid),
      stage.makeDirectory('places'),
      String(places),
      String(testSeed),
    ];
    const { code, stdout, stderr } = await stage.start('/', argv, { timeoutSeconds, env: soakEnvironment }).finished;
    assert.equal(code, 0, `${stdout}${stderr}`);
    const { asked, used } = JSON.parse(stdout) as { readonly asked: number; readonly used: readonly string[] };
    context.diagnostic(`${asked} questions`);
    assert.ok(asked >= (isSoak && hasSoakTime() ? 10_000 : 80), String(asked));
    const text = readFileSync(join(checkout, 'docs', 'agreement.md'), 'utf8');
    for (const row of used) assert.ok(text.includes(`**${row}**`), row);
  });
});
