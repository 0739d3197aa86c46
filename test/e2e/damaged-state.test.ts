/** What a power cut leaves in the store: files that are empty, or names without their bytes. Found, said, and never in the way. */
import assert from 'node:assert/strict';
import { readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Stage, useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

/** The vault of a store that has only one. */
function vaultIn(data: string): string {
  const [id = ''] = readdirSync(join(data, 'vault'));
  return join(data, 'vault', id);
}

function emptied(directory: string, pattern: RegExp): void {
  for (const name of readdirSync(directory)) if (pattern.test(name)) truncateSync(join(directory, name));
}

function place(stage: Stage, name: string) {
  const project = stage.project('echo old > a; echo old > b');
  const data = stage.makeDirectory(name);
  const env = (boot: string) => ({ CTX_DATA: data, CTX_BOOT: boot });
  const ctx = (boot: string, ...words: string[]) => stage.ctx(project, words, { env: env(boot) });
  return { project, data, ctx };
}

forEitherUser((user) => {
  const stage = useWarmStage(user);

  test('commands after a synced checkpoint that a cut has emptied cost themselves, not the fork', async () => {
    const { data, ctx } = place(stage, 'cut-states');
    await ctx('one', 'exec', '--', 'sh', '-c', 'echo synced > a');
    assert.equal((await ctx('one', 'checkpoint', 'save', 'good')).code, 0);
    for (const word of ['two', 'three']) await ctx('one', 'exec', '--', 'sh', '-c', `echo ${word} > a`);
    const fork = join(vaultIn(data), 'fork', 'main');
    const versions = readdirSync(fork).filter((name) => name.startsWith('state-'));
    assert.ok(versions.length >= 2, versions.join(' '));
    for (const name of versions.sort().slice(-2)) truncateSync(join(fork, name));
    const checked = await ctx('two', 'fsck');
    assert.equal(checked.code, 1);
    assert.match(checked.stdout, /a state of fork main is damaged/);
    const seen = await ctx('two', 'exec', '--', 'cat', 'a');
    assert.deepEqual([seen.code, seen.stdout], [0, 'synced\n'], seen.stderr);
    assert.match(seen.stderr, /fork 'main' is back at its last synced state/);
    assert.equal((await ctx('two', 'fsck')).code, 0);
  });

  test('a directory of the store that a person deleted to make room is made again, and no verb is in its way', async () => {
    const { data, project, ctx } = place(stage, 'deleted-directories');
    const done = async (...words: string[]) => {
      const { code, stdout, stderr } = await ctx('one', ...words);
      assert.equal(code, 0, `${words.join(' ')}: ${stdout}${stderr}`);
      return stdout;
    };
    const work = ['exec', '--', 'sh', '-c', 'cat a; echo $((i + 1)) >> a; echo home > ~/h'];
    await done(...work);
    for (const name of [
      () => 'trash',
      () => 'vault',
      (id: string) => `vault/${id}/scan`,
      (id: string) => `vault/${id}/edits`,
    ]) {
      for (const verbs of [[['drop']], [['apply'], ['apply', '--undo']], [['status'], ['fsck'], ['gc']]]) {
        const [id = ''] = readdirSync(join(data, 'vault'));
        rmSync(join(data, name(id)), { recursive: true });
        const looked = await ctx('one', 'fsck');
        assert.ok(looked.code === 0 || looked.code === 1, `${name(id)}: ${looked.stderr}`);
        if (name(id) === 'vault') await done(...work);
        for (const words of verbs) await done(...words);
        stage.shell(project, 'echo edited >> b');
        await done(...work);
        assert.equal(await done('exec', '--', 'cat', 'b'), stage.shell(project, 'cat b'));
      }
    }
    rmSync(join(data, 'trash'), { recursive: true });
    await done('drop');
    assert.equal(await done('exec', '--', 'sh', '-c', 'ls ~'), '', 'what is dropped is gone, the home too');
    assert.match(await done('fsck'), /1 vault, 0 faults/);
  });

  test('a fork whose layers are missing is shown by no verb as if it were whole, and is repaired', async () => {
    const { data, project, ctx } = place(stage, 'lost-layers');
    for (const word of ['one', 'two', 'three']) await ctx('one', 'exec', '--', 'sh', '-c', `echo ${word} > ${word}`);
    const layers = join(vaultIn(data), 'layer');
    const whole = stage.makeDirectory('lost-layers-copy');
    stage.shell(project, `cp -a ${data}/vault ${whole}`);
    for (const layer of readdirSync(layers)) {
      rmSync(join(layers, layer), { recursive: true });
      for (const words of [['exec', '--', 'ls'], ['flatten'], ['diff'], ['apply'], ['checkpoint', 'save', 'now']]) {
        const { code, stderr } = await ctx('one', ...words);
        assert.equal(code, 1, `${words.join(' ')}: ${stderr}`);
        assert.match(stderr, /a layer of fork 'main' is missing from the store \(EIO\)\n.*fsck --repair/);
      }
      const repaired = await ctx('one', 'fsck', '--repair');
      assert.equal(repaired.code, 0, repaired.stdout);
      const seen = await ctx('one', 'exec', '--', 'cat', 'a', 'b');
      assert.deepEqual([seen.code, seen.stdout], [0, 'old\nold\n'], seen.stderr);
      stage.shell(project, `rm -rf ${data}/vault; cp -a ${whole}/vault ${data}`);
    }
    rmSync(join(vaultIn(data), 'fork'), { recursive: true });
    const lost = await ctx('one', 'exec', '--', 'ls');
    assert.match(lost.stderr, /fork 'main', the one in use, is missing.*\n.*fsck --repair/);
    assert.equal((await ctx('one', 'fsck', '--repair')).code, 0);
    assert.equal((await ctx('one', 'exec', '--', 'ls')).stdout, 'a\nb\n');
  });

  test('what runs is listed and ended also where a vault cannot be read', async () => {
    const { project, data, ctx } = place(stage, 'cut-vault');
    const env = { CTX_DATA: data, CTX_KEEPER: 'off' };
    const running = stage.startCtx(project, ['exec', '--', 'sh', '-c', 'echo on; exec sleep 300'], { env });
    await running.printed('on');
    writeFileSync(join(vaultIn(data), 'meta.json'), '{');
    assert.match((await ctx('one', 'ps')).stdout, / {2}command {2}.*: sh -c echo on/);
    const stopped = await ctx('one', 'stop', '--all');
    assert.equal(stopped.code, 0, stopped.stderr);
    assert.notEqual((await running.finished).code, 0);
  });

  test('a kept jail says what a cut has cost when it starts, and in the report of its first command', async () => {
    const { data, ctx } = place(stage, 'cut-jail');
    await ctx('one', 'exec', '--', 'sh', '-c', 'echo synced > a');
    await ctx('one', 'checkpoint', 'save', 'good');
    await ctx('one', 'exec', '--', 'sh', '-c', 'echo later > a');
    const fork = join(vaultIn(data), 'fork', 'main');
    const newest = readdirSync(fork).filter((name) => name.startsWith('state-'));
    truncateSync(join(fork, newest.sort().at(-1) ?? ''));
    const said = /fork 'main' is back at its last synced state/;
    try {
      const started = await ctx('two', 'jail', 'start');
      assert.equal(started.code, 0, started.stderr);
      assert.match(started.stderr, said);
      const first = await ctx('two', 'exec', '--report', 'always', '--', 'cat', 'a');
      assert.equal(first.stdout, 'synced\n');
      assert.match(first.stderr, said);
      assert.doesNotMatch((await ctx('two', 'exec', '--report', 'always', '--', 'cat', 'a')).stderr, said);
    } finally {
      await ctx('two', 'jail', 'stop');
    }
  });

  test('a normal reboot costs nothing, and nothing is said', async () => {
    const { ctx } = place(stage, 'reboot');
    await ctx('one', 'exec', '--', 'sh', '-c', 'echo later > a');
    const seen = await ctx('two', 'exec', '--', 'cat', 'a');
    assert.deepEqual([seen.code, seen.stdout, seen.stderr], [0, 'later\n', '']);
  });

  test('a fork that a cut leads back needs no lists of the edits since its last sync', async () => {
    const { project, data, ctx } = place(stage, 'cut-later');
    await ctx('one', 'exec', '--', 'sh', '-c', 'echo fork > b');
    assert.equal((await ctx('one', 'checkpoint', 'save', 'good')).code, 0);
    for (const word of ['two', 'three']) {
      stage.shell(project, `echo ${word} > a`);
      await ctx('one', 'exec', '--', 'sh', '-c', `echo ${word} > c`);
    }
    const vault = vaultIn(data);
    // As a collection does it when no checkpoint needs them.
    for (const name of readdirSync(join(vault, 'edits'))) rmSync(join(vault, 'edits', name));
    const fork = join(vault, 'fork', 'main');
    const versions = readdirSync(fork).filter((name) => name.startsWith('state-'));
    for (const name of versions.sort().slice(-2)) truncateSync(join(fork, name));
    const seen = await ctx('two', 'exec', '--', 'sh', '-c', 'cat a b; test ! -e c');
    assert.deepEqual([seen.code, seen.stdout], [0, 'three\nfork\n'], seen.stderr);
    assert.match(seen.stderr, /fork 'main' is back at its last synced state/);
    assert.equal((await ctx('two', 'fsck')).code, 0);
  });

  test('an empty list of edits hides no clash', async () => {
    const { project, data, ctx } = place(stage, 'cut-edits');
    await ctx('one', 'exec', '--', 'sh', '-c', 'echo fork > a');
    await ctx('one', 'fork', 'create', 'other', '--from', 'origin');
    stage.shell(project, 'echo mine > a');
    await ctx('one', 'exec', '--fork', 'other', '--', 'true');
    emptied(join(vaultIn(data), 'edits'), /json/);
    assert.match((await ctx('one', 'fsck')).stdout, /a list of your edits is damaged/);
    const applied = await ctx('one', 'apply');
    assert.equal(applied.code, 1, applied.stdout);
    assert.match(applied.stderr, /both you and the fork changed 1 path/);
    assert.equal(stage.shell(project, 'cat a'), 'mine\n');
    assert.match((await ctx('one', 'fsck', '--repair')).stdout, /0 faults/);
    rmSync(join(vaultIn(data), 'edits'), { recursive: true });
    const without = await ctx('one', 'fsck', '--repair');
    assert.deepEqual([without.code, without.stderr], [0, ''], without.stdout);
  });

  test('an apply whose list is empty is said not to be undoable, and repaired', async () => {
    const { data, ctx } = place(stage, 'cut-apply');
    await ctx('one', 'exec', '--', 'sh', '-c', 'echo new > a');
    assert.equal((await ctx('one', 'apply')).code, 0);
    const layers = join(vaultIn(data), 'layer');
    for (const name of readdirSync(layers)) emptied(join(layers, name), /^applied/);
    assert.equal((await ctx('one', 'apply', '--undo')).code, 1);
    const { code, stdout } = await ctx('one', 'fsck', '--repair');
    assert.deepEqual([code, /1 applies can no longer be undone/.test(stdout)], [0, true], stdout);
    assert.equal((await ctx('one', 'exec', '--', 'cat', 'a')).stdout, 'new\n');
  });

  test('a fork of which nothing is whole blocks neither the others nor its own end', async () => {
    const { data, ctx } = place(stage, 'cut-fork');
    await ctx('one', 'exec', '--', 'true');
    await ctx('one', 'fork', 'create', 'lost');
    emptied(join(vaultIn(data), 'fork', 'lost'), /^state/);
    for (const words of [['exec', '--', 'cat', 'a'], ['fork', 'list'], ['gc'], ['vault', 'list']]) {
      assert.equal((await ctx('one', ...words)).code, 0, words.join(' '));
    }
    assert.equal((await ctx('one', 'diff', '--fork', 'lost')).code, 1);
    assert.equal((await ctx('one', 'drop', '--fork', 'lost')).code, 0);
    assert.equal((await ctx('one', 'exec', '--fork', 'lost', '--', 'cat', 'a')).stdout, 'old\n');
    emptied(join(vaultIn(data), 'fork', 'lost'), /^state/);
    assert.equal((await ctx('one', 'fork', 'delete', 'lost')).code, 0);
  });

  test('a state does not grow with the text of its commands', async () => {
    const { data, ctx } = place(stage, 'long-texts');
    for (let turn = 0; turn < 3; turn++) await ctx('one', 'exec', '--', 'sh', '-c', `echo ${'x'.repeat(90_000)} > a`);
    const fork = join(vaultIn(data), 'fork', 'main');
    const sizes = stage.shell(fork, 'cat state-*.json | wc -c');
    assert.ok(Number(sizes) < 20_000, sizes);
  });
});
