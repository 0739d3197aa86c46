/** Several directories in one fork: what --write names beside the workspace, and the repository of a linked worktree. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Envelope } from '../../src/proxy/report/envelope.js';
import { snapshot } from '../support/snapshot.js';
import { type Stage, useWarmStage } from '../support/stage.js';
import { forUsersInTurn } from '../support/users.js';

async function ctx(
  stage: Stage,
  cwd: string,
  words: readonly string[],
  expected = 0,
): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await stage.ctx(cwd, words);
  assert.equal(code, expected, `ctx ${words.join(' ')}\n${stdout}${stderr}`);
  return JSON.parse(stdout) as Record<string, unknown>;
}

async function execWith(stage: Stage, cwd: string, options: readonly string[], script: string): Promise<Envelope> {
  const words = ['exec', '--json', '--wait', ...options, '--', 'sh', '-c', script];
  const envelope = (await ctx(stage, cwd, words)) as unknown as Envelope;
  assert.equal(envelope.exitCode, 0, `${envelope.stdout?.text}${envelope.stderr?.text}`);
  return envelope;
}

const git = 'git -c user.name=a -c user.email=a@b -c init.defaultBranch=main -c gc.auto=0';
const pathsOf = (value: unknown) => (value as { path: string }[]).map(({ path }) => path);

forUsersInTurn((user, turn) => {
  const stage = useWarmStage(user);

  turn.test(
    'a directory of --write is part of the fork: untouched until apply, in diff, rollback and apply like the rest',
    async () => {
      const project = stage.project('echo base > a');
      const data = stage.project('echo data > d; mkdir sub; echo sub > sub/s; chmod 750 sub');
      const before = snapshot(data);
      const first = await execWith(
        stage,
        project,
        ['--write', data],
        `echo more >> ${data}/d; rm ${data}/sub/s; echo a > a`,
      );
      assert.deepEqual([first.roots, first.live, first.warnings], [[data], [], []]);
      assert.deepEqual(first.changes.map(({ path }) => path).sort(), [`${data}/d`, `${data}/sub/s`, 'a'].sort());
      assert.deepEqual(snapshot(data), before);
      const text = (await stage.ctx(project, ['diff'])).stdout;
      assert.match(text, new RegExp(`--- a${data}/d\n\\+\\+\\+ b${data}/d\n`));
      await execWith(stage, project, ['--write', data], `echo x > ${data}/x`);
      await ctx(stage, project, ['rollback', '--json']);
      const seen = await execWith(stage, project, ['--write', data], `cat ${data}/d; ls ${data} ${data}/sub`);
      assert.equal(seen.stdout?.text, `data\nmore\n${data}:\nd\nsub\n\n${data}/sub:\n`);
      // The empty directory that it was mounted on may be left in the fork's /tmp; nothing that was in it is.
      const unseen = await execWith(stage, project, [], `ls -A ${data} 2>/dev/null; cat ${data}/d || echo hidden`);
      assert.equal(unseen.stdout?.text, 'hidden\n');
      await ctx(stage, project, ['apply', '--json']);
      assert.equal(stage.shell(data, 'cat d; ls; stat -c %a sub'), 'data\nmore\nd\nsub\n750\n');
      assert.equal(stage.shell(project, 'cat a'), 'a\n');
      assert.deepEqual((await ctx(stage, project, ['diff', '--json']))['changes'], []);
    },
  );

  turn.test(
    'a moment before such a directory was used leads back all the same, also after it was applied',
    async () => {
      const project = stage.project('echo base > a');
      const data = stage.project('echo data > d; echo more > e');
      await execWith(stage, project, [], 'echo one > a');
      await execWith(stage, project, ['--write', data], `echo fork > ${data}/d; echo two > a`);
      await ctx(stage, project, ['apply', '--json', join(data, 'd')]);
      await execWith(stage, project, ['--write', data], `echo fork > ${data}/e`);
      stage.shell(project, 'echo mine > own');
      await execWith(stage, project, [], 'true');
      const since = await ctx(stage, project, ['diff', '--json', '--since', '1']);
      assert.deepEqual(pathsOf(since['changes']), ['a', join(data, 'e')]);
      await ctx(stage, project, ['rollback', '--json', '1', data]);
      assert.deepEqual(pathsOf((await ctx(stage, project, ['diff', '--json']))['changes']), ['a']);
      await ctx(stage, project, ['rollback', '--json', '1']);
      const last = await execWith(stage, project, ['--write', data], `cat a own ${data}/d ${data}/e`);
      assert.equal(last.stdout?.text, 'base\nmine\nfork\nmore\n');
    },
  );

  turn.test('edits of the person in such a directory enter, and clash where both changed a file', async () => {
    const project = stage.project();
    const data = stage.project('echo base > both; echo base > mine');
    await execWith(stage, project, ['--write', data], `echo fork > ${data}/both`);
    stage.shell(data, 'echo person > both; echo person > mine');
    const next = await execWith(stage, project, ['--write', data], `cat ${data}/both ${data}/mine`);
    assert.equal(next.stdout?.text, 'fork\nperson\n');
    assert.deepEqual(next.clashes, [`${data}/both`]);
    assert.deepEqual([...next.entered].sort(), [`${data}/both`, `${data}/mine`]);
    await ctx(stage, project, ['apply', '--json'], 1);
    await ctx(stage, project, ['apply', '--json', '--ours', join(data, 'both')]);
    assert.equal(stage.shell(data, 'cat both mine'), 'person\nperson\n');
  });

  test('--write-live writes directly, and says that it cannot be undone', {
    skip: user.uid === 0 ? 'root’s commands are nobody to the host’s files' : false,
  }, async () => {
    const project = stage.project();
    const data = stage.project();
    const envelope = await execWith(stage, project, ['--write-live', data], `echo x > ${data}/x`);
    assert.deepEqual([envelope.roots, envelope.live], [[], [data]]);
    assert.match(envelope.warnings.join(), /written directly.*cannot be undone/);
    assert.equal(stage.shell(data, 'cat x'), 'x\n');
  });

  turn.test('a linked worktree commits inside, and apply brings the commit to the repository', async () => {
    const repository = stage.project(`${git} init -q; echo a > a; git add a; ${git} commit -qm first`);
    const worktree = join(stage.directory, `worktree-${user.uid}`);
    stage.shell(repository, `git worktree add -q -b topic ${worktree}`);
    const before = stage.shell(repository, 'git rev-parse topic; git for-each-ref');
    const script = `echo b > b; git add b; ${git} commit -qm second; git log --oneline | wc -l; git status --short`;
    const envelope = await execWith(stage, worktree, [], script);
    assert.equal(envelope.stdout?.text, '2\n');
    assert.deepEqual(envelope.roots, [join(repository, '.git')]);
    assert.equal(stage.shell(repository, 'git rev-parse topic; git for-each-ref'), before);
    const applied = await ctx(stage, worktree, ['apply', '--json']);
    assert.deepEqual(applied['heldBack'], []);
    assert.equal(stage.shell(worktree, 'git log --format=%s; git status --short; cat b'), 'second\nfirst\nb\n');
    assert.equal(stage.shell(repository, 'git fsck --strict 2>&1; git log --format=%s topic'), 'second\nfirst\n');
  });

  turn.test(
    'a pool of worktrees is a workspace instead of the repository: all of them commit on one fork',
    async () => {
      const repository = stage.project(`${git} init -q; echo a > a; git add a; ${git} commit -qm first`);
      const pool = stage.makeDirectory(`pool-${user.uid}`);
      stage.shell(repository, `git worktree add -q -b one ${pool}/one; git worktree add -q -b two ${pool}/two`);
      const commit = (name: string) => `(cd ${name}; echo ${name} > b; git add b; ${git} commit -qm ${name})`;
      const envelope = await execWith(
        stage,
        pool,
        [],
        `${commit('one')}; ${commit('two')}; cat ${repository}/a || true`,
      );
      assert.deepEqual([envelope.workspace.origin, envelope.roots], [pool, [join(repository, '.git')]]);
      assert.equal(envelope.stdout?.text, '');
      const inside = await execWith(stage, join(pool, 'one'), [], 'git log --format=%s two; git status --short');
      assert.deepEqual([inside.workspace.origin, inside.stdout?.text], [pool, 'two\nfirst\n']);
      await ctx(stage, pool, ['apply', '--json']);
      const log = 'git log --format=%s one; git log --format=%s two; git fsck --strict 2>&1';
      assert.equal(stage.shell(repository, log), 'one\nfirst\ntwo\nfirst\n');
      assert.equal(stage.shell(pool, 'cat one/b two/b; cd two; git status --short'), 'one\ntwo\n');
    },
  );

  turn.test(
    'rebase, branches and gc work in a linked worktree, and a rollback takes the repository with it',
    async () => {
      const setup = `${git} init -q; echo a > a; git add a; ${git} commit -qm first; echo m > m; git add m; ${git} commit -qm main2`;
      const repository = stage.project(setup);
      const worktree = join(stage.directory, `rebase-${user.uid}`);
      stage.shell(repository, `git worktree add -q -b topic ${worktree} HEAD~1`);
      await execWith(stage, worktree, [], `echo t > t; git add t; ${git} commit -qm topic`);
      const script = `${git} rebase -q main; git branch other; git gc -q; git fsck --strict 2>&1; git log --format=%s`;
      assert.equal((await execWith(stage, worktree, [], script)).stdout?.text, 'topic\nmain2\nfirst\n');
      await ctx(stage, worktree, ['rollback', '--json']);
      const back = await execWith(stage, worktree, [], 'git log --format=%s; git branch --list other; git fsck 2>&1');
      assert.equal(back.stdout?.text, 'topic\nfirst\n');
    },
  );

  turn.test('a .git file that the repository does not point back to shows nothing', async () => {
    const secret = stage.project(
      `${git} init -q; echo s > s; git add s; ${git} commit -qm secret; git worktree add -q ../wt-of-${user.uid}`,
    );
    const project = stage.project(`echo "gitdir: ${secret}/.git/worktrees/wt-of-${user.uid}" > .git`);
    const envelope = await execWith(stage, project, [], `ls ${secret}/.git 2>/dev/null || echo hidden`);
    assert.deepEqual([envelope.stdout?.text, envelope.roots], ['hidden\n', []]);
    // The attack would work: git itself believes the file.
    assert.match(stage.shell(project, 'git log --format=%s'), /secret/);
  });

  turn.test('what such a command does to hooks of the repository is held back', async () => {
    const repository = stage.project(`${git} init -q; echo a > a; git add a; ${git} commit -qm first`);
    const worktree = join(stage.directory, `hooks-${user.uid}`);
    stage.shell(repository, `git worktree add -q -b topic ${worktree}`);
    const hook = join(repository, '.git/hooks/post-checkout');
    await execWith(stage, worktree, [], `printf '#!/bin/sh\\necho owned\\n' > ${hook}; chmod 755 ${hook}; echo b > b`);
    const applied = await ctx(stage, worktree, ['apply', '--json'], 3);
    assert.deepEqual(pathsOf(applied['sensitive']), [hook]);
    assert.equal(stage.shell(worktree, `cat b; test ! -e ${hook}`), 'b\n');
    assert.deepEqual(pathsOf((await ctx(stage, worktree, ['diff', '--json']))['changes']), [hook]);
    await ctx(stage, worktree, ['apply', '--json', '--allow-sensitive']);
    stage.shell(worktree, `test -x ${hook}`);
  });

  turn.test('git gc and prune inside take no linked worktree for gone, and see nothing else of it', async () => {
    const repository = stage.project(`${git} init -q; echo a > a; git add a; ${git} commit -qm first`);
    const worktree = join(stage.directory, `elsewhere-${user.uid}`);
    stage.shell(
      repository,
      `git worktree add -q --detach ${worktree}; cd ${worktree}; echo b > b; git add b; ${git} commit -qm only`,
    );
    const gone = join(stage.directory, `gone-${user.uid}`);
    stage.shell(repository, `git worktree add -q --detach ${gone}; rm -r ${gone}`);
    const script = `git worktree prune --expire now -v 2>&1 | cut -d: -f1; git -c gc.worktreePruneExpire=now gc -q --prune=now
      ls .git/worktrees; ls -A ${worktree}; echo x 2>/dev/null > ${worktree}/.git || echo read-only`;
    const { stdout } = await execWith(stage, repository, [], script);
    const name = `elsewhere-${user.uid}`;
    assert.equal(stdout?.text, `Removing worktrees/gone-${user.uid}\n${name}\n.git\nread-only\n`);
    await ctx(stage, repository, ['apply', '--json', '--allow-sensitive']);
    assert.equal(stage.shell(worktree, 'git log --format=%s; git fsck 2>&1; git status --short'), 'only\nfirst\n');
  });

  turn.test(
    'a file that a repository names as a worktree, and that does not name the repository, is not shown',
    async () => {
      const secret = stage.project('echo "gitdir: /elsewhere" > .git; echo s > s');
      const repository = stage.project(`${git} init -q; mkdir -p .git/worktrees/w .git/worktrees/v`);
      stage.shell(
        repository,
        `echo ${secret}/.git > .git/worktrees/w/gitdir; echo ${secret}/s > .git/worktrees/v/gitdir`,
      );
      const { stdout } = await execWith(
        stage,
        repository,
        [],
        `cat ${secret}/.git ${secret}/s 2>/dev/null || echo hidden`,
      );
      assert.equal(stdout?.text, 'hidden\n');
    },
  );
});
