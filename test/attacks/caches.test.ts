/** Caches of the person's tools: read by commands, written beside, and never changed; what lies around them is not seen. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { keeperOf } from '../support/keeper.js';
import { inKeptJail } from '../support/kept-jail.js';
import { useWarmStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';

const fill = `cd "$HOME"; mkdir -p .npm/_cacache/content go/pkg/mod/old .cargo/registry .m2/repository .gradle/caches .cache/pip .cache/huggingface
  for place in .npm/_cacache go/pkg/mod .cargo/registry .m2/repository .gradle/caches .cache/pip; do echo theirs > $place/file; done
  chmod 600 .npm/_cacache/file; ln .npm/_cacache/file .npm/_cacache/second
  for secret in .npmrc .cargo/credentials.toml .cargo/credentials .m2/settings.xml .gradle/gradle.properties .cache/huggingface/token .npm/token
  do echo SECRET > $secret; done`;
const caches = '.npm/_cacache go/pkg/mod .cargo/registry .m2/repository .gradle/caches .cache/pip';
const look = `cd "$HOME"; find ${caches} | sort | xargs stat -c '%n %a %u %Y %s %h'; cat $(find ${caches} -type f | sort)`;

forEachUser((user) => {
  const stage = useWarmStage(user);
  before(() => void stage.shell(stage.home, fill));

  test('everything a command does to a cache stays in its fork, and is gone with it', async () => {
    const project = stage.project();
    const before = stage.shell(stage.home, look);
    const script = `cd ~; for place in ${caches}; do cat $place/file >> seen; echo mine >> $place/file; mkdir -p $place/new/deep
        echo new > $place/new/deep/file; chmod -R 700 $place/new; done
      rm -r go/pkg/mod/old; mv .npm/_cacache/second .npm/_cacache/third; chmod 777 .cache/pip; touch -d @0 .m2/repository/file
      ln .gradle/caches/file .gradle/caches/linked; cp /bin/true .cache/pip/set; chmod 6755 .cache/pip/set
      sort -u seen; rm seen`;
    assert.equal(await stage.inside(project, script), 'theirs\n');
    assert.equal(stage.shell(stage.home, look), before);
    const again = `cd ~; cat .npm/_cacache/third go/pkg/mod/new/deep/file; ls go/pkg/mod; tail -n 1 .cargo/registry/file`;
    assert.equal(await stage.inside(project, again), 'theirs\nnew\nfile\nnew\nmine\n');
    // The kernel makes directories there that its owner could not read, nor delete. Those of other tests are in use meanwhile.
    const vault = stage.shell(stage.store, `dirname $(grep -lF '"${project}"' vault/*/meta.json)`).trim();
    assert.equal(stage.shell(join(stage.store, vault), 'find . -type d ! -perm -700'), '');
    stage.shell(stage.home, 'echo later > .npm/_cacache/later');
    assert.equal(await stage.inside(project, 'cat ~/.npm/_cacache/later'), 'later\n');
    await stage.json(project, ['fork', 'create', 'other']);
    const other = await stage.ctx(project, ['exec', '--fork', 'other', '--', 'sh', '-c', 'cd ~; ls go/pkg/mod']);
    assert.equal(other.stdout, 'file\nold\n');
    await stage.json(project, ['drop']);
    assert.equal(await stage.inside(project, 'ls ~/go/pkg/mod'), 'file\nold\n');
  });

  // One test: all forks of the store have one shared cache.
  test('a shared cache is another fork’s too, one writes it at a time, and it is not the person’s', async () => {
    const [one, two] = [stage.project(), stage.project()];
    const share = ['exec', '--cache', 'share', '--', 'sh', '-c'];
    await stage.ctx(one, [...share, 'echo kept > ~/.m2/repository/kept']);
    await stage.json(one, ['drop']);
    assert.equal((await stage.ctx(two, [...share, 'cd ~/.m2/repository; cat file kept'])).stdout, 'theirs\nkept\n');
    assert.equal(await stage.inside(two, 'ls ~/.m2/repository'), 'file\n');
    assert.equal(stage.shell(stage.home, 'ls .m2/repository'), 'file\n');
    assert.equal((await stage.ctx(one, ['exec', '--cache', 'mine', '--', 'true'])).code, 2);

    const holder = stage.startCtx(one, [...share, 'echo ready; sleep 1000']);
    const write = ['exec', '--cache', 'share', '--report', 'always', '--', 'sh', '-c', 'echo x > ~/.m2/repository/x'];
    try {
      await holder.printed('ready');
      // The kernel lists locks by another device than that of a file of btrfs: there no one can tell whose one is.
      const isListed = stage.shell(stage.store, 'stat -f -c %T .') !== 'btrfs\n';
      // A keeper runs it in a process of its own.
      const number = keeperOf(stage.store) === undefined ? holder.child.pid : '\\d+';
      const who = isListed ? `process ${number} in ${one}` : 'another command';
      const told = new RegExp(
        `^.* read-only here, since ${who} uses them .*ctx ps.*/\\.m2/repository.* --cache share$`,
        'm',
      );
      const { code, stderr } = await stage.ctx(two, write);
      assert.notEqual(code, 0);
      assert.match(stderr, told);
      assert.equal(stderr.split('read-only here').length, 2, 'one line');
      const jail = await stage.ctx(two, ['jail', 'start', '--cache', 'share']);
      assert.match(jail.stderr, told);
      assert.match((await stage.ctx(two, write)).stderr, told, 'with its first command');
      await stage.ctx(two, ['jail', 'stop']);
      // The fork's own is not the shared one.
      assert.equal(await stage.inside(two, 'echo x > ~/.m2/repository/x; cat ~/.m2/repository/x'), 'x\n');
    } finally {
      await stage.ctx(two, ['jail', 'stop']);
      holder.child.kill('SIGTERM');
      await holder.finished;
    }
    const after = await stage.ctx(two, write);
    assert.deepEqual([after.code, /read-only here/.test(after.stderr)], [0, false], after.stderr);
  });

  test('a command beside an idle kept jail writes the caches of its fork, too', () =>
    inKeptJail(stage, async ({ project }) => {
      const granted = stage.project();
      const write = 'echo mine >> ~/.m2/repository/both; cat ~/.m2/repository/both';
      assert.equal(await stage.inside(project, write), 'mine\n');
      // With a grant that the kept jail has not: in a jail of its own.
      const words = ['exec', '--report', 'always', '--read', granted, '--', 'sh', '-c', write];
      const apart = await stage.ctx(project, words);
      assert.deepEqual([apart.code, apart.stdout], [0, 'mine\nmine\n'], apart.stderr);
      assert.doesNotMatch(apart.stderr, /read-only/);
      assert.equal(await stage.inside(project, write), 'mine\nmine\nmine\n');
    }));

  test('tokens beside the caches are not there, and no cache is written on the live directory', async () => {
    const project = stage.project();
    const seen =
      'cd ~; grep -r SECRET . 2>/dev/null; cat .npmrc .cargo/cred* .m2/settings.xml .npm/token 2>/dev/null; true';
    assert.equal(await stage.inside(project, seen), '');
    const live = ['exec', '--live', '--', 'sh', '-c', 'cat ~/.cache/pip/file; echo x > ~/.cache/pip/file'];
    const { stdout, code } = await stage.ctx(project, live);
    assert.match(stdout, /^theirs\n/);
    assert.notEqual(code, 0);
    assert.equal(stage.shell(stage.home, 'cat .cache/pip/file'), 'theirs\n');
  });
});
