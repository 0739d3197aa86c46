/**
 * kill -9 of everything at a chosen step of an apply or its undo, in the person's directory or in the store. Whatever follows, names of
 * one file come home as one file, and an undo leaves nothing. CTX_SOAK=1 tries many steps; CTX_TEST_SEED chooses which.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cannotKillAt, compileKillAt, notKilled } from '../support/kill-at.js';
import { testSeed } from '../support/random.js';
import { type Stage, useWarmStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';

const isLong = process.env['CTX_SOAK'] === '1';
/** Between two steps that a long run tries. */
const stride = 16;

/** Two trees that are new as a whole and share their files, others that share one with them, and a small directory. */
const work = `mkdir -p new1/in new2/in few; for i in $(seq 18); do echo $i >new1/in/$i; ln new1/in/$i new2/in/$i; done
ln new1/in/2 top2; ln new1/in/3 new1/three; ln new1/in/4 few/four; echo x >few/two; ln few/two atwo; rm -r old1 old2`;
const before = `mkdir -p old1/in old2/in; echo kept >kept
for i in $(seq 18); do echo $i >old1/in/$i; ln old1/in/$i old2/in/$i; done`;

/** Names, contents, modes, and which names are one file. */
const look = (stage: Stage, project: string) =>
  stage.shell(
    project,
    `find . -printf '%p %m %y\\n' | sort; find . -type f | sort | xargs cat | cksum
find . -type f -links +1 -printf '%i %p\\n' | sort -k2 | awk '{ one[$1] = one[$1] " " $2 } END { for (i in one) print one[i] }' | sort`,
  );

forEachUser((user) => {
  const stage = useWarmStage(user);

  async function killing() {
    const program = compileKillAt(stage.directory);
    if (program === undefined) return undefined;
    /** The exit code, and what was printed. */
    return async (project: string, step: number, words: readonly string[]) => {
      const argv = [program, String(step), stage.directory, stage.program, ...words];
      const { code, stdout, stderr } = await stage.start(project, argv).finished;
      assert.ok(code === 0 || code === notKilled, stderr);
      return { isKilled: code === 0, steps: Number(stdout.trim().split('\n').at(-1)) };
    };
  }

  const succeed = async (project: string, ...words: string[]) => {
    const { code, stdout, stderr } = await stage.ctx(project, words);
    assert.equal(code, 0, `${words.join(' ')}: ${stderr}`);
    return stdout;
  };

  test('an apply and its undo, each killed at any step and called again, are what they would have been', async (context) => {
    const kill = await killing();
    if (kill === undefined) return context.skip(cannotKillAt);
    const project = stage.project(before);
    const reference = stage.project(`${before}\n${work}`);
    const [home, whole] = [look(stage, reference), look(stage, project)];
    await stage.inside(project, work);
    const all = Number.MAX_SAFE_INTEGER;
    const lengths = [
      (await kill(project, all, ['apply'])).steps,
      (await kill(project, all, ['apply', '--undo'])).steps,
    ];
    assert.equal(look(stage, project), whole);
    // Most of what an apply does to the person's directory is in its middle; its undo goes on with the other part of a cut apply there.
    const shares = [0.62, 0.77];
    const parts = isLong
      ? Array.from({ length: Math.ceil(Math.max(...lengths) / stride) }, (_, at) => at * stride + (testSeed % stride))
      : [0];
    for (const part of parts) {
      const at = (which: number) => (isLong ? part + 1 : Math.ceil((shares[which] ?? 0) * (lengths[which] ?? 0)));
      const name = `killed at ${at(0)} and ${at(1)} of ${lengths.join(' and ')}`;
      await kill(project, at(0), ['apply']);
      if (isLong && (part / stride) % 3 < 1) await stage.inside(project, 'true');
      await succeed(project, 'apply');
      assert.equal(look(stage, project), home, `applied, ${name}`);
      await kill(project, at(1), ['apply', '--undo']);
      const undone = await stage.ctx(project, ['apply', '--undo']);
      assert.ok(undone.code === 0 || /ENOENT/.test(undone.stderr), undone.stderr);
      assert.equal(look(stage, project), whole, `undone, ${name}`);
      if (isLong) {
        const { isKilled } = await kill(project, at(0), ['apply']);
        const back = await stage.ctx(project, ['apply', '--undo']);
        assert.ok(back.code === 0 || (isKilled && /ENOENT/.test(back.stderr)), back.stderr);
        assert.equal(look(stage, project), whole, `undone alone, ${name}`);
      }
      // The apply that went on with the cut one stands for both: one undo takes back all of it.
      await kill(project, at(0), ['apply']);
      await succeed(project, 'apply');
      assert.equal(look(stage, project), home, `applied again, ${name}`);
      await succeed(project, 'apply', '--undo');
      assert.equal(look(stage, project), whole, `undone at once, ${name}`);
    }
  });

  const needsOwner = user.uid === 0 ? 'root’s vaults are copied' : false;
  test('what an undo takes back is pending also where nothing was copied and a command ran in between', {
    skip: needsOwner,
  }, async (context) => {
    const kill = await killing();
    if (kill === undefined) return context.skip(cannotKillAt);
    const script = 'mkdir new; for i in $(seq 20); do echo $i >new/$i; done';
    const project = stage.project('echo kept >kept');
    await succeed(project, 'vault', 'create', '--no-copy');
    await stage.inside(project, script);
    const diff = await succeed(project, 'diff', '--names');
    const { steps } = await kill(project, Number.MAX_SAFE_INTEGER, ['apply']);
    await succeed(project, 'apply', '--undo');
    // All is written, and the fork does not know.
    await kill(project, Math.ceil(steps * 0.75), ['apply']);
    assert.equal(stage.shell(project, 'ls new | wc -l').trim(), '20');
    await stage.inside(project, 'true');
    assert.match(await succeed(project, 'apply', '--undo'), /21 pending again/);
    assert.equal(stage.shell(project, 'ls'), 'kept\n');
    assert.equal(await succeed(project, 'diff', '--names'), diff);
  });
});
