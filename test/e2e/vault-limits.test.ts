/** What a vault may hold: refused before it comes in, ended while it is written, with the remedy. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson, type Stage, useWarmStage } from '../support/stage.js';
import { asOneUser, forEitherUser } from '../support/users.js';

async function vault(stage: Stage, cwd: string, words: readonly string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await stage.ctx(cwd, ['vault', ...words, '--json']);
  assert.equal(code, 0, `ctx vault ${words.join(' ')}\n${stdout}${stderr}`);
  return parseJson(stdout, stderr) as Record<string, unknown>;
}

const fill = (megabytes: number) => `head -c ${megabytes}M /dev/zero`;

forEitherUser((user) => {
  const stage = useWarmStage(user);

  test('a directory that is too large is not imported, and can be once the limit allows it', async () => {
    const project = stage.project(`${fill(4)} > big; mkdir d; touch d/1 d/2 d/3`);
    for (const limit of [
      ['--max-bytes', '1M'],
      ['--max-files', '3'],
      ['--max-file-bytes', '1M'],
    ]) {
      const { code, stderr } = await stage.ctx(project, ['vault', 'create', ...limit]);
      assert.notEqual(code, 0);
      assert.match(stderr, /import .*the vault would hold .* of at most .*\(EDQUOT\)[\s\S]*try: .*ctx vault set/);
    }
    assert.match((await stage.ctx(project, ['diff'])).stderr, /there is no fork/);
    await vault(stage, project, ['create', '--max-bytes', '64M']);
    assert.equal(await stage.inside(project, 'ls d'), '1\n2\n3\n');
    const { limits } = await vault(stage, project, ['info']);
    assert.deepEqual(limits, { maxBytes: 64 * 2 ** 20 });
  });

  test('a command that writes beyond it is ended, and the next one is told how to make room', async () => {
    const project = stage.project('echo a > a');
    await stage.inside(project, 'true');
    await vault(stage, project, ['set', '--max-bytes', '16M']);
    const ended = await stage.exec(project, ['sh', '-c', `${fill(24)} > big; sleep 20`]);
    assert.match(ended.limitsReached.join(), /limit of the vault reached: \d+ bytes, of at most 16777216/);
    const refused = await stage.ctx(project, ['exec', '--', 'true']);
    assert.match(refused.stderr, /\(EDQUOT\)[\s\S]*ctx drop/);
    assert.equal((await stage.ctx(project, ['drop'])).code, 0);
    assert.equal(await stage.inside(project, 'cat a'), 'a\n');
  });

  test('a command that comes near it is told so while it runs, and runs on', async () => {
    const project = stage.project('echo a > a');
    await stage.inside(project, 'true');
    await vault(stage, project, ['set', '--max-bytes', '64M', '--max-file-bytes', '16M']);
    const words = ['exec', '--report', 'always', '--', 'sh', '-c', `${fill(15)} > big; echo written; sleep 60`];
    const running = stage.startCtx(project, words);
    await running.printed('80 % of its limit used');
    await running.printed('written');
    process.kill(running.pid, 'SIGTERM');
    const { stderr } = await running.finished;
    assert.match(stderr, /80 % of its limit used: \d+ MB of 17 MB of one file in the vault/);
    assert.doesNotMatch(stderr, /limit of the vault reached/);
    assert.equal(await stage.inside(project, 'stat -c %s big'), `${15 * 2 ** 20}\n`);
  });

  test('edits of yours that are too large do not enter, and nothing is lost by that', async () => {
    const project = stage.project('echo a > a');
    await stage.inside(project, 'echo fork > b');
    await vault(stage, project, ['set', '--max-file-bytes', '1M']);
    stage.shell(project, `${fill(2)} > large; echo edited > a`);
    const refused = await stage.ctx(project, ['vault', 'sync']);
    assert.match(refused.stderr, /take over your edits .*a file of 2097152 bytes, of at most 1048576 .*\(EDQUOT\)/);
    await vault(stage, project, ['set', '--max-file-bytes', 'none']);
    assert.deepEqual((await vault(stage, project, ['sync']))['entered'], ['a', 'large']);
    assert.equal(await stage.inside(project, 'cat a b; stat -c %s large'), 'edited\nfork\n2097152\n');
    assert.deepEqual((await stage.json(project, ['fsck']))['faults'], []);
  });
});

asOneUser((user) => {
  const stage = useWarmStage(user);

  test('many small files and one long file end a command too', async () => {
    const project = stage.project('echo a > a');
    await stage.inside(project, 'true');
    const { usage } = (await vault(stage, project, ['info'])) as { usage: { inodes: number } };
    await vault(stage, project, ['set', '--max-files', String(usage.inodes + 200), '--max-file-bytes', '8M']);
    const files = await stage.exec(project, ['sh', '-c', 'mkdir m; for i in $(seq 2000); do : > m/$i; done; sleep 20']);
    assert.match(files.limitsReached.join(), /limit of the vault reached: \d+ files/);
    assert.equal((await stage.ctx(project, ['drop'])).code, 0);
    const long = await stage.exec(project, ['sh', '-c', 'truncate -s 9M long; sleep 20']);
    assert.match(long.limitsReached.join(), /limit of the vault reached: a file of 9437184 bytes/);
  });

  test('a limit that is none is refused with what was expected', async () => {
    const project = stage.project('true');
    await stage.inside(project, 'true');
    for (const words of [[], ['--max-bytes', 'much'], ['--max-files', '0']]) {
      const { code, stderr } = await stage.ctx(project, ['vault', 'set', ...words]);
      assert.equal(code, 2, stderr);
      assert.match(stderr, /expected/);
    }
  });
});
