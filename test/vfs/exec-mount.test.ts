/** `ctx exec --mount`: trees of the VFS inside a jail, each served by a process outside of it. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Envelope } from '../../src/proxy/report/envelope.js';
import { noneIsLeft, reasonToSkip, serversOf } from '../support/fuse-in-jail.js';
import { parseJson, type Stage, useWarmStage } from '../support/stage.js';
import { forUsersInTurn } from '../support/users.js';

async function exec(stage: Stage, cwd: string, mounts: readonly string[], script: string): Promise<Envelope> {
  const words = mounts.map((mount) => `--mount=${mount}`);
  const { stdout, stderr } = await stage.ctx(cwd, ['exec', '--json', ...words, '--', 'sh', '-euc', script]);
  return parseJson(stdout, stderr) as Envelope;
}

async function output(stage: Stage, cwd: string, mounts: readonly string[], script: string): Promise<string> {
  const { exitCode, stdout, stderr } = await exec(stage, cwd, mounts, script);
  assert.equal(exitCode, 0, `${script}\n${stdout?.text}${stderr?.text}`);
  return stdout?.text ?? '';
}

const programs = [
  'mkdir work && cd work && git init -q repo && cd repo && for n in 1 2 3; do echo $n > f$n; done && git add .',
  'git -c user.name=x -c user.email=x@x commit -qm one && git fsck --strict && cd ..',
  'tar cf all.tar repo && mkdir copy && tar xf all.tar -C copy && diff -r repo copy/repo',
  "python3 -c \"import mmap; f=open('m','w+b'); f.truncate(9000); m=mmap.mmap(f.fileno(),9000); m[8000:8005]=b'hello'; m.close()\"",
  'mkdir -p from/within && mv from to && test -d to/within && cp /bin/true own && ./own',
  'tail -c 1000 m | head -c 5; cd ../..',
].join('\n');

forUsersInTurn((user, turn) => {
  const skip = reasonToSkip(user);
  describe('a mount in a jail', skip === undefined ? { concurrency: 4 } : { skip }, () => {
    const stage = useWarmStage(user);

    test('is a tree that programs work on; a chunked one is there afterwards, and the report says what changed', async () => {
      const cwd = stage.project();
      const file = join(stage.makeDirectory('kept'), 'store');
      const mounts = ['memory:=/mnt/memory:rw', `chunked:${file}=/mnt/chunked:rw`];
      const script = `cd /mnt/memory\n${programs}\ncd /mnt/chunked\n${programs}\nstat -c %u:%g /mnt/chunked/work; id -u`;
      const { exitCode, stdout, stderr, changes, warnings, mounts: mounted } = await exec(stage, cwd, mounts, script);
      assert.equal(exitCode, 0, stderr?.text);
      assert.equal(stdout?.text, `hellohello${user.uid}:${user.gid}\n${user.uid}\n`);
      assert.deepEqual(changes, []);
      assert.ok(
        warnings.includes('what it wrote to /mnt/memory (memory:) was lost when it ended'),
        warnings.join('\n'),
      );
      const [inMemory, inChunks] = mounted ?? [];
      assert.deepEqual([inMemory?.target, inChunks?.target, inChunks?.undoable], ['/mnt/memory', '/mnt/chunked', true]);
      assert.ok(inChunks?.changes?.some(({ kind, path }) => kind === 'added' && path === 'work/repo/f1'));
      const kept = await stage.ctx(cwd, ['vfs', 'cat', `chunked:${file}`, '/work/repo/f2']);
      assert.equal(kept.stdout, '2\n', kept.stderr);
      assert.equal((await stage.ctx(cwd, ['vfs', 'check', `chunked:${file}`])).code, 0);
      const again = await output(stage, cwd, [`chunked:${file}=/mnt/chunked`], 'cat /mnt/chunked/work/repo/f3');
      assert.equal(again, '3\n');
    });

    test('is held to its modes by the kernel, for whoever looks from inside', async () => {
      const script = `umask 077; cd /mnt/memory; echo x > f; chmod 000 f; mkdir d; echo y > d/y; chmod 000 d
        cat f 2>&1 || true; cat d/y 2>&1 || true; { echo z > f; } 2>&1 || true; chmod 600 f; cat f`;
      const said = await output(stage, stage.project(), ['memory:=/mnt/memory:rw'], script);
      assert.match(said, /^(.*Permission denied\n){3}x\n$/);
    });

    turn.test('is taken back with the fork where it can be, and the report says where it cannot', async () => {
      const cwd = stage.project('echo base > a');
      const notes = join(stage.makeDirectory('undone'), 'notes');
      const host = stage.makeDirectory('undone-host');
      stage.shell(host, 'chmod 777 .');
      const mounts = [`chunked:${notes}=/mnt/notes:rw`];
      const cat = (path: string) =>
        stage.ctx(cwd, ['vfs', 'cat', `chunked:${notes}`, path]).then(({ stdout }) => stdout);
      await output(stage, cwd, mounts, 'echo one > /mnt/notes/f');
      const second = await exec(stage, cwd, mounts, 'echo two > /mnt/notes/f; echo new > /mnt/notes/g; echo fork > a');
      assert.deepEqual(second.mounts?.[0]?.changes, [
        { kind: 'modified', path: 'f' },
        { kind: 'added', path: 'g' },
      ]);
      assert.deepEqual(second.warnings, []);
      const looked = await exec(stage, cwd, mounts, 'cat /mnt/notes/f');
      assert.deepEqual([looked.mounts?.[0]?.changes, looked.warnings], [[], []]);
      const back = await stage.json(cwd, ['rollback']);
      assert.deepEqual(back['trees'], [{ file: notes, problem: null }]);
      assert.equal(await cat('/f'), 'one\n');
      // The rollback is undone by its checkpoint, the tree too.
      const { checkpoints } = (await stage.json(cwd, ['checkpoint', 'list'])) as { checkpoints: { id: number }[] };
      await stage.json(cwd, ['rollback', String(checkpoints.at(-1)?.id)]);
      assert.equal(await cat('/f'), 'two\n');
      assert.equal(await stage.inside(cwd, 'cat a'), 'fork\n');
      // What somebody else changed since is not taken back, and that is said.
      await output(stage, cwd, mounts, 'echo three > /mnt/notes/f');
      await stage.ctx(cwd, ['vfs', 'put', `chunked:${notes}`, '/mine'], { input: 'mine' });
      const kept = (await stage.json(cwd, ['rollback'])) as { trees: { problem: string | null }[] };
      assert.match(kept.trees[0]?.problem ?? '', /has been changed since.*ESTALE/);
      assert.equal(await cat('/f'), 'three\n');
      const direct = await exec(stage, cwd, [`host:${host}=/mnt/host:rw`], 'echo x > /mnt/host/x');
      assert.deepEqual(direct.mounts?.[0], {
        specification: `host:${host}`,
        target: '/mnt/host',
        changes: [{ kind: 'added', path: 'x' }],
        more: 0,
        undoable: false,
      });
      assert.match(direct.warnings.join('\n'), /\/mnt\/host .* is not undone by ctx rollback/);
      assert.equal((await stage.ctx(cwd, ['vfs', 'check', `chunked:${notes}`])).code, 0);
    });

    test('is read-only without :rw, and gives nobody the rights of its server', async () => {
      const cwd = stage.project('mkdir shown; echo mine > shown/f; chmod 600 shown/f');
      const reading = await output(
        stage,
        cwd,
        [`host:${cwd}/shown=/mnt/shown`],
        'cat /mnt/shown/f; if echo x > /mnt/shown/f; then exit 9; fi 2>/dev/null; if mkdir /mnt/shown/d; then exit 9; fi 2>/dev/null',
      );
      assert.equal(reading, 'mine\n');
      const modes = await output(
        stage,
        cwd,
        [`host:${cwd}/shown=/mnt/shown:rw`],
        `cd /mnt/shown; cp /bin/true own; python3 -c "import os; os.chmod('own', 0o6755)"; stat -c %a own; echo more >> f`,
      );
      assert.equal(modes, '755\n');
      assert.equal(stage.shell(cwd, 'stat -c %a:%u shown/own; cat shown/f'), `755:${user.uid}\nmine\nmore\n`);
    });

    turn.test('of a table has an overlay that programs work on, and hides what every jail hides', async () => {
      const cwd = stage.project('mkdir shown; echo mine > shown/f');
      const kept = stage.makeDirectory('tables');
      const table = (name: string, lower: string) => {
        const text = `[mount."/o"]\nupper = "chunked:${name}.ctx"\nlower = "host:${lower}"\n[mount]\n"/m" = "memory:"\n`;
        stage.shell(kept, `cat > ${name}.toml <<'E'\n${text}E`);
        return `${join(kept, name)}.toml`;
      };
      const mount = `${table('shown', `${cwd}/shown`)}=/mnt/table:rw`;
      const script = `cd /mnt/table/o; cat f; echo more >> f; cd ../m; ${programs}; cd /mnt/table/o; ${programs}`;
      assert.equal(await output(stage, cwd, [mount], script), 'mine\nhellohello');
      assert.equal(await output(stage, cwd, [mount], 'cat /mnt/table/o/f; ls /mnt/table/m'), 'mine\nmore\n');
      assert.equal(stage.shell(cwd, 'cat shown/f'), 'mine\n');
      const hidden = ['exec', '--mount', `${table('hidden', stage.directory)}=/mnt/x`, '--', 'true'];
      assert.match((await stage.ctx(cwd, hidden)).stderr, /hidden from every command/);
    });

    test('lets no link lead out of it', async () => {
      const links = [
        'cd /mnt/links; mkdir -p a/b; echo within > f; ln -s ../../f a/b/up; ln -s /mnt/links/f whole',
        'ln -s /etc/passwd out; ln -s ../../etc/passwd above; ln -s a/../../../etc/passwd through',
        'cat a/b/up whole; for link in out above through; do if cat $link; then exit 9; fi 2>/dev/null; done',
      ];
      assert.equal(
        await output(stage, stage.project(), ['memory:=/mnt/links:rw'], links.join('\n')),
        'within\nwithin\n',
      );
    });

    turn.test('of which the server is killed gives errors, and everything ends', async () => {
      const target = `/mnt/killed-${user.uid}-${process.pid}`;
      // What the kernel remembers it shows without its server: writing asks.
      const script = `while echo a | tee ${target}/f; do sleep 0.02; done; ls ${target}; exit 7`;
      const words = ['exec', '--report=always', `--mount=memory:=${target}:rw`, '--', 'sh', '-c', script];
      const running = stage.startCtx(stage.project(), words);
      await running.printed('a\n');
      const [server, ...others] = serversOf(target);
      assert.ok(server !== undefined && others.length === 0);
      process.kill(server, 'SIGKILL');
      const { code, stderr } = await running.finished;
      assert.equal(code, 7, stderr);
      assert.match(stderr, /not connected/);
      assert.match(stderr, /the server of .* ended with SIGKILL/);
      await noneIsLeft(target);
    });

    turn.test('ends with ctx, however that ends', async () => {
      const target = `/mnt/ended-${user.uid}-${process.pid}`;
      const words = [
        'exec',
        `--mount=memory:=${target}:rw`,
        '--',
        'sh',
        '-c',
        `echo a > ${target}/f; cat ${target}/f; sleep 500`,
      ];
      const running = stage.startCtx(stage.project(), words);
      await running.printed('a\n');
      assert.equal(serversOf(target).length, 1);
      running.child.kill('SIGKILL');
      await running.finished;
      await noneIsLeft(target);
    });

    turn.test('that cannot be is refused before anything runs', async () => {
      const cwd = stage.project('mkdir inside');
      const file = join(stage.makeDirectory('none'), 'store');
      const refused: readonly (readonly [number, RegExp, readonly string[]])[] = [
        [2, /unknown engine 'tape'/, ['--mount', 'tape:=/mnt/x']],
        [2, /expected SPEC=TARGET/, ['--mount', 'memory:']],
        [2, /the jail uses \/usr/, ['--mount', 'memory:=/usr/lib']],
        [2, /shown to the command/, ['--mount', `memory:=${cwd}/inside`]],
        [2, /shown to the command/, ['--live', '--mount', `memory:=${cwd}/inside`]],
        [2, /hidden from every command/, ['--mount', `host:${stage.directory}=/mnt/x`]],
        [2, /it overlaps with/, ['--mount', 'memory:=/mnt/x', '--mount', 'memory:=/mnt/x/y']],
        [1, /expected the file of a chunk store/, ['--mount', 'memory:=/mnt/y', '--mount', `chunked:${file}=/mnt/x`]],
      ];
      for (const [expected, message, words] of refused) {
        const { code, stdout, stderr } = await stage.ctx(cwd, ['exec', ...words, '--', 'echo', 'ran']);
        assert.equal(code, expected, `${words.join(' ')}\n${stderr}`);
        assert.match(stderr, message);
        assert.equal(stdout, '');
      }
    });
  });
});
