/**
 * Objects that are small on the disk and huge once read, in a repository of the fork's: they come home in bounded time and memory, or stay
 * with git's reason, and nothing is half done. CTX_SOAK=1 adds those that take minutes to make.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useWarmStage } from '../support/stage.js';
import { asOneUser } from '../support/users.js';

const isSoak = process.env['CTX_SOAK'] === '1';
const first =
  'git init -q -b main; git config user.name a; git config user.email a@b; echo f > f; git add f; git commit -qm 1';

/** Each of thirty names leads to the same tree, which does the same: 30 to the 12th files, in thirteen objects. */
const treeBomb = `id=$(echo x | git hash-object -w --stdin); kind='100644 blob'
  for depth in $(seq 12); do
    id=$(for name in $(seq 10 39); do printf '%s %s\\t%s\\n' "$kind" $id $name; done | git mktree); kind='040000 tree'
  done
  git update-ref refs/heads/bomb $(git commit-tree $id -p HEAD -m bomb)`;

/** A commit of gigabytes: git reads a commit as a whole, and has no room for it. */
const hugeCommit = `truncate -s 2500M z; id=$(git hash-object -t commit --literally -w z); rm z; mkdir -p .git/refs/heads
  echo $id > .git/refs/heads/huge`;

asOneUser((user) => {
  const stage = useWarmStage(user);

  test('a tree of 30 to the 12th files comes home as the few objects it is', async () => {
    const project = stage.project(first);
    await stage.inside(project, treeBomb);
    const answer = await stage.json(project, ['apply']);
    assert.deepEqual([answer['done'], answer['complete']], [true, true]);
    assert.equal(stage.shell(project, 'git log --format=%s bomb; git status --short'), 'bomb\n1\n');
  });

  test('a blob of more than two gigabytes comes home as the few bytes it is on the disk', {
    skip: isSoak ? false : 'takes a minute: npm run soak -- git-bombs',
  }, async () => {
    const project = stage.project(first);
    const script =
      'truncate -s 2500M z; git -c core.bigFileThreshold=1m add z; git commit -qm big; rm z; git rm -q --cached z; git commit -qm gone';
    await stage.inside(project, script);
    const answer = await stage.json(project, ['apply']);
    assert.equal(answer['complete'], true);
    assert.equal(stage.shell(project, 'git log --format=%s; git cat-file -s HEAD~1:z'), 'gone\nbig\n1\n2621440000\n');
  });

  test('a commit that git has no memory for stays in the fork, with the reason, and nothing of it is half home', {
    skip: isSoak ? false : 'takes minutes: npm run soak -- git-bombs',
  }, async () => {
    const project = stage.project(first);
    await stage.inside(project, `${hugeCommit}; echo g > g`);
    const answer = await stage.json(project, ['apply'], 3);
    assert.equal(answer['done'], true);
    assert.match(JSON.stringify(answer['sensitive']), /git does not take the objects/);
    assert.equal(stage.shell(project, 'git branch; cat g; git fsck --no-dangling'), '* main\ng\n');
  });
});
