/**
 * A narrow tree as deep as an agent likes: whole paths of its entries are its depth squared. Every verb works on it, tells what it does not
 * list, and needs no more memory than on any other tree. CTX_SOAK=1 makes it deep enough to fell a machine that holds on to paths.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { countedChanges } from '../../src/base/limits/store.js';
import { parseJson, useStage } from '../support/stage.js';
import { forEachUser, isRoot } from '../support/users.js';

const soaking = process.env['CTX_SOAK'] === '1';
const levels = soaking ? 20_000 : 2_000;
const nameBytes = 200;
const mostKilobytes = 260 * 1024;

const dig = `import os
for level in range(${levels}):
    os.mkdir("d" * ${nameBytes})
    os.chdir("d" * ${nameBytes})
open("bottom", "w").close()`;

/** Runs a program, and writes down the most memory that it, or one that it waited for, ever had. */
const measure = `import resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
open(sys.argv[1], "w").write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(code)`;

forEachUser((user) => {
  // Twenty programs each: the short form is for those whose rights are fewer.
  if (!soaking && isRoot && user.uid === 0) return;
  const stage = useStage(user);

  test(`a tree of ${levels} levels with long names costs no verb much memory`, async () => {
    const project = stage.project('echo mine > mine');
    const note = join(stage.makeDirectory('notes'), 'peak');
    const verb = async (words: readonly string[], exitCode = 0): Promise<string> => {
      const argv = ['/usr/bin/python3', '-c', measure, note, stage.program, ...words];
      const { code, stdout, stderr } = await stage.start(project, argv, { timeoutSeconds: 600 }).finished;
      assert.equal(code, exitCode, `ctx ${words.join(' ')}\n${stdout.slice(-2_000)}${stderr.slice(-2_000)}`);
      const peak = Number(readFileSync(note, 'utf8'));
      assert.ok(peak > 0 && peak < mostKilobytes, `ctx ${words[0]} took ${peak} kB`);
      return stdout;
    };
    const answer = async (words: readonly string[], exitCode = 0) =>
      parseJson(await verb([...words, '--json'], exitCode), '') as Record<string, unknown>;

    const made = parseJson(await verb(['exec', '--json', '--', 'python3', '-c', dig]), '') as Record<string, unknown>;
    assert.equal(made['pending'], levels + 1, 'what is not listed is counted');
    assert.match(
      (made['warnings'] as string[]).join('\n'),
      /\d+ or more entries below d+\.\.\. are too many or too deep to list/,
    );
    const listed = made['changes'] as { unlisted?: number }[];
    assert.ok(listed.length < levels);
    assert.deepEqual(
      listed.flatMap(({ unlisted }) => unlisted ?? []),
      [levels + 1 - listed.length],
    );

    assert.equal((await answer(['status']))['changes'], levels + 1);
    assert.match(await verb(['status']), /too many or too deep to list/);
    assert.match(await verb(['diff']), /added, with \d+ or more entries that are too many or too deep to list\n$/);
    assert.equal(((await answer(['diff']))['changes'] as unknown[]).length, listed.length);
    await verb(['apply'], 2);
    assert.equal(stage.shell(project, 'ls'), 'mine\n', 'nothing came home');
    await verb(['checkpoint', 'save', 'deep']);
    await verb(['exec', '--', 'sh', '-c', 'echo more > more; rm -rf d*']);
    assert.equal((await answer(['status']))['changes'], 1, 'it can be removed inside');
    assert.equal((await answer(['rollback', 'deep']))['pending'], levels + 1);
    await verb(['fsck']);
    assert.equal((await answer(['drop']))['dropped'], Math.min(levels + 1, countedChanges));
    await verb(['gc']);
    assert.equal((await answer(['status']))['changes'], 0);
  });
});
