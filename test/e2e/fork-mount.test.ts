/** `ctx fork mount`: what an agent made, at a directory of the person's, without a command and without a copy. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { forEachMountUser, isMounted, serverOf } from '../support/mount-users.js';
import { until } from '../support/process.js';
import { useWarmStage } from '../support/stage.js';

forEachMountUser('a fork at a directory', (user) => {
  const stage = useWarmStage(user);
  let number = 0;
  const used: string[] = [];
  const mountPoint = (name = `at-${number++}`) => {
    const path = stage.makeDirectory(name);
    used.push(path);
    return path;
  };
  afterEach(async () => {
    for (const path of used.filter(isMounted)) {
      process.kill(serverOf(path), 'SIGTERM');
      await until(() => !isMounted(path), 'it is unmounted');
    }
  });
  /** Entered as that user: no one else may, and a child enters its directory before it changes its user. */
  const inside = (at: string, script: string) => stage.shell('/', `cd ${at}; ${script}`);
  const refused = async (cwd: string, words: readonly string[], expected: RegExp) => {
    const { code, stderr } = await stage.ctx(cwd, words);
    assert.notEqual(code, 0, words.join(' '));
    assert.match(stderr, expected);
  };

  test('is written by the person and by commands side by side; diff, apply and undo know what the person wrote', async () => {
    const project = stage.project('echo base > a; mkdir -p d/e; echo below > d/e/f');
    const at = mountPoint();
    await stage.inside(project, 'echo made > b');
    const said = await stage.json(project, ['fork', 'mount', 'main', at, '--writable']);
    assert.deepEqual(said, { version: 1, fork: 'main', directory: at, writable: true });
    // As an editor saves: a new file over the old one, and one written in place.
    inside(at, 'cat a b | tr "\\n" , ; echo person > a.new; mv a.new a; echo more >> d/e/f; mkdir x; ln -s b link');
    assert.equal(
      inside(at, 'cat a b d/e/f link; stat -c %u a b d x').trim(),
      ['person', 'made', 'below', 'more', 'made', user.uid, user.uid, user.uid, user.uid].join('\n'),
    );
    const beside = await stage.ctx(project, ['exec', '--', 'sh', '-c', 'cat a d/e/f; echo agent > from-agent']);
    assert.equal(beside.stdout, 'person\nbelow\nmore\n', beside.stderr);
    assert.equal(inside(at, 'cat from-agent'), 'agent\n');
    const { running } = (await stage.json(project, ['ps'])) as {
      running: { kind: string; end: string; what: string }[];
    };
    assert.deepEqual(
      running.filter(({ kind }) => kind !== 'keeper').map(({ kind, what, end }) => [kind, what, end]),
      [['fork mount', at, `ctx fork unmount ${at}`]],
    );
    for (const words of [['apply'], ['rollback'], ['drop'], ['checkpoint', 'save']])
      await refused(project, words, new RegExp(`ctx fork mount main ${at} --writable.*EBUSY`, 's'));
    await stage.json(project, ['fork', 'unmount', at]);
    assert.ok(!isMounted(at));
    const paths = async () =>
      ((await stage.json(project, ['diff'])) as { changes: { path: string }[] }).changes.map(({ path }) => path).sort();
    assert.deepEqual(await paths(), ['a', 'b', 'd/e/f', 'from-agent', 'link', 'x']);
    await stage.json(project, ['apply']);
    assert.equal(stage.shell(project, 'cat a d/e/f; stat -c %u a'), `person\nbelow\nmore\n${user.uid}\n`);
    await stage.json(project, ['apply', '--undo']);
    assert.equal(stage.shell(project, 'cat a; ls'), 'base\na\nd\n');
    await stage.json(project, ['rollback']);
    assert.deepEqual(await paths(), ['b']);
  });

  test('is read-only unless it was asked to be writable, executes nothing, and is ended by what ctx ps says', async () => {
    const project = stage.project('echo base > a');
    const at = mountPoint("it's \\ at $HOME");
    await stage.inside(
      project,
      'printf "#!/bin/sh\\necho ran\\n" > run; chmod 755 run; ln -s /etc/passwd out; ln -s a in',
    );
    await stage.json(project, ['fork', 'mount', 'main', at]);
    const script = 'cat a; echo no > a || echo refused; ./run || echo not run; cat in; cat out || echo nowhere';
    const quoted = `'${at.replaceAll("'", "'\\''")}'`;
    assert.equal(inside(quoted, `{ ${script}; } 2> /dev/null`), 'base\nrefused\nnot run\nbase\nnowhere\n');
    const { stdout } = await stage.ctx(project, ['ps']);
    const [, end = ''] = /end it: ctx (fork .*)\n/.exec(stdout) ?? [];
    stage.shell(project, `${stage.program} ${end}`);
    assert.ok(!isMounted(at));
    await stage.json(project, ['rollback']);
    assert.deepEqual((await stage.json(project, ['status']))['changes'], 0);
  });

  test('an open file that was removed is still its own; git works there', async () => {
    const project = stage.project('git init -q .; git config user.email a@b; git config user.name n; echo base > a');
    const at = mountPoint();
    await stage.inside(project, 'git add a && git commit -qm first');
    await stage.json(project, ['fork', 'mount', 'main', at, '--writable']);
    inside(at, 'exec 3<> gone; echo text >&3; rm gone; test "$(stat -Lc %h:%s /proc/self/fd/3)" = 0:5');
    inside(at, 'exec 3<> a; stat -L /proc/self/fd/3 > /dev/null; echo b >> a; stat -L /proc/self/fd/3 > /dev/null');
    assert.equal(
      inside(at, 'git -c safe.directory="*" status --short; git -c safe.directory="*" log --format=%s'),
      ' M a\nfirst\n',
    );
    await stage.json(project, ['fork', 'unmount', at]);
  });

  test('what cannot be mounted is refused, and nothing is', async () => {
    const project = stage.project('echo base > a; mkdir inside');
    const at = mountPoint();
    await stage.inside(project, 'true');
    const full = mountPoint();
    stage.shell(full, 'touch x');
    await refused(project, ['fork', 'mount', 'main', full], /ENOTEMPTY/);
    await refused(project, ['fork', 'mount', 'main', join(at, 'none', 'of')], /directory above it.*ENOENT/s);
    const made = join(at, 'made');
    await refused(project, ['fork', 'mount', 'other', made], /no fork 'other'.*ENOENT/s);
    assert.ok(!existsSync(made), 'a directory that was made for a mount that failed');
    await stage.json(project, ['fork', 'mount', 'main', made]);
    await stage.json(project, ['fork', 'unmount', made]);
    stage.shell(at, 'rmdir made');
    for (const inside of [join(project, 'inside'), join(stage.store, 'ctx', 'inside')]) {
      used.push(inside);
      await refused(project, ['fork', 'mount', 'main', inside], /inside each other.*EINVAL/s);
      assert.equal(existsSync(inside), inside.startsWith(project), 'a directory that was made in the store');
    }
    await refused(project, ['fork', 'unmount', at], /nothing is mounted there.*EINVAL/s);
    await stage.json(project, ['fork', 'mount', 'main', at]);
    await refused(project, ['fork', 'mount', 'main', at], /EBUSY/);
    await stage.json(project, ['fork', 'unmount', at]);
    assert.ok(!isMounted(at));
  });

  test('ends with its server, however that ends; what was written is in the fork', async () => {
    const project = stage.project('echo base > a');
    const at = mountPoint();
    await stage.inside(project, 'true');
    await stage.json(project, ['fork', 'mount', 'main', at, '--writable']);
    inside(at, 'echo kept > kept; sync kept');
    process.kill(serverOf(at), 'SIGKILL');
    await until(() => !isMounted(at), 'it is unmounted');
    assert.equal(await stage.inside(project, 'cat kept a'), 'kept\nbase\n');
    await stage.json(project, ['fork', 'mount', 'main', at, '--writable']);
    inside(at, 'echo more > more');
    process.kill(serverOf(at), 'SIGTERM');
    await until(() => !isMounted(at), 'it is unmounted');
    assert.equal(await stage.inside(project, 'cat kept more'), 'kept\nmore\n');
  });
});
