/** Stores of other formats: older ones are migrated, whatever interrupts that, and can be had back; newer ones are refused. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeFormat1 } from '../support/older-store.js';
import { useStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

forEitherUser((user) => {
  const stage = useStage(user);
  const isSoak = process.env['CTX_SOAK'] === '1';

  /** A project with a fork that changed, deleted and hid, in a store of format 1. */
  const older = async (name: string) => {
    const project = stage.project('mkdir d; echo a > a; echo b > b; echo c > d/c');
    const store = join(stage.directory, name);
    const options = { env: { CTX_DATA: store } };
    await stage.inside(
      project,
      'echo changed > a; rm b; rm -r d; mkdir d; echo n > d/n; echo note > ~/note',
      0,
      options,
    );
    makeFormat1(stage, store);
    return { project, store, options };
  };
  /** Names, types, modes, owners and sizes, and what the store and its vaults say of themselves, as lines. */
  const everything = (store: string) =>
    stage
      .shell(store, "find vault -printf '%p %y %m %U %G %s %l\\n' | sort; cat vault/*/meta.json meta.json")
      .split('\n');
  const assertSame = (found: readonly string[], expected: readonly string[]) =>
    assert.deepEqual(
      [found.filter((line) => !expected.includes(line)), expected.filter((line) => !found.includes(line))],
      [[], []],
    );
  const shows = async (project: string, options: { env: Record<string, string> }) => {
    const text = await stage.inside(project, 'cat a d/n ~/note; ls; ls d', 0, options);
    assert.equal(text, 'changed\nn\nnote\na\nd\nn\n');
  };

  test('an older one is migrated by the first verb, which says so, and nothing of its forks is lost', async () => {
    const { project, store, options } = await older('older');
    const { code, stdout, stderr } = await stage.ctx(project, ['doctor'], options);
    assert.equal(code, 0, stdout);
    assert.match(stderr, /was of format 1 and is now of format 2; ctx vault migrate --undo takes that back/);
    assert.match(stdout, /store +format 2, migrated from format 1/);
    assert.match((await stage.ctx(project, ['fsck'], options)).stdout, /^store format 2: 1 vault, 0 faults$/m);
    await shows(project, options);
    assert.equal((await stage.ctx(project, ['apply'], options)).code, 0);
    assert.equal(stage.shell(project, 'cat a d/n; ls; ls d'), 'changed\nn\na\nd\nn\n');
    assert.deepEqual(JSON.parse(readFileSync(join(store, 'meta.json'), 'utf8')).migrated, undefined);
  });

  test('a migration is taken back whole, after verbs that look, and until a command has run', async () => {
    const { project, store, options } = await older('undone');
    const before = everything(store);
    assert.equal((await stage.json(project, ['vault', 'migrate'], 0, options))['migrated'], 1);
    for (const verb of ['status', 'diff', 'fsck'])
      assert.equal((await stage.ctx(project, [verb], options)).code, 0, verb);
    assert.equal((await stage.json(project, ['vault', 'migrate', '--undo'], 0, options))['format'], 1);
    assertSame(
      everything(store).filter((line) => !line.includes('/fork/main/lock f ')),
      before,
    );
    await shows(project, options);
    const late = await stage.ctx(project, ['vault', 'migrate', '--undo'], options);
    assert.equal(late.code, 1);
    assert.match(late.stderr, /was not migrated, or a command has used it since \(ESTALE\)/);
    await shows(project, options);
  });

  test('what was made since a migration is not lost by taking it back', async () => {
    const { project, options } = await older('since');
    await stage.ctx(project, ['doctor'], options);
    await stage.ctx(stage.project('echo x > x'), ['vault', 'create'], options);
    const { code, stderr } = await stage.ctx(project, ['vault', 'migrate', '--undo'], options);
    assert.equal(code, 1);
    assert.match(stderr, /has changed since the migration, and would be lost \(ESTALE\)/);
    await shows(project, options);
  });

  test('a migration that is killed, again and again, is finished by the next verb', async () => {
    const { project, store, options } = await older('killed');
    const copies = isSoak ? 300 : 40;
    stage.shell(store, `cd vault; one=$(ls); for n in $(seq ${copies}); do cp -a $one $(printf %016d $n); done`);
    const wholly = everything(store);
    const isCut = () => JSON.parse(readFileSync(join(store, 'meta.json'), 'utf8')).migrating === 1;
    let cuts = 0;
    for (let round = 0; round < (isSoak ? 100 : 8); round++) {
      const words = ['vault', 'migrate', ...(round % 2 ? ['--undo'] : [])];
      const running = stage.startCtx(project, words, options);
      let isOver = false;
      const over = running.finished.then(() => (isOver = true));
      while (!isOver && !isCut()) await sleep(1);
      await sleep(round * 2);
      running.child.kill('SIGKILL');
      await over;
      if (isCut()) cuts += 1;
    }
    assert.ok(cuts > 0, 'expected a kill while the store was being migrated');
    const { code, stderr } = await stage.ctx(project, ['vault', 'migrate', '--undo'], options);
    assert.equal(code, 0, stderr);
    assertSame(everything(store), wholly);
    await shows(project, options);
  });

  test('two verbs at once migrate it once', async () => {
    const { project, options } = await older('twice');
    const all = await Promise.all(['status', 'status', 'doctor'].map((verb) => stage.ctx(project, [verb], options)));
    assert.deepEqual(
      all.map(({ code }) => code),
      [0, 0, 0],
    );
    assert.equal(all.filter(({ stderr }) => stderr.includes('is now of format 2')).length, 1);
    await shows(project, options);
  });

  test('one that cannot be migrated as a whole is not touched', async () => {
    const { project, store, options } = await older('damaged');
    const other = join(store, 'vault', '0123456789abcdef');
    stage.shell(store, `mkdir ${other}; echo '{"format":1,"layers":[]}' > ${other}/meta.json`);
    const before = everything(store);
    for (const words of [['status'], ['exec', '--', 'true'], ['fsck']]) {
      const { code, stdout, stderr } = await stage.ctx(project, words, options);
      assert.deepEqual([code, stdout], [1, ''], stderr);
      assert.match(
        stderr,
        /0123456789abcdef\/meta\.json: expected a vault of format 1; .* nothing was changed \(EIO\)/,
      );
    }
    assertSame(everything(store), before);
    stage.shell(store, `rm -r ${other}`);
    await shows(project, options);
  });

  test('while a command of the older program uses a vault, the store stays as it is', async () => {
    const { project, store, options } = await older('busy');
    const before = everything(store);
    const script = 'exec 9>> vault/*/lock; flock 9; echo held; exec sleep 60';
    const held = stage.start(store, ['bash', '-c', script]);
    await held.printed('held');
    const { code, stderr } = await stage.ctx(project, ['status'], options);
    held.child.kill('SIGKILL');
    await held.finished;
    assert.equal(code, 69, stderr);
    assert.match(stderr, /a command uses this vault \(EBUSY\)/);
    assertSame(everything(store), before);
  });

  test('a newer one is refused by every verb, and not touched', async () => {
    const { project, store, options } = await older('newer');
    const meta = join(store, 'meta.json');
    const newer = JSON.stringify({ ...JSON.parse(readFileSync(meta, 'utf8')), format: 3 });
    writeFileSync(meta, newer);
    const before = everything(store);
    for (const words of [['status'], ['exec', '--', 'true'], ['doctor'], ['vault', 'migrate', '--undo'], ['gc']]) {
      const { code, stdout, stderr } = await stage.ctx(project, words, options);
      assert.deepEqual([code, stdout], [2, ''], stderr);
      assert.match(stderr, /written by a newer ctx: its format is 3, and this ctx knows 2 \(EINVAL\)/);
    }
    assertSame(everything(store), before);
  });
});
