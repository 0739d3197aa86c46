/** The package: the same bytes each time, installed by anybody with nothing but Node and sh, and refused where a byte is not its own. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { endKeeper, keepCompany, keeperOn, leaveKeeper } from '../support/keeper.js';
import { makeFormat1 } from '../support/older-store.js';
import { checkout, temporaryRoot } from '../support/program.js';
import { Stage, useStage } from '../support/stage.js';
import { forEitherUser, isRoot, users } from '../support/users.js';

const compiler = process.arch === 'x64' ? 'aarch64-linux-gnu-gcc' : 'x86_64-linux-gnu-gcc';
const has = (program: string, word: string) => spawnSync(program, [word]).status === 0;
const skip = has(compiler, '--version') ? false : `${compiler} is not installed`;
const isSoak = process.env['CTX_SOAK'] === '1';
const built = mkdtempSync(join(temporaryRoot(), 'ctx-package-'));

/** The file it made. */
function make(form: 'npm' | 'deb', name: string, root = checkout): Promise<string> {
  const directory = join(built, name);
  mkdirSync(directory);
  const child = spawn(process.execPath, [join(root, 'scripts/package.mjs'), form, directory], { stdio: 'pipe' });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text));
  return new Promise((resolve, reject) => {
    child.once('close', (code) => {
      const [file] = readdirSync(directory);
      if (code === 0 && file !== undefined) resolve(join(directory, file));
      else reject(new Error(said));
    });
  });
}

/** The last test breaks what the others run. */
const oneByOne = { concurrency: 1 };

describe('a package', { skip }, () => {
  let files: readonly string[] = [];
  before(async () => {
    chmodSync(built, 0o755);
    files = await Promise.all([make('npm', 'first'), make('deb', 'debian')]);
  });
  after(() => rmSync(built, { recursive: true }));

  test('made once more, by npm pack, it is the same bytes', () => {
    const [first = ''] = files;
    const second = mkdtempSync(join(built, 'second-'));
    const words = ['pack', '--silent', '--pack-destination', second];
    const { status, stdout, stderr } = spawnSync('npm', words, { cwd: checkout, encoding: 'utf8' });
    assert.deepEqual([status, stdout.trim()], [0, basename(first)], stderr);
    assert.ok(readFileSync(first).equals(readFileSync(join(second, basename(first)))));
  });

  test('made of two clones at different places it is the same bytes', {
    skip: isSoak ? false : 'compiles everything twice: npm run soak',
  }, async () => {
    const made = await Promise.all(
      ['one', 'a/longer/name/of/another'].map(async (name, index) => {
        const clone = join(built, name, 'clone');
        assert.equal(spawnSync('git', ['clone', '-q', checkout, clone]).status, 0);
        symlinkSync(join(checkout, 'node_modules'), join(clone, 'node_modules'));
        return readFileSync(await make('npm', `clone-${index}`, clone));
      }),
    );
    assert.ok(made[0]?.equals(made[1] ?? Buffer.alloc(0)));
  });

  test('as a Debian package it is understood by dpkg, and runs where it is unpacked', {
    skip: !has('dpkg-deb', '--version'),
  }, () => {
    const [, file = ''] = files;
    const root = join(built, 'root');
    const dpkg = (...words: readonly string[]) => {
      const { status, stdout, stderr } = spawnSync('dpkg-deb', words, { encoding: 'utf8' });
      assert.equal(status, 0, stderr);
      return stdout;
    };
    assert.match(dpkg('--info', file), /Package: ctxfs[\s\S]*Architecture: all[\s\S]*Depends: nodejs \(>= 20\.19\)/);
    dpkg('--extract', file, root);
    for (const path of ['man/man1/ctx.1.gz', 'bash-completion/completions/ctx', 'zsh/vendor-completions/_ctx']) {
      assert.ok(readFileSync(join(root, 'usr/share', path)).length > 500, path);
    }
    const env = { PATH: process.env['PATH'], HOME: built };
    const { stdout, stderr } = spawnSync(join(root, 'usr/bin/ctx'), ['--version'], { encoding: 'utf8', env });
    assert.match(stdout, /^ctx \d+\.\d+\.\d+ \([0-9a-f]{40}(-modified)?\)\n$/, stderr);
  });

  test('it is installed, upgraded over an older store and removed by dpkg', {
    skip: !isRoot || !has('dpkg', '--version') ? 'dpkg, as root' : false,
  }, async () => {
    const [, file = ''] = files;
    const root = join(built, 'installed');
    for (const name of ['var/lib/dpkg/updates', 'var/lib/dpkg/info']) mkdirSync(join(root, name), { recursive: true });
    for (const name of ['status', 'available']) writeFileSync(join(root, 'var/lib/dpkg', name), '');
    const dpkg = (...words: readonly string[]) => {
      const all = ['--root', root, '--force-depends', ...words];
      const { status, stderr } = spawnSync('dpkg', all, { encoding: 'utf8' });
      assert.equal(status, 0, stderr);
    };
    const older = join(built, 'older');
    spawnSync('dpkg-deb', ['--raw-extract', file, older]);
    const control = join(older, 'DEBIAN/control');
    writeFileSync(control, readFileSync(control, 'utf8').replace(/^Version: .*$/m, 'Version: 0.0.1'));
    spawnSync('dpkg-deb', ['--root-owner-group', '-Znone', '--build', older, `${older}.deb`]);
    dpkg('--install', `${older}.deb`);
    const stages = users().map((user) => new Stage(user));
    try {
      for (const stage of stages) stage.set();
      const ctx = (stage: Stage, project: string, words: readonly string[]) =>
        stage.start(project, [join(root, 'usr/bin/ctx'), ...words]).finished;
      const projects = stages.map((stage) => [stage, stage.project('echo one > file')] as const);
      for (const [stage, project] of projects) {
        const { code, stderr } = await ctx(stage, project, ['exec', '--', 'sh', '-c', 'echo two > file']);
        assert.equal(code, 0, stderr);
        makeFormat1(stage, stage.store);
      }
      dpkg('--install', file);
      for (const [stage, project] of projects) {
        assert.match((await ctx(stage, project, ['doctor'])).stderr, /is now of format 2/);
        assert.equal((await ctx(stage, project, ['exec', '--', 'cat', 'file'])).stdout, 'two\n');
      }
      dpkg('--remove', 'ctxfs');
      assert.deepEqual(
        [existsSync(join(root, 'usr/lib/ctxfs')), existsSync(join(root, 'usr/bin/ctx'))],
        [false, false],
      );
      for (const stage of stages) assert.ok(existsSync(join(stage.store, 'vault')));
    } finally {
      for (const stage of stages) await stage.strike();
    }
  });

  test('all of this in a fresh Debian without a compiler, and bad packages', {
    skip: !isSoak || !isRoot || !has('debootstrap', '--version') ? 'debootstrap, as root: npm run soak' : false,
  }, () => {
    const [tarball = '', deb = ''] = files;
    const script = join(checkout, 'test/package/debian.sh');
    const { status, stdout, stderr } = spawnSync(script, [deb, tarball], { encoding: 'utf8', timeout: 1_200_000 });
    assert.equal(status, 0, stdout + stderr);
  });

  test('a tarball with a flipped byte is refused by npm, which installs nothing', async () => {
    const [file = ''] = files;
    const bytes = readFileSync(file);
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
    const flipped = join(built, 'flipped.tgz');
    writeFileSync(flipped, bytes);
    const prefix = join(built, 'prefix');
    const words = ['install', '--offline', '--global', '--prefix', prefix, flipped];
    const { status, stderr } = spawnSync(join(dirname(process.execPath), 'npm'), words, { encoding: 'utf8' });
    assert.notEqual(status, 0);
    assert.match(stderr, /npm (?:ERR!|error)/);
    assert.equal(existsSync(join(prefix, 'lib/node_modules/ctxfs/bin/ctx')), false);
  });

  forEitherUser((user) => {
    const stage = useStage(user);
    const prefix = () => join(stage.directory, 'prefix');
    const installed = () => join(prefix(), 'lib/node_modules/ctxfs');
    /** A PATH with nothing but Node and sh, and the command. */
    const path = () => `${prefix()}/bin:${stage.directory}/only`;
    const ctx = (project: string, ...words: readonly string[]) =>
      stage.start(project, [join(prefix(), 'bin/ctx'), ...words], { env: { PATH: path() } }).finished;

    before(async () => {
      stage.makeDirectory('prefix');
      const only = stage.makeDirectory('only');
      symlinkSync(process.execPath, join(only, 'node'));
      symlinkSync('/bin/sh', join(only, 'sh'));
      const npm = join(dirname(process.execPath), 'npm');
      const words = ['install', '--offline', '--global', '--prefix', prefix(), files[0] ?? ''];
      const { code, stderr } = await stage.start(stage.home, [npm, ...words]).finished;
      assert.equal(code, 0, stderr);
    });

    test('it runs right after npm has installed it, offline and without a script', async () => {
      const project = stage.project('echo before > file');
      const run = await ctx(
        project,
        'exec',
        '--',
        '/bin/sh',
        '-c',
        'read -r line < file; echo "$line"; echo after > file',
      );
      assert.deepEqual([run.code, run.stdout], [0, 'before\n'], run.stderr);
      assert.match((await ctx(project, 'diff')).stdout, /^\+after$/m);
      assert.match((await ctx(project, '--version')).stdout, /^ctx \S+ \([0-9a-f]{40}/);
      assert.ok(readFileSync(join(prefix(), 'share/man/man1/ctx.1')).length > 5_000);
      const completion = await ctx(project, 'completion', 'bash');
      assert.equal(completion.stdout, readFileSync(join(installed(), 'share/completions/ctx.bash'), 'utf8'));
    });

    test('its hook judges calls', async () => {
      const project = stage.project();
      const message = { hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: { command: 'ls' }, cwd: project };
      const argv = [join(prefix(), 'bin/ctx'), 'hook', 'claude-code'];
      const options = { env: { PATH: path() }, input: JSON.stringify(message) };
      const { code, stdout, stderr } = await stage.start(project, argv, options).finished;
      assert.equal(code, 0, stderr);
      assert.match(stdout, /"updatedInput":\{"command":"[^"]*bin\/ctx exec/);
    });

    test('a kept jail is found by the program for this machine', async () => {
      const project = stage.project();
      assert.equal((await ctx(project, 'jail', 'start')).code, 0);
      try {
        const { stdout } = await ctx(project, 'exec', '--json', '--', '/bin/true');
        assert.notEqual((JSON.parse(stdout) as { keptJail: unknown }).keptJail, null);
        // It goes on from memory, and starts programs that are on the disk.
        const tree = join(installed(), `dist/native/${process.arch}/tree`);
        const whole = readFileSync(tree);
        const replace = (bytes: Buffer) => {
          // A program that runs cannot be written into.
          writeFileSync(`${tree}.new`, bytes, { mode: 0o755 });
          renameSync(`${tree}.new`, tree);
        };
        replace(Buffer.concat([whole, Buffer.from('x')]));
        for (const words of [['exec'], ['jail', 'exec']]) {
          const { code, stderr } = await ctx(project, ...words, '--', '/bin/true');
          assert.deepEqual([code, /tree: this file is not what was packaged/.test(stderr)], [1, true], stderr);
        }
        replace(whole);
      } finally {
        await ctx(project, 'jail', 'stop');
      }
    });

    test('programs use it by its name', async () => {
      const project = stage.project();
      const script = `import { open, createVfs } from '${installed()}/dist/sdk/index.js';
        const workspace = await open();
        const { stdout } = await workspace.exec(['/bin/echo', 'hello']);
        await workspace.close();
        const tree = await createVfs({ mounts: { '/': 'chunked:notes.ctx' } });
        await tree.writeFile('/file', 'there');
        console.log(stdout.text.trim(), String(await tree.readFile('/file')));`;
      const { stdout, stderr } = await stage.start(project, [process.execPath, '--input-type=module', '-e', script])
        .finished;
      assert.match(stdout, /^hello there$/m, stderr);
    });

    test('a byte that is not its own is refused, until it is installed again', async () => {
      const project = stage.project();
      const broken = ['dist/cli/exec.cjs', `dist/native/${process.arch}/jail`, `dist/native/${process.arch}/tree`];
      for (const name of broken) {
        const file = join(installed(), name);
        const whole = readFileSync(file);
        const changed = Buffer.from(whole);
        changed[changed.length >> 1] = (changed[changed.length >> 1] ?? 0) ^ 1;
        writeFileSync(file, changed);
        const { code, stderr } = await ctx(project, 'exec', '--', '/bin/true');
        assert.notEqual(code, 0);
        assert.match(stderr, /not what was packaged/);
        assert.ok(stderr.includes(file), stderr);
        writeFileSync(file, whole);
        assert.equal((await ctx(project, 'exec', '--', '/bin/true')).code, 0);
      }
      // As a power cut leaves them: Node and a shell would run nothing, and say that it went well.
      const byDefault = () =>
        stage.start(project, [join(prefix(), 'bin/ctx'), 'exec', '--', '/bin/true'], {
          // A keeper that did not start is not tried again for a while: the one of below has another store.
          env: { PATH: path(), ...keeperOn, CTX_DATA: join(stage.directory, 'damaged') },
        }).finished;
      for (const name of ['dist/cli/ctx.cjs', `dist/native/${process.arch}/call`, 'dist/build.json']) {
        const file = join(installed(), name);
        const whole = readFileSync(file);
        for (const damage of [() => writeFileSync(file, ''), () => rmSync(file)]) {
          damage();
          const { code, stderr } = await byDefault();
          assert.deepEqual([code, stderr.includes(`${name}: this file is`)], [1, true], stderr);
          writeFileSync(file, whole, { mode: 0o755 });
        }
        assert.equal((await ctx(project, 'exec', '--', '/bin/true')).code, 0);
      }
      // A keeper has its own code in memory; the programs that it starts are on the disk.
      const company = keepCompany(user);
      const warm = (...words: readonly string[]) =>
        stage.start(project, [join(prefix(), 'bin/ctx'), ...words], { env: { PATH: path(), ...keeperOn } }).finished;
      try {
        await leaveKeeper(stage.store, () => warm('status'));
        const jail = join(installed(), `dist/native/${process.arch}/jail`);
        const whole = readFileSync(jail);
        const changed = Buffer.from(whole);
        changed[changed.length >> 1] = (changed[changed.length >> 1] ?? 0) ^ 1;
        writeFileSync(jail, changed);
        const { code, stderr: said } = await warm('exec', '--', '/bin/true');
        assert.deepEqual([code, /jail: this file is not what was packaged/.test(said)], [1, true], said);
        writeFileSync(jail, whole);
        assert.equal((await warm('exec', '--', '/bin/true')).code, 0);
      } finally {
        await endKeeper(stage.store);
        company.end();
      }
      const { stderr } = await stage.start(
        project,
        ['sh', '-c', `mv ${installed()}/dist/cli/shell.cjs .; ctx status`],
        {
          env: { PATH: `${prefix()}/bin:${process.env['PATH']}` },
        },
      ).finished;
      assert.match(stderr, /shell\.cjs: this file is not what was packaged/);
    });
  }, oneByOne);
});
