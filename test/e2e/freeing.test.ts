/** What is dropped is freed in the background: nobody waits for it, `ctx ps` shows it, and after a kill the next verb goes on. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { isStopped, type Running, until } from '../support/process.js';
import { type Stage, useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

const fill = 'for i in $(seq 300); do echo $i >$i; done; mkdir -p $HOME/kept; echo x >/tmp/x';

const trashOf = (store: string) => readdirSync(join(store, 'trash'));

/** Holds the lock of those who empty it: nobody frees anything while it lives. */
async function occupyTrash(stage: Stage, store: string): Promise<Running> {
  const script = 'exec 9<"$1"; flock -x 9; echo locked; exec sleep 600';
  const running = stage.start(stage.directory, ['/bin/sh', '-c', script, 'sh', join(store, 'trash')]);
  await running.printed('locked');
  return running;
}

/** Stopped in the middle of its work: where everything is gone too soon, another try makes twice as much. */
async function stopEmptying(stage: Stage, store: string): Promise<Running> {
  const trash = join(store, 'trash');
  const tree = join(dirname(stage.program), '../dist/native/tree');
  for (let directories = 100; ; directories *= 2) {
    // Whoever still frees what a command left would free this, too.
    stage.shell(trash, 'exec 9<.; flock -x 9');
    stage.shell(trash, `for d in $(seq ${directories}); do mkdir $d; for f in $(seq 50); do : >$d/$f; done; done`);
    const emptying = stage.start(stage.directory, [tree, 'empty', trash]);
    while (trashOf(store).length === directories); // until it has the lock
    emptying.child.kill('SIGSTOP');
    await until(() => emptying.child.exitCode !== null || isStopped(emptying.pid), 'it is stopped');
    if (emptying.child.exitCode === null && trashOf(store).length > 0) return emptying;
    await end(emptying);
  }
}

async function end(running: Running): Promise<void> {
  running.child.kill('SIGKILL');
  await running.finished;
}

forEitherUser((user) => {
  const stage = useWarmStage(user);
  const storeOf = (name: string) => ({ env: { CTX_DATA: join(stage.directory, name) } });

  test('drop, a fork delete and a first command elsewhere wait for no deletion, and the next verb goes on with it', async () => {
    const [project, other] = [stage.project(), stage.project('echo mine >mine')];
    const options = storeOf('occupied');
    const store = options.env.CTX_DATA;
    await stage.inside(project, fill, 0, options);
    const occupied = await occupyTrash(stage, store);
    try {
      const dropped = await stage.ctx(project, ['drop'], options);
      assert.deepEqual([dropped.code, dropped.stdout], [0, 'dropped 300 changes\n'], dropped.stderr);
      const left = trashOf(store).length;
      assert.ok(left > 0);
      for (const words of [
        ['fork', 'create', 'second'],
        ['fork', 'delete', 'second'],
      ])
        assert.equal((await stage.ctx(project, words, options)).code, 0);
      await stage.inside(other, 'cat mine', 0, options);
      assert.ok(trashOf(store).length > left, 'the deleted fork waits there too');
      const { stdout: checked } = await stage.ctx(project, ['fsck'], options);
      assert.match(checked, /0 faults; \d+ deleted directories to be freed/);
    } finally {
      await end(occupied);
    }
    await stage.inside(project, 'true', 0, options);
    await until(() => trashOf(store).length === 0, 'the next command has it emptied');
  });

  test('gc waits until everything is freed', async () => {
    const project = stage.project();
    const options = storeOf('collected');
    const store = options.env.CTX_DATA;
    await stage.inside(project, fill, 0, options);
    const occupied = await occupyTrash(stage, store);
    try {
      await stage.ctx(project, ['drop'], options);
      assert.ok(trashOf(store).length > 0);
      assert.equal((await stage.ctx(project, ['gc'], options)).code, 0);
      assert.deepEqual(trashOf(store), []);
    } finally {
      await end(occupied);
    }
  });

  test('ctx ps shows who frees it; killed, ctx status says what is left and has it emptied', async () => {
    const project = stage.project();
    const options = storeOf('killed');
    const store = options.env.CTX_DATA;
    await stage.inside(project, 'true', 0, options);
    const emptying = await stopEmptying(stage, store);
    try {
      const { running } = (await stage.json(project, ['ps'], 0, options)) as unknown as {
        running: { kind: string; pid: number; origin: null; what: string; end: string }[];
      };
      const [found, ...more] = running.filter(({ kind }) => kind !== 'keeper');
      assert.equal(more.length, 0);
      assert.deepEqual([found?.kind, found?.pid, found?.origin], ['freeing', emptying.pid, null]);
      assert.match(found?.what ?? '', /\d+ deleted directories/);
      const { freeing } = await stage.json(project, ['status'], 0, options);
      assert.ok(Number(freeing) > 0);
    } finally {
      await end(emptying);
    }
    assert.ok(trashOf(store).length > 0, 'nobody else freed it meanwhile');
    await stage.ctx(project, ['status'], options);
    await until(() => trashOf(store).length === 0, 'ctx status has it emptied');
  });
});
