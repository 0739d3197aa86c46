/** What agents do all day, in a fork: a repository made, committed to, rebased and packed; packages installed and thrown away. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snapshot } from '../support/snapshot.js';
import { useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

const git = 'git -c user.name=a -c user.email=a@b -c init.defaultBranch=main -c gc.auto=0';

forEitherUser((user) => {
  const stage = useWarmStage(user);

  test('an agent’s commits arrive in the repository by apply, after branch, rebase and gc', async () => {
    const project = stage.project(`${git} init -q; echo a > a; git add a; ${git} commit -qm first`);
    await stage.inside(project, `git checkout -qb topic; echo t > t; git add t; ${git} commit -qm topic`);
    await stage.inside(
      project,
      `git checkout -q main; echo m > m; git add m; ${git} commit -qm main; ${git} rebase -q main topic`,
    );
    assert.equal(
      await stage.inside(project, 'git gc -q; git fsck --strict 2>&1; git log --format=%s'),
      'topic\nmain\nfirst\n',
    );
    assert.equal(stage.shell(project, 'git log --format=%s'), 'first\n');
    const { stdout } = await stage.ctx(project, ['apply', '--json']);
    assert.deepEqual((JSON.parse(stdout) as { heldBack: string[] }).heldBack, []);
    assert.equal(
      stage.shell(project, 'git fsck --strict 2>&1; git status --short; git log --format=%s'),
      'topic\nmain\nfirst\n',
    );
    assert.equal(await stage.inside(project, 'git status --short; git log --format=%s | head -1'), 'topic\n');
  });

  test('packed refs, a stash and a merge arrive, are undone, and arrive again; flags that hide a file do not', async () => {
    const project = stage.project(
      `${git} init -q; git config user.name a; git config user.email a@b; echo a > a; git add a; git commit -qm first; git branch old; git pack-refs --all`,
    );
    await stage.inside(
      project,
      `git checkout -qb topic; echo t > t; git add t; git commit -qm topic; git checkout -q main; echo m > a; git commit -qam main
      git merge -qm merge topic; git branch -qD topic old; git tag -a v -m v; echo s > a; git stash -q; ${git} gc -q
      git update-index --assume-unchanged t`,
    );
    const look =
      'git status --short; git fsck --strict 2>&1; git log --format=%s; git branch; git tag; git stash list | wc -l';
    const home = 'merge\nmain\ntopic\nfirst\n* main\nv\n1\n';
    const { problems } = (await stage.json(project, ['apply'], 3)) as { problems: { path: string }[] };
    assert.deepEqual(
      problems.map(({ path }) => path),
      ['.git/index'],
    );
    assert.equal(stage.shell(project, look), home);
    await stage.json(project, ['apply', '--undo']);
    assert.equal(stage.shell(project, look.replace('git fsck --strict 2>&1; ', '')), 'first\n* main\n  old\n0\n');
    await stage.json(project, ['apply'], 3);
    assert.equal(stage.shell(project, `${look}; echo x > t; git status --short`), `${home} M t\n`);
  });

  test('submodules: initialised in a fork, committed to, and both commits arrive by apply', async () => {
    const local = `${git} -c protocol.file.allow=always`;
    const library = stage.project(`${git} init -q; echo l > l; git add l; ${git} commit -qm library`);
    const project = stage.project(
      `${git} init -q; echo a > a; git add a; ${local} submodule --quiet add ${library} sub; ${git} commit -qm first
      ${git} submodule --quiet deinit -f sub; rm -rf .git/modules`,
    );
    const inside = `${local} submodule --quiet update --init; cd sub; git checkout -qb topic; echo two > two; git add two
      ${git} commit -qm two; cd ..; git add sub; ${git} commit -qm bump; git submodule status | cut -c1; git status --short`;
    const words = ['exec', '--read', library, '--', 'sh', '-euc', inside];
    const { code, stdout, stderr } = await stage.ctx(project, words);
    assert.deepEqual([code, stdout], [0, ' \n'], stderr);
    // Where a repository's directory is, and what it runs, is for the person to see.
    const held = (await stage.json(project, ['apply'], 3))['heldBack'] as string[];
    assert.ok(held.includes('sub/.git') && held.includes('.git/modules/sub/config'), held.join());
    assert.equal((await stage.json(project, ['apply', '--allow-sensitive']))['done'], true);
    const look = `git status --short; git log --format=%s; git submodule status | cut -c1; cd sub; git status --short
      git log --format=%s; git fsck --strict 2>&1`;
    assert.equal(stage.shell(project, look), 'bump\nfirst\n \ntwo\nlibrary\n');
    assert.equal(
      await stage.inside(project, 'git status --short; cd sub; git status --short; git log -1 --format=%s'),
      'two\n',
    );
  });

  test('npm install, rm -rf node_modules and its rollback, and the next install', async () => {
    const project =
      stage.project(`mkdir -p dep/lib; echo '{"name":"dep","version":"1.0.0"}' > dep/package.json; for i in $(seq 50); do echo $i > dep/lib/$i.js; done
      tar -czf dep.tgz --transform 's,^dep,package,' dep; rm -r dep; echo '{"name":"p","version":"1.0.0","dependencies":{"dep":"file:dep.tgz"}}' > package.json`);
    const before = snapshot(project);
    const install = 'npm install --offline --no-audit --no-fund --silent; ls node_modules/dep/lib | wc -l';
    assert.equal(await stage.inside(project, install), '50\n');
    await stage.inside(project, 'rm -rf node_modules');
    await stage.ctx(project, ['rollback']);
    assert.equal(await stage.inside(project, 'ls node_modules/dep/lib | wc -l'), '50\n');
    await stage.inside(project, 'rm -rf node_modules package-lock.json');
    assert.equal(await stage.inside(project, install), '50\n');
    assert.deepEqual(snapshot(project), before);
    await stage.json(project, ['apply']);
    assert.equal(
      stage.shell(project, 'ls node_modules/dep/lib | wc -l; ls -A'),
      '50\ndep.tgz\nnode_modules\npackage-lock.json\npackage.json\n',
    );
  });
});
