/**
 * The store against a plain map. Random sequences of work in forks through real overlay mounts, of forks of forks, also while
 * their parent is mounted, checkpoints, rollbacks of all and of single paths, edits of the person, applies with every choice,
 * undone applies, merges and collections: whatever was done, every fork shows what the map says.
 *
 * CTX_TEST_SEED repeats a run; CTX_SOAK=1 makes it long.
 */
import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { start } from '../support/process.js';
import { checkout } from '../support/program.js';
import { testSeed } from '../support/random.js';
import { useStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

const main = fileURLToPath(new URL('vault-model/main.js', import.meta.url));

/** The run ends itself, and says what it was at, long before. */
const timeoutSeconds = process.env['CTX_SOAK'] === '1' ? 4 * 3600 : 900;

forEitherUser((user) => {
  const stage = useStage(user);

  test(`every fork shows what was done there, whatever was done elsewhere, CTX_TEST_SEED=${testSeed}`, async () => {
    const program = join(stage.directory, 'tree');
    copyFileSync(join(checkout, 'dist', 'native', 'tree'), program);
    const argv = [
      process.execPath,
      main,
      String(user.uid),
      String(user.gid),
      stage.makeDirectory('model'),
      program,
      '8',
    ];
    const { code, stdout, stderr } = await start(argv, { cwd: '/', timeoutSeconds }).finished;
    assert.equal(code, 0, `${stdout}${stderr}`);
  });
});
