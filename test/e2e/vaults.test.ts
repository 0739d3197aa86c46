/** Vaults as a whole: undoing an apply, upkeep, export, and what apply holds back. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { snapshot } from '../support/snapshot.js';
import { useWarmStage } from '../support/stage.js';
import { asOneUser, forUsersInTurn, isRoot } from '../support/users.js';

const pathsOf = (value: unknown) => (value as { path: string }[]).map(({ path }) => path);

const sample = `mkdir -p d/e; echo a > a; echo f > d/f; echo g > d/e/g; ln -s a link; chmod 640 a; mkfifo pipe; echo gone > gone; chmod 755 .`;
const edits = `echo b > a; rm -r d; echo file > d; rm link gone; ln -s d link; mkdir new; echo n > new/n; chmod 600 a; chmod 700 .`;

forUsersInTurn((user, turn) => {
  const stage = useWarmStage(user);

  turn.test('apply --undo brings everything back as it was, and the changes are pending again', async () => {
    const project = stage.project(sample);
    const before = snapshot(project, { times: false });
    await stage.inside(project, edits);
    const pending = pathsOf((await stage.json(project, ['diff']))['changes']);
    await stage.json(project, ['apply']);
    assert.notDeepEqual(snapshot(project, { times: false }), before);
    const undone = await stage.json(project, ['apply', '--undo']);
    assert.equal(undone['done'], true);
    assert.deepEqual(snapshot(project, { times: false }), before);
    assert.deepEqual(pathsOf((await stage.json(project, ['diff']))['changes']), pending);
    await stage.json(project, ['apply']);
    assert.equal(stage.shell(project, 'cat a d new/n; readlink link; stat -c %a .'), 'b\nfile\nn\nd\n700\n');
    await stage.json(project, ['apply', '--undo']);
    assert.deepEqual(snapshot(project, { times: false }), before);
    await stage.json(project, ['rollback']);
    assert.deepEqual((await stage.json(project, ['diff']))['changes'], []);
  });

  turn.test('apply --undo refuses where the person went on, names the paths, and writes nothing', async () => {
    const project = stage.project('echo a > a; echo b > b');
    await stage.inside(project, 'echo 1 > a; echo 1 > b');
    await stage.json(project, ['apply']);
    stage.shell(project, 'echo mine > a');
    const before = snapshot(project);
    const refused = await stage.json(project, ['apply', '--undo'], 1);
    assert.deepEqual([refused['done'], refused['conflicts']], [false, ['a']]);
    assert.deepEqual(snapshot(project), before);
    await stage.json(stage.project('true'), ['vault', 'create']);
  });

  turn.test(
    'apply --undo of a commit is not stopped by a look at the repository, only by what was staged since',
    async () => {
      const git = 'git -c user.name=a -c user.email=a@b -c init.defaultBranch=main';
      const project = stage.project(`${git} init -q; echo 1 > a; git add a; ${git} commit -qm one`);
      await stage.inside(project, `echo 2 > a; echo b > b; git add a b; ${git} commit -qm two`);
      await stage.json(project, ['apply', '--allow-sensitive']);
      const looked = 'touch -d 2001-01-01 b; git status --short; git log --format=%s';
      assert.equal(stage.shell(project, looked), 'two\none\n');
      assert.equal((await stage.json(project, ['apply', '--undo']))['done'], true);
      assert.equal(stage.shell(project, 'git status --short; git log --format=%s'), 'one\n');
      await stage.json(project, ['apply', '--allow-sensitive']);
      stage.shell(project, 'echo c > c; git add c');
      assert.ok(((await stage.json(project, ['apply', '--undo'], 1))['conflicts'] as string[]).includes('.git/index'));
    },
  );

  turn.test('apply --undo goes on where it was cut off, and leaves no conflict behind', async () => {
    const project = stage.project('echo old > a; echo old > b; echo c > c');
    const before = snapshot(project, { times: false });
    await stage.inside(project, 'echo new > a; echo new > b; echo new > d');
    await stage.json(project, ['apply']);
    // As it would be in the middle: some is back, and a command has seen it since.
    stage.shell(project, 'rm d; echo old > a');
    assert.equal(await stage.inside(project, 'cat a b; ls'), 'old\nnew\na\nb\nc\n');
    await stage.json(project, ['apply', '--undo']);
    assert.deepEqual(snapshot(project, { times: false }), before);
    const again = await stage.json(project, ['apply']);
    assert.deepEqual([again['done'], again['conflicts']], [true, []]);
    assert.equal(stage.shell(project, 'cat a b d'), 'new\nnew\nnew\n');
  });

  turn.test('apply --undo leaves alone what you put into a directory of the apply, and writes nothing', async () => {
    const project = stage.project('echo a > a; mkdir kept; echo k > kept/k');
    await stage.inside(project, 'echo b > a; mkdir made; echo m > made/m; rm kept/k');
    await stage.json(project, ['apply']);
    stage.shell(project, 'echo mine > made/mine; rmdir kept');
    const before = snapshot(project);
    const refused = await stage.json(project, ['apply', '--undo'], 1);
    assert.deepEqual((refused['conflicts'] as string[]).sort(), ['kept/k', 'made/mine']);
    assert.deepEqual(snapshot(project), before);
    stage.shell(project, 'rm made/mine; mkdir kept');
    await stage.json(project, ['apply', '--undo']);
    assert.equal(stage.shell(project, 'cat a kept/k; ls'), 'a\nk\na\nkept\n');
  });

  turn.test(
    'apply --undo leaves alone what you put into a directory that took the place of a file, and writes nothing',
    async () => {
      const project = stage.project('echo a > a; echo b > b; mkfifo pipe');
      await stage.inside(project, 'echo 1 > a; rm b pipe; mkdir b pipe');
      await stage.json(project, ['apply']);
      stage.shell(project, 'mkdir b/own; echo mine > pipe/mine');
      const before = snapshot(project);
      const refused = await stage.json(project, ['apply', '--undo'], 1);
      assert.deepEqual((refused['conflicts'] as string[]).sort(), ['b/own', 'pipe/mine']);
      assert.deepEqual(snapshot(project), before);
      stage.shell(project, 'rmdir b/own; rm pipe/mine');
      await stage.json(project, ['apply', '--undo']);
      assert.equal(stage.shell(project, 'cat a b; stat -c %F pipe'), 'a\nb\nfifo\n');
    },
  );

  test('a directory that the person may not read hinders neither an undo nor an apply to it', {
    skip: user.uid === 0 || !isRoot ? 'it takes root to make one, and another to meet it' : false,
  }, async () => {
    const project = stage.project('echo a > a');
    const other = stage.project('echo a > a');
    for (const place of [project, other]) mkdirSync(join(place, 'closed', 'deep'), { recursive: true, mode: 0o700 });
    await stage.inside(project, 'echo b > a; mkdir made; echo x > made/x');
    await stage.json(project, ['apply', '--to', other]);
    await stage.json(project, ['apply']);
    assert.equal(stage.shell(other, 'cat a made/x'), 'b\nx\n');
    await stage.json(project, ['apply', '--undo']);
    assert.equal(stage.shell(project, 'cat a; ls'), 'a\na\nclosed\n');
    await stage.json(project, ['apply']);
    mkdirSync(join(project, 'made', 'closed'), { mode: 0o700 });
    assert.deepEqual((await stage.json(project, ['apply', '--undo'], 1))['conflicts'], ['made/closed']);
  });

  turn.test('a choice by path never leaves a directory half done', async () => {
    const project = stage.project('mkdir d; echo a > d/a; echo b > d/b');
    await stage.inside(project, 'rm -r d; echo file > d');
    stage.shell(project, 'echo mine > d/a');
    const refused = await stage.json(project, ['apply', '--theirs', 'd/b'], 1);
    assert.ok((refused['conflicts'] as string[]).includes('d/a'), JSON.stringify(refused));
    assert.equal(stage.shell(project, 'cat d/a d/b'), 'mine\nb\n');
    assert.equal((await stage.json(project, ['apply', '--ours', 'd/a']))['done'], true);
    assert.equal(stage.shell(project, 'cat d/a; ls d'), 'mine\na\n');
  });

  turn.test('an installed package comes home whole, or stays whole where something in it is held back', async () => {
    const project = stage.project('echo "{}" > package.json');
    const install = `mkdir -p node_modules/.bin node_modules/a/lib node_modules/@s/b/.vscode; cd node_modules
      echo '{"scripts":{"install":"node-gyp rebuild","prepare":"x"}}' | tee a/package.json > @s/b/package.json
      echo a > a/lib/a.js; echo b > @s/b/b.js; echo '{}' > @s/b/.vscode/tasks.json; ln -s ../a/lib/a.js .bin/a; echo '{}' > .package-lock.json`;
    await stage.inside(project, install);
    const applied = await stage.json(project, ['apply'], 3);
    assert.deepEqual([applied['complete'], applied['done']], [false, true]);
    const because = ['node_modules/@s/b/.vscode/tasks.json'];
    assert.deepEqual(applied['heldUnits'], [{ path: 'node_modules/@s/b', because }]);
    const found = stage.shell(project, 'cd node_modules; cat a/package.json .bin/a; find . ! -type d | sort');
    assert.match(
      found,
      /node-gyp rebuild.*\na\n\.\/\.bin\/a\n\.\/\.package-lock\.json\n\.\/a\/lib\/a\.js\n\.\/a\/package\.json\n$/,
    );
    const { code, stderr } = await stage.ctx(project, ['apply']);
    assert.equal(code, 3);
    assert.match(stderr, /5 changes held back.*\n.*tasks\.json .*node_modules\/@s\/b\/ is held back as a whole/);
    assert.equal((await stage.json(project, ['apply', '--allow-sensitive']))['complete'], true);
  });

  turn.test('a dry run says what an apply would do, and writes nothing', async () => {
    const project = stage.project(sample);
    await stage.inside(project, 'echo b > a; rm gone; echo x > .envrc');
    const before = snapshot(project);
    const plan = await stage.json(project, ['apply', '--dry-run'], 3);
    assert.deepEqual(plan['planned'], [
      { action: 'remove', path: 'gone' },
      { action: 'put', path: 'a' },
    ]);
    assert.deepEqual(pathsOf(plan['sensitive']), ['.envrc']);
    assert.deepEqual(snapshot(project), before);
  });

  turn.test('a dry run ends as the apply would: well, in part, or not at all', async () => {
    const project = stage.project('echo a > a; echo b > b');
    const ends = async (code: number, ...choices: readonly string[]) => {
      for (const format of [[], ['--json']]) {
        const words = ['apply', '--dry-run', ...format, ...choices];
        const done = await stage.ctx(project, words);
        assert.equal(done.code, code, `${words.join(' ')}\n${done.stdout}${done.stderr}`);
      }
    };
    await stage.inside(project, 'echo theirs > a');
    await ends(0);
    stage.shell(project, 'echo mine > a');
    await ends(1);
    await ends(0, '--conflicts', 'theirs');
    await ends(0, '--ours', 'a');
    await stage.inside(project, 'echo x > .envrc');
    await ends(1);
    await ends(3, '--conflicts', 'ours');
    await ends(0, '--conflicts', 'ours', '--allow-sensitive');
    assert.equal(stage.shell(project, 'cat a b; ls -A'), 'mine\nb\na\nb\n');
  });

  turn.test('what could act later outside is held back until it is allowed, and stays pending', async () => {
    const project = stage.project('mkdir .git; echo "{}" > package.json; echo x > plain');
    const plant = `mkdir -p .git/hooks .github/workflows .vscode sub; printf '#!/bin/sh\\n' > .git/hooks/pre-commit; echo s > .git/hooks/x.sample
      printf '[core]\\n\\tfsmonitor = evil\\n' > .git/config; echo y > .github/workflows/ci.yml; echo '{}' > .vscode/tasks.json
      echo '{"scripts":{"postinstall":"evil"}}' > package.json; echo z > sub/.bashrc; echo '{}' > .mcp.json; echo more >> plain`;
    await stage.inside(project, plant);
    const applied = await stage.json(project, ['apply'], 3);
    assert.equal(applied['complete'], false);
    const held = [
      '.git/config',
      '.git/hooks/pre-commit',
      '.github/workflows/ci.yml',
      '.mcp.json',
      '.vscode/tasks.json',
      'package.json',
      'sub/.bashrc',
    ];
    assert.deepEqual([...(applied['heldBack'] as string[])].sort(), held);
    assert.equal(
      stage.shell(project, 'cat plain package.json; find . -type f | sort'),
      'x\nmore\n{}\n./.git/hooks/x.sample\n./package.json\n./plain\n',
    );
    assert.deepEqual(pathsOf((await stage.json(project, ['diff']))['changes']).sort(), held);
    assert.equal(await stage.inside(project, 'cat plain sub/.bashrc'), 'x\nmore\nz\n');
    const rest = await stage.json(project, ['apply', '--allow-sensitive']);
    assert.deepEqual(rest['heldBack'], []);
    assert.equal(stage.shell(project, 'cat sub/.bashrc'), 'z\n');
    assert.deepEqual((await stage.json(project, ['diff']))['changes'], []);
  });

  turn.test('a harmless change of the package file or of git’s configuration is not held back', async () => {
    const project = stage.project(`echo '{"name":"a","scripts":{"test":"x"}}' > package.json`);
    const git = 'git -c init.defaultBranch=main';
    await stage.inside(
      project,
      `echo '{"name":"b","scripts":{"test":"x"}}' > package.json; ${git} init -q; git config user.name a`,
    );
    assert.deepEqual((await stage.json(project, ['apply']))['heldBack'], []);
    assert.equal(stage.shell(project, 'git config user.name; git status --short'), 'a\n?? package.json\n');
  });

  turn.test('single paths are applied, and the rest stays pending', async () => {
    const project = stage.project('mkdir d; echo 0 > d/a; echo 0 > d/b; echo 0 > c');
    await stage.inside(project, 'echo 1 > d/a; rm d/b; echo 1 > c; mkdir -p n/m; echo 1 > n/m/x; echo 1 > n/y');
    await stage.json(project, ['apply', 'd', 'n/m/x']);
    assert.equal(stage.shell(project, 'cat d/a c n/m/x; find . -type f | sort'), '1\n0\n1\n./c\n./d/a\n./n/m/x\n');
    assert.deepEqual(pathsOf((await stage.json(project, ['diff']))['changes']), ['c', 'n/y']);
    assert.equal(await stage.inside(project, 'cat c n/y; ls d'), '1\n1\na\n');
    const { done, applied, unmatched } = await stage.json(project, ['apply', 'nothing', 'n']);
    assert.deepEqual([done, pathsOf(applied), unmatched], [true, ['n/y'], ['nothing']]);
  });

  turn.test('an apply of nothing changes nothing: what is pending can be rolled back as before', async () => {
    const project = stage.project('echo 0 > a');
    await stage.inside(project, 'echo 1 > a; echo z > .bashrc');
    await stage.json(project, ['apply', 'nothing']);
    await stage.json(project, ['apply', '.bashrc'], 3);
    await stage.json(project, ['rollback']);
    assert.deepEqual((await stage.json(project, ['diff']))['changes'], []);
  });

  turn.test(
    'an undo takes back the whole apply: what would choose or only look is refused, and nothing is undone',
    async () => {
      const project = stage.project('echo 0 > a');
      await stage.inside(project, 'echo 1 > a');
      await stage.json(project, ['apply']);
      for (const words of [['a'], ['--dry-run'], ['--theirs', 'a'], ['--conflicts', 'theirs'], ['--to', '..']]) {
        const { code, stderr } = await stage.ctx(project, ['apply', '--undo', ...words]);
        assert.equal(code, 2, stderr);
        assert.match(stderr, /expected --undo alone, got (PATH|--[a-z-]+) too.*\(EINVAL\)/);
      }
      assert.equal(stage.shell(project, 'cat a'), '1\n');
    },
  );

  turn.test('export writes out what the fork shows, as a directory and as a tar file', async () => {
    const project = stage.project(sample);
    await stage.inside(project, edits);
    const copy = join(stage.directory, `copy-${user.uid}`);
    await stage.json(project, ['vault', 'export', copy]);
    await stage.json(project, ['vault', 'export', `${copy}.tar`]);
    const twin = stage.project(`${sample}; ${edits}`);
    const listing = 'find . -mindepth 1 | sort; cat a new/n d; readlink link; stat -c %a a new';
    assert.equal(stage.shell(copy, listing), stage.shell(twin, listing));
    const unpacked = stage.makeDirectory(`unpacked-${user.uid}`);
    assert.equal(stage.shell(unpacked, `tar xf ${copy}.tar; ${listing}`), stage.shell(twin, listing));
  });

  turn.test(
    'export keeps links, holes, times, attributes, odd names and closed modes; what is there is not written over',
    async () => {
      const odd = `mkdir -p d/e none ro; echo 1 > d/e/one; ln d/e/one two; truncate -s 3M holes; setfattr -n user.note -v x two
      mkfifo pipe; ln -s nowhere dangling; touch "$(printf 'a\\nb')"; echo n > none/n; echo z > zero; chmod 000 none zero; chmod 555 ro
      touch -d '2001-02-03 04:05:06.5' d/e two; touch -d 2002-01-01 d .`;
      const project = stage.project(odd);
      await stage.json(project, ['vault', 'create']);
      const copy = join(stage.directory, `odd-${user.uid}`);
      const look = `find . -path ./none/n -prune -o -printf '%p %y %m %n %s %T@ %l\\n' 2>/dev/null | sort
      stat -c %b holes; getfattr --only-values -n user.note d/e/one`;
      await stage.json(project, ['vault', 'export', copy]);
      assert.equal(stage.shell(copy, look), stage.shell(project, look));
      await stage.json(project, ['vault', 'export', `${copy}.tar`]);
      const packed = stage.shell('/', `tar tvf ${copy}.tar`);
      assert.match(packed, /^-{10} .* \.\/zero$/m);
      assert.match(packed, /^-rw-r--r-- .* \.\/none\/n$/m);
      for (const taken of [copy, `${copy}.tar`, `${copy}/two`]) {
        const { code, stderr } = await stage.ctx(project, ['vault', 'export', taken]);
        assert.equal(code, 1, stderr);
        assert.match(stderr, /expected a path that does not exist yet.*\(EEXIST\)/);
      }
      assert.match(
        (await stage.ctx(project, ['vault', 'export', '/none/x'])).stderr,
        /export \/none\/x: there is no directory \/none \(ENOENT\)/,
      );
      stage.shell('/', `chmod -R u+rwX ${copy} ${project}`);
    },
  );
});

asOneUser((user) => {
  const stage = useWarmStage(user);

  test('a vault is made under a name, listed, checked and deleted; the directory stays', async () => {
    const project = stage.project('echo a > a');
    const { vault } = (await stage.json(stage.home, ['vault', 'create', 'api', '--from', project])) as {
      vault: { id: string };
    };
    assert.deepEqual(pathsOf((await stage.json(project, ['diff']))['changes']), []);
    const { vaults } = (await stage.json(project, ['vault', 'list'])) as { vaults: { name: string; origin: string }[] };
    assert.equal(vaults.find(({ origin }) => origin === project)?.name, 'api');
    stage.shell(project, 'echo b > b');
    assert.deepEqual((await stage.json(project, ['vault', 'sync']))['entered'], ['b']);
    assert.deepEqual((await stage.json(project, ['fsck']))['faults'], []);
    await stage.json(stage.home, ['vault', 'delete', 'api']);
    assert.equal(existsSync(join(stage.store, 'vault', vault.id)), false);
    assert.equal(stage.shell(project, 'cat a b'), 'a\nb\n');
  });

  test('of several who give one name at the same time one has it', async () => {
    const projects = Array.from({ length: 4 }, () => stage.project('seq 500 | xargs touch'));
    const made = await Promise.all(projects.map((each) => stage.ctx(each, ['vault', 'create', 'wanted'])));
    assert.deepEqual(made.map(({ code }) => code).sort(), [0, 1, 1, 1]);
    for (const { code, stderr } of made) if (code !== 0) assert.match(stderr, /already named 'wanted' \(EEXIST\)/);
    await Promise.all(projects.map((each) => stage.ctx(each, ['vault', 'create'])));
    const renamed = await Promise.all(projects.map((each) => stage.ctx(each, ['vault', 'set', '--name', 'contested'])));
    assert.deepEqual(renamed.map(({ code }) => code).sort(), [0, 1, 1, 1]);
  });

  test('a directory that has a vault keeps it: what is asked for again holds, or is refused with the remedy', async () => {
    const project = stage.project('echo a > a');
    const create = (...words: readonly string[]) => stage.json(project, ['vault', 'create', ...words]);
    const refused = async (pattern: RegExp, ...words: readonly string[]) => {
      const { code, stderr } = await stage.ctx(project, ['vault', ...words]);
      assert.equal(code, 1, stderr);
      assert.match(stderr, pattern);
    };
    await stage.inside(project, 'echo fork > a');
    assert.equal((await create())['outcome'], 'there');
    assert.equal((await create('kept-one'))['outcome'], 'named');
    assert.equal((await create('kept-one'))['outcome'], 'there');
    await refused(/has a vault already, named 'kept-one' \(EEXIST\)/, 'create', 'other');
    await refused(/has a vault already, with a copy \(EEXIST\)/, 'create', '--no-copy');
    await refused(/has a vault already, with a copy \(EEXIST\)/, 'import', 'kept-one', '--live');
    await refused(/with other limits \(EEXIST\)[\s\S]*ctx vault set/, 'create', '--max-files', '5000');
    const here = stage.project('mkdir -p .git/x part; echo a > file');
    for (const [from, pattern] of [
      ['part', /is part of the workspace .*\(EINVAL\)/],
      ['file', /\(ENOTDIR\)/],
    ] as const) {
      assert.match((await stage.ctx(here, ['vault', 'create', '--from', from])).stderr, pattern);
    }
    await stage.json(project, ['vault', 'set', '--max-files', '5000', '--name', 'renamed']);
    assert.equal((await create('renamed', '--max-files', '5000'))['outcome'], 'there');
    await stage.json(stage.project('true'), ['vault', 'create', 'second']);
    await refused(/the vault of this directory is already named 'second' \(EEXIST\)/, 'set', '--name', 'second');
    const { code } = await stage.ctx(project, ['vault', 'set', '--name', '../up']);
    assert.equal(code, 2);
    assert.equal(await stage.inside(project, 'cat a'), 'fork\n');
    // A command that runs does not keep it waiting.
    const stdio = ['pipe', 'pipe', 'pipe'] as const;
    const lasting = stage.startCtx(project, ['exec', '--', 'sh', '-c', 'echo up; read -r end'], { stdio: [...stdio] });
    await lasting.printed('up');
    assert.equal((await create())['outcome'], 'there');
    lasting.child.stdin?.end('end\n');
    await lasting.finished;
  });

  test('flatten makes few layers of many and loses nothing; gc deletes only what nobody needs', async () => {
    const project = stage.project('echo 0 > n');
    for (let round = 1; round <= 4; round++)
      await stage.inside(project, `echo ${round} > n; echo ${round} > f${round}; rm -f f${round - 1}`);
    await stage.json(project, ['checkpoint', 'save', 'kept']);
    const { before, after } = await stage.json(project, ['flatten']);
    assert.ok(
      Number(after) < Number(before) && Number(after) >= 2,
      `${before} ${after}: the trunk has a layer, and the fork`,
    );
    assert.equal(await stage.inside(project, 'cat n; ls'), '4\nf4\nn\n');
    await stage.json(project, ['rollback', '3']);
    assert.equal(await stage.inside(project, 'cat n; ls'), '2\nf2\nn\n');
    await stage.json(project, ['gc']);
    await stage.json(project, ['rollback', 'kept']);
    assert.equal(await stage.inside(project, 'cat n; ls'), '4\nf4\nn\n');
    assert.deepEqual((await stage.json(project, ['fsck']))['faults'], []);
  });

  test('fsck names what is missing, exits with 1, and repairs nothing', async () => {
    const project = stage.project('echo 0 > n');
    const store = join(stage.directory, 'damaged');
    const env = { CTX_DATA: store };
    for (const round of [1, 2]) await stage.ctx(project, ['exec', '--', 'sh', '-c', `echo ${round} > n`], { env });
    const [vault = ''] = readdirSync(join(store, 'vault'));
    const layers = join(store, 'vault', vault, 'layer');
    const [delta = ''] = readdirSync(layers).filter(
      (name) => existsSync(join(layers, name, 'of-fork-main')) && existsSync(join(layers, name, 'workspace/n')),
    );
    rmSync(join(layers, delta), { recursive: true });
    const first = await stage.ctx(project, ['fsck'], { env });
    assert.equal(first.code, 1);
    assert.match(first.stdout, new RegExp(`fork main names a layer that is missing: .*${delta}\n`));
    assert.equal((await stage.ctx(project, ['fsck'], { env })).stdout, first.stdout);
  });
});
