/** Ctrl-C in the middle of an apply or its undo: it ends between two files, says how far it came, and goes on when it is called again. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, type FSWatcher, readdirSync, watch } from 'node:fs';
import { test } from 'node:test';
import { recordsOf } from '../support/record.js';
import { type Stage, useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

const before = 'for i in $(seq 200); do echo old >old-$i; done';
const work = `for i in $(seq 1200); do echo $i >new-$i; done
for i in $(seq 100); do echo changed >old-$i; done; for i in $(seq 101 200); do rm old-$i; done`;

/** All but times, which move forward. */
const contents = (stage: Stage, project: string) => stage.shell(project, 'ls -A; cat * | cksum');

const oldNames = (project: string) => (existsSync(`${project}/old`) ? readdirSync(`${project}/old`).length : 0);
const newNames = (project: string) => readdirSync(project).filter((name) => name.startsWith('new-')).length;

/** Its whole process group, as a terminal does it, once the directory has come so far. */
async function interrupt(
  stage: Stage,
  project: string,
  words: readonly string[],
  isFar: (count: number) => boolean,
  count = newNames,
) {
  const watchers: FSWatcher[] = [];
  // Told by the kernel: a loop that looks would take a processor from what it waits for.
  const far = new Promise<void>((resolve) => {
    const look = () => void (isFar(count(project)) && resolve());
    for (const directory of [project, `${project}/old`].filter((path) => existsSync(path)))
      watchers.push(watch(directory, look));
  });
  const running = stage.startCtx(project, words, { detached: true });
  await Promise.race([far, once(running.child, 'exit')]);
  for (const watcher of watchers) watcher.close();
  process.kill(-running.pid, 'SIGINT');
  return running.finished;
}

forEitherUser(
  (user) => {
    const stage = useWarmStage(user);

    test('apply and its undo, each interrupted, go on where they were, and what was cut off is undone together', async () => {
      const project = stage.project(before);
      const whole = contents(stage, project);
      await stage.inside(project, work);

      const cut = await interrupt(stage, project, ['apply'], (count) => count > 0);
      assert.equal(cut.code, 130, cut.stderr);
      assert.match(
        cut.stderr,
        /apply: interrupted by SIGINT: (at least|it had begun; a few of) .*1,400 changes (are|may be) written \(ECANCELED\)/,
      );
      assert.match(cut.stderr, /try: ctx apply goes on with the rest; ctx apply --undo takes back what is written/);
      assert.ok(newNames(project) > 0);
      const ended = recordsOf(stage.store).findLast(({ type }) => type === 'apply');
      assert.deepEqual([ended?.status, ended?.facts?.['error']], ['failed', 'ECANCELED']);

      const applied = await stage.ctx(project, ['apply']);
      assert.equal(applied.code, 0, applied.stderr);
      assert.equal(newNames(project), 1200);
      assert.equal(stage.shell(project, 'cat old-* | sort | uniq -c | tr -d "\\n"').trim(), '100 changed');

      const back = await interrupt(stage, project, ['apply', '--undo'], (count) => count < 1200);
      assert.equal(back.code, 130, back.stderr);
      assert.match(
        back.stderr,
        /apply --undo: interrupted by SIGINT: .*[1-9][\d,]* changes (are|may be) taken back \(ECANCELED\)/,
      );
      const undone = await stage.ctx(project, ['apply', '--undo']);
      assert.equal(undone.code, 0, undone.stderr);
      assert.match(undone.stdout, /, 1400 pending again\n$/);
      assert.equal(contents(stage, project), whole);

      const again = await stage.ctx(project, ['apply']);
      assert.equal(again.stdout, 'applied 1400 changes\n');
    });

    test('an apply that was interrupted is taken back by its undo alone', async () => {
      const project = stage.project(before);
      const whole = contents(stage, project);
      await stage.inside(project, work);
      const cut = await interrupt(stage, project, ['apply'], (count) => count > 0);
      assert.equal(cut.code, 130, cut.stderr);
      const undone = await stage.ctx(project, ['apply', '--undo']);
      assert.equal(undone.code, 0, undone.stderr);
      assert.equal(contents(stage, project), whole);
      assert.match((await stage.ctx(project, ['status'])).stdout, /1400 changes/);
    });

    test('a part of a deleted tree that an interrupted apply removed is no edit of the person’s after the undo', async () => {
      const files = 1500;
      const project = stage.project(`mkdir old; for i in $(seq ${files}); do echo $i >old/$i; done; echo one >one`);
      const look = () => stage.shell(project, 'ls; ls old 2>/dev/null | wc -l');
      const whole = look();
      await stage.inside(project, 'rm -r old; echo two >one');
      const cut = await interrupt(stage, project, ['apply'], (count) => count < files, oldNames);
      assert.equal(cut.code, 130, cut.stderr);
      assert.ok(oldNames(project) > 0, 'a part of it');
      for (let round = 1; round <= 2; round++) {
        const applied = await stage.ctx(project, ['apply']);
        assert.equal(applied.code, 0, `${round}: ${applied.stderr}`);
        assert.equal(stage.shell(project, 'ls; cat one'), 'one\ntwo\n');
        const undone = await stage.ctx(project, ['apply', '--undo']);
        assert.equal(undone.code, 0, undone.stderr);
        assert.equal(look(), whole);
        assert.doesNotMatch((await stage.ctx(project, ['status'])).stdout, /both|conflict/);
      }
    });
  },
  { concurrency: 1 },
);
