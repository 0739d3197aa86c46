/** Which directory a command works on, and which it refuses to. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertNothingLeft } from '../support/leftovers.js';
import { useWarmStage } from '../support/stage.js';
import { forUsersInTurn, isRoot, spawnIdentity } from '../support/users.js';

forUsersInTurn((user, turn) => {
  const stage = useWarmStage(user);

  turn.test('the home, what holds it, and directories of the system are refused with 2, saying why', async () => {
    for (const place of ['/', '/etc', '/usr', '/var', '/tmp', stage.home, stage.directory]) {
      const { code, stderr } = await stage.ctx(place, ['exec', '--', 'true']);
      if (place === '/tmp' && code === 0) continue;
      assert.equal(code, 2, `${place}: ${stderr}`);
      assert.match(stderr, /expected a project directory, got .*\n {2}try: go to the project/);
    }
  });

  turn.test('a relative HOME is refused, and nothing is made in the workspace', async () => {
    const project = stage.project('mkdir there');
    const { CTX_DATA: _store, ...environment } = stage.environment;
    for (const home of ['rel', 'there', '']) {
      const env = Object.entries({ ...environment, HOME: home }).map(([name, value]) => `${name}=${value}`);
      const { code, stderr } = await stage.start(project, ['env', '-i', ...env, stage.program, 'exec', '--', 'true'])
        .finished;
      assert.equal(code, 2, stderr);
      assert.match(stderr, /HOME.*expected an absolute path/);
    }
    assert.equal(stage.shell(project, 'find . | sort'), '.\n./there\n');
  });

  test('where the home is the root, as for a uid without a name in a container, a command has another home', async () => {
    const project = stage.project('echo seen > a');
    const env = { HOME: '/', XDG_CONFIG_HOME: join(stage.directory, 'root-configuration') };
    const script = 'cat a; echo kept > "$HOME/of-command"; cd && pwd; test -r /usr/bin/env';
    for (const options of [[], ['--keep']]) {
      const { code, stdout, stderr } = await stage.ctx(project, ['exec', ...options, '--', 'sh', '-c', script], {
        env,
      });
      assert.deepEqual([code, stdout], [0, 'seen\n/tmp\n'], stderr);
    }
    assert.equal((await stage.ctx(project, ['jail', 'stop'], { env })).code, 0);
  });

  turn.test('the store itself is refused', async () => {
    await stage.inside(stage.project(), 'true');
    const { code, stderr } = await stage.ctx(join(stage.store, 'vault'), ['exec', '--', 'true']);
    assert.equal(code, 2);
    assert.match(stderr, /a part of the store of ctx itself/);
  });

  turn.test('a store that a first command makes by way of a link is known by where it is', async () => {
    const project = stage.project('mkdir -p ../linked; ln -s "$PWD" ../linked/there');
    const env = { CTX_DATA: join(stage.directory, 'linked', 'there', 'store') };
    const { code, stderr } = await stage.ctx(project, ['jail', 'run', '--', 'true'], { env });
    assert.equal(code, 2, stderr);
    assert.match(stderr, /expected a directory that does not hold the files of ctx itself/);
  });

  turn.test('a store that is removed while a command runs is missed, and not made again', async () => {
    const project = stage.project();
    const env = { CTX_DATA: join(stage.directory, 'removed') };
    const script = 'trap "echo end; exit" USR1; echo ready; while :; do sleep 0.1; done';
    const running = stage.startCtx(project, ['exec', '--', 'sh', '-c', script], { env });
    await running.printed('ready');
    stage.shell(project, `mv ${env.CTX_DATA} ${env.CTX_DATA}-elsewhere`);
    running.child.kill('SIGUSR1');
    const { code, stdout, stderr } = await running.finished;
    assert.deepEqual([code, stdout], [1, 'ready\nend\n'], stderr);
    assert.match(
      stderr,
      /^ctx: open the fork .*it was removed while it was in use.* \(ENOENT\)\n {2}try: run it again/m,
    );
    assert.equal(existsSync(env.CTX_DATA), false);
  });

  turn.test('in a subdirectory of a repository the whole repository is the workspace', async () => {
    const project = stage.project('mkdir -p .git sub/deeper; echo top > top');
    const envelope = await stage.exec(join(project, 'sub', 'deeper'), [
      'sh',
      '-c',
      'pwd; cat ../../top; echo x > made',
    ]);
    assert.equal(envelope.stdout?.text, `${project}/sub/deeper\ntop\n`);
    assert.equal(envelope.workspace.origin, project);
    assert.deepEqual(
      envelope.changes.map(({ path }) => path),
      ['sub/deeper/made'],
    );
    const { changes } = (await stage.json(project, ['diff'])) as { changes: unknown[] };
    assert.equal(changes.length, 1);
  });

  turn.test('a directory that is reached by a link is the same workspace', async () => {
    const project = stage.project('echo x > x; mkdir ../links 2>/dev/null || true; ln -s "$PWD" ../links/here');
    await stage.inside(project, 'echo fork > made');
    assert.equal(await stage.inside(join(stage.directory, 'links', 'here'), 'pwd; cat made'), `${project}\nfork\n`);
    const named = join(stage.directory, 'links', 'here');
    assert.match((await stage.ctx(project, ['diff', join(named, 'made')])).stdout, /\+fork/);
    assert.equal(
      ((await stage.json(project, ['vault', 'info', named]))['vault'] as { origin: string }).origin,
      project,
    );
  });

  turn.test('an empty directory is a workspace like others', async () => {
    const project = stage.project();
    assert.equal(await stage.inside(project, 'ls -A; echo x > x'), '');
    await stage.json(project, ['apply']);
    assert.equal(stage.shell(project, 'cat x'), 'x\n');
  });

  turn.test('projects in the home, in /var/tmp and in /dev/shm work', async () => {
    const inHome = stage.makeDirectory('home/code/project');
    assert.equal(await stage.inside(inHome, 'pwd; echo x > x'), `${inHome}\n`);
    for (const root of ['/var/tmp', '/dev/shm']) {
      const place = mkdtempSync(join(root, 'ctx-test-'));
      try {
        if (isRoot) chownSync(place, user.uid, user.gid);
        const envelope = await stage.exec(place, ['sh', '-c', 'pwd; echo x > x']);
        assert.equal(envelope.stdout?.text, `${place}\n`);
      } finally {
        await assertNothingLeft(place);
        rmSync(place, { recursive: true });
      }
    }
  });

  turn.test('in a directory that has been deleted every verb says so', async () => {
    const project = stage.project();
    for (const words of ['exec -- true', 'diff', 'apply', 'hook install claude-code']) {
      const shell = `mkdir gone; cd gone; rmdir ../gone; ${stage.program} ${words} || echo "code $?"`;
      assert.match(stage.shell(project, `{ ${shell}; } 2>&1`), /has been deleted \(ENOENT\)\n.*\ncode 1\n$/);
    }
    const there = stage.project(`ln -s "$PWD" ${project}/link`);
    for (const words of [`exec --cwd ${project}/link`, `exec --live --cwd ${there}`]) {
      const shell = `mkdir gone; cd gone; rmdir ../gone; exec ${stage.program} ${words} -- pwd`;
      assert.equal(stage.shell(project, shell), `${there}\n`);
    }
  });

  turn.test('through links to it ctx is found with Node and sh alone on PATH', () => {
    const project = stage.project(`mkdir only bin; ln -s ${process.execPath} only/node; ln -s /bin/sh only/sh
      ln -s ${stage.program} one; ln -s ../one bin/ctx`);
    for (const [directory, program] of [
      [project, './bin/ctx'],
      [`${project}/bin`, 'sh ctx'],
    ] as const) {
      const [first = '', ...words] = program.split(' ').map((word) => (word === 'sh' ? '/bin/sh' : word));
      const options = {
        cwd: directory,
        env: { ...stage.environment, PATH: `${project}/only` },
        ...spawnIdentity(user),
      };
      const { stdout, stderr } = spawnSync(first, [...words, '--version'], options);
      assert.match(stdout.toString(), /^ctx \d/, stderr.toString());
    }
  });

  turn.test('a directory whose modes forbid writing, also to its owner, keeps its modes through apply', async () => {
    const project = stage.project('echo x > x; mkdir sub; echo y > sub/y; chmod 555 . sub');
    const write = 'chmod 755 . sub; echo made > made; echo z > x; echo made > sub/made; chmod 555 . sub';
    const envelope = await stage.exec(project, ['sh', '-c', write]);
    assert.equal(envelope.exitCode, 0, envelope.stderr?.text);
    assert.equal((await stage.json(project, ['apply']))['done'], true);
    assert.equal(stage.shell(project, 'cat made x sub/made; stat -c %a . sub'), 'made\nz\nmade\n555\n555\n');
    assert.equal(await stage.inside(project, 'cat sub/made; stat -c %a .'), 'made\n555\n');
    stage.shell(project, 'chmod 755 . sub');
  });

  turn.test('the person’s change of the mode of the top directory enters the fork', async () => {
    const project = stage.project('chmod 755 .');
    await stage.inside(project, 'true');
    stage.shell(project, 'chmod 750 .');
    assert.equal(await stage.inside(project, 'stat -c %a .'), '750\n');
  });

  turn.test('a changed mode of the top directory itself is reported', async () => {
    const project = stage.project();
    assert.equal((await stage.exec(project, ['chmod', '700', '.'])).changes.length, 1);
  });

  test('another user’s directory: the command works, apply says EACCES and writes nothing', {
    skip: isRoot && user.uid !== 0 ? false : 'needs root to make it, and somebody else to use it',
  }, async () => {
    const place = join(stage.directory, 'of-root');
    mkdirSync(place, { mode: 0o755 });
    chownSync(place, 0, 0);
    const { code, stderr, stdout } = await stage.ctx(place, ['exec', '--', 'sh', '-c', 'echo x > x; cat x']);
    assert.deepEqual([code, stdout], [0, 'x\n'], stderr);
    const applied = await stage.ctx(place, ['apply']);
    assert.equal(applied.code, 13, applied.stderr);
    assert.match(applied.stderr, /\(EACCES\)/);
    const { changes } = (await stage.json(place, ['diff'])) as { changes: { path: string }[] };
    assert.deepEqual(
      changes.map(({ path }) => path),
      ['x'],
    );
  });

  test('files that may not be read are left out and named', {
    skip: user.uid === 0 ? 'root may read everything' : !isRoot && 'needs root to make them',
  }, async () => {
    const project = stage.project('echo x > x');
    const hidden = join(project, 'of-root');
    mkdirSync(hidden, { mode: 0o700 });
    chownSync(hidden, 0, 0);
    const envelope = await stage.exec(project, ['ls']);
    assert.equal(envelope.warnings.length, 1, JSON.stringify(envelope.warnings));
    assert.match(envelope.warnings[0] ?? '', /of-root \(EACCES/);
  });

  test('root works as the owner of the directory: what it applies belongs to them', {
    skip: user.uid === 0 ? false : 'only root works for others',
  }, async () => {
    const project = stage.project('echo x > x; chown -R 1234:1234 .');
    assert.equal(await stage.inside(project, 'id -u; echo new > new; echo y >> x; mkdir d; ln -s x l'), '1234\n');
    await stage.json(project, ['apply']);
    assert.equal(stage.shell(project, 'stat -c %u:%g . x new d l | sort -u'), '1234:1234\n');
  });
});
