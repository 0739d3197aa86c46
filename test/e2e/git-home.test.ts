/** What people do with git inside is there after an apply, whole, and whatever is not is named. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { differing } from '../support/fork-and-home.js';
import { useWarmStage } from '../support/stage.js';
import { forUsersInTurn } from '../support/users.js';

const identity = 'git config user.name a; git config user.email a@b';
const first = `git init -q -b main; ${identity}; echo a > a; echo b > b; git add .; git commit -qm first`;

interface Flow {
  readonly name: string;
  readonly prepare: string;
  readonly inside: string;
  /** Printed by the person's git afterwards, and the same inside. */
  readonly shows: string;
  readonly expected: string;
}

const log = 'git log --format=%s; git status --short';
const flows: readonly Flow[] = [
  {
    name: 'rebase',
    prepare: `${first}; git checkout -qb t; echo t > t; git add t; git commit -qm t; git checkout -q main
      echo m > m; git add m; git commit -qm m; git checkout -q t`,
    inside: 'git rebase -q main',
    shows: log,
    expected: 't\nm\nfirst\n',
  },
  { name: 'stash', prepare: first, inside: 'echo z > a; git stash -q', shows: 'git stash list', expected: 'stash' },
  {
    name: 'a branch deleted after packing',
    prepare: `${first}; git branch old; git pack-refs --all`,
    inside: 'git branch -qD old; git pack-refs --all',
    shows: 'git branch',
    expected: '* main\n',
  },
  {
    name: 'a sha256 repository',
    prepare: first.replace('-b main', '-b main --object-format=sha256'),
    inside: 'echo z > a; git commit -qam z',
    shows: log,
    expected: 'z\nfirst\n',
  },
  {
    name: 'a shallow clone',
    prepare: `git init -q o; cd o; ${identity}; git commit -q --allow-empty -m 1; git commit -q --allow-empty -m 2; cd ..
      git clone -q --depth 1 "file://$PWD/o" c; cd c; ${identity}`,
    inside: 'cd c; echo y > y; git add y; git commit -qm y',
    shows: 'cd c; git log --format=%s; git status --short',
    expected: 'y\n2\n',
  },
  {
    name: 'a new shallow clone that was completed, so that its pack and its objects need each other',
    prepare: `mkdir o; cd o; ${first}; git commit -q --allow-empty -m 2`,
    inside: `git clone -q --depth 1 "file://$PWD/o" c; cd c; ${identity}; echo y > y; git add y; git commit -qm y; git fetch -q --unshallow`,
    shows: 'cd c; git log --format=%s; git status --short',
    expected: 'y\n2\nfirst\n',
  },
  {
    name: 'a commit in a partial clone',
    prepare: `mkdir o; cd o; ${first}; git config uploadpack.allowFilter true; echo z > a; git commit -qam 2; cd ..
      git clone -q --filter=blob:none "file://$PWD/o" c; cd c; ${identity}`,
    inside: 'cd c; echo y > y; git add y; git commit -qm y',
    shows: 'cd c; git log --format=%s; git status --short',
    expected: 'y\n2\nfirst\n',
  },
  {
    name: 'caches of git’s own, which it makes again',
    prepare: first,
    inside:
      'echo z > a; git commit -qam z; git gc -q; git commit-graph write --reachable; git multi-pack-index write --bitmap; echo EVIL >> .git/FETCH_HEAD',
    shows:
      'git log --format=%s; git status --short; ls .git/objects/info .git/objects/pack .git/FETCH_HEAD 2>/dev/null | grep -E "graph|multi|bitmap|FETCH" || true',
    expected: 'z\nfirst\n',
  },
  {
    name: 'a commit of a linked worktree',
    prepare: `${first}; git worktree add -q wt -b wt`,
    inside: 'cd wt; echo w > w; git add w; git commit -qm w',
    shows: 'cd wt; git log --format=%s; git status --short',
    expected: 'w\nfirst\n',
  },
  {
    name: 'a commit of a submodule',
    prepare: `mkdir s m; (cd s; ${first}); cd m; ${first}; git -c protocol.file.allow=always submodule --quiet add ../s sub
      git commit -qm sub; cd sub; ${identity}`,
    inside: 'cd m/sub; echo n > n; git add n; git commit -qm n; cd ..; git commit -qam bump',
    shows: 'cd m; git status --short; git log --format=%s; git -C sub log --format=%s',
    expected: 'bump\nsub\nfirst\nn\nfirst\n',
  },
  {
    name: 'a new repository without a commit',
    prepare: ':',
    inside: `git init -q -b main; ${identity}; echo a > a`,
    shows: 'git config user.name; git status --short',
    expected: 'a\n?? a\n',
  },
  {
    name: 'a new clone',
    prepare: `mkdir o; cd o; ${first}`,
    inside: `git clone -q --no-hardlinks o c; cd c; ${identity}; echo z > z; git add z; git commit -qm z`,
    shows: 'cd c; git log --format=%s; git status --short --branch; git fetch',
    expected: 'z\nfirst\n## main...origin/main [ahead 1]\n',
  },
];

forUsersInTurn((user, turn) => {
  const stage = useWarmStage(user);
  const each = (part: (flow: Flow) => string) => flows.map((flow, at) => `(cd r${at}; ${part(flow)})`).join('\n');

  turn.test('what everyday flows made of repositories comes home, and nothing is left that is not named', async () => {
    const made = flows.map((_flow, at) => `mkdir r${at}`).join('\n');
    const project = stage.project(`${made}\n${each(({ prepare }) => prepare)}`);
    await stage.inside(project, `set -e\n${each(({ inside }) => inside)}`);
    const answer = await stage.json(project, ['apply']);
    assert.deepEqual(answer['sensitive'], []);
    assert.equal(answer['complete'], true);
    assert.deepEqual(await differing(stage, project, answer), []);
    for (const [at, { name, shows, expected }] of flows.entries()) {
      const shown = stage.shell(project, `cd r${at}; ${shows}; git fsck --no-dangling`);
      assert.ok(shown === expected || (name === 'stash' && shown.startsWith('stash@{0}: WIP')), `${name}: ${shown}`);
    }
    // Who only looks makes git write its index again: no change of anybody's.
    await stage.inside(
      project,
      each(() => 'git status > /dev/null || true'),
    );
    assert.deepEqual((await stage.json(project, ['diff']))['changes'], []);
  });

  turn.test(
    'where git cannot read the person’s configuration, everything that it could name is held back',
    async () => {
      const project = stage.project(`mkdir r s; (cd r; ${first}; echo '[broken' >> .git/config); (cd s; ${first})`);
      await stage.inside(project, 'echo x > r/tool.sh; echo x > s/tool.sh');
      const answer = await stage.json(project, ['apply'], 3);
      assert.deepEqual(answer['heldBack'], ['r/tool.sh']);
      assert.match(JSON.stringify(answer['sensitive']), /could not be read: bad config line/);
      const everywhere = stage.project();
      await stage.inside(everywhere, 'echo x > tool.sh');
      const env = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'x' };
      const all = await stage.json(everywhere, ['apply'], 3, { env });
      assert.deepEqual(all['heldBack'], ['tool.sh']);
    },
  );

  turn.test('of a merge that is not finished nothing comes home but the files of the working tree', async () => {
    const project = stage.project(
      `${first}; git checkout -qb t; echo t > a; git commit -qam t; git checkout -q main; echo m > a; git commit -qam m`,
    );
    await stage.inside(project, 'git merge -q t || true');
    const answer = await stage.json(project, ['apply'], 3);
    assert.deepEqual(await differing(stage, project, answer), []);
    assert.equal(stage.shell(project, 'git status --short; git log --format=%s'), ' M a\nm\nfirst\n');
    await stage.inside(project, 'echo mt > a; git commit -qam merged');
    assert.deepEqual((await stage.json(project, ['apply']))['heldBack'], []);
    assert.equal(stage.shell(project, 'git status --short; git log -1 --format="%s %p" | wc -w'), '3\n');
  });

  turn.test(
    'an apply of a commit that is killed while it writes goes on, and is undone; a commit of the person’s is a conflict',
    async () => {
      const project = stage.project(`mkdir d; for i in $(seq 800); do echo 0 > d/$i; done; ${first}`);
      await stage.inside(project, 'for i in $(seq 800); do echo 1 > d/$i; done; git commit -qam second');
      const apply = stage.startCtx(project, ['apply']);
      let isOver = false;
      void apply.finished.then(() => {
        isOver = true;
      });
      // Killed at the first file that was written, or over already: what holds afterwards is the same.
      const isWritten = () => readFileSync(join(project, 'd/1'), 'utf8') === '1\n';
      while (!isOver && !isWritten()) await sleep(1);
      apply.child.kill('SIGKILL');
      await apply.finished;
      await stage.json(project, ['apply', '--wait']);
      const look = 'git log --format=%s; git status --short; git fsck --no-dangling';
      assert.equal(stage.shell(project, look), 'second\nfirst\n');
      await stage.inside(project, 'echo agent > a; git commit -qam agent');
      stage.shell(project, 'echo mine > b; git commit -qam mine');
      const refused = await stage.json(project, ['apply'], 1);
      assert.match(JSON.stringify(refused), /refs\/heads\/main/);
      assert.equal(stage.shell(project, look), 'mine\nsecond\nfirst\n');
      await stage.json(project, ['apply', '--conflicts', 'theirs']);
      assert.equal(stage.shell(project, 'git log --format=%s'), 'agent\nsecond\nfirst\n');
      await stage.json(project, ['apply', '--undo']);
      assert.equal(stage.shell(project, look), 'mine\nsecond\nfirst\n');
    },
  );

  turn.test('a file of an installed package that the person’s configuration names is held back', async () => {
    const project = stage.project(`${first}; git config core.fsmonitor node_modules/a/package.json`);
    await stage.inside(
      project,
      'mkdir -p node_modules/a node_modules/b; echo {} | tee node_modules/a/package.json > node_modules/b/package.json',
    );
    const answer = await stage.json(project, ['apply'], 3);
    assert.deepEqual(answer['sensitive'], [
      { path: 'node_modules/a/package.json', why: 'your git configuration names it, or the directory it is in' },
    ]);
    assert.equal(stage.shell(project, 'ls node_modules'), 'b\n');
  });
});
