/** `ctx vfs mount`: a tree of the VFS at a directory, used by ordinary programs. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { hostFileSystem } from '../../src/vfs/engines/host/host.js';
import { forEachMountUser, isMounted, serverOf } from '../support/mount-users.js';
import { until } from '../support/process.js';
import { ctxProgramFor } from '../support/program.js';
import { cases, Subject } from './conformance-cases.js';
import { lockLibrary, own, scratch } from './engines.js';

forEachMountUser('a mount', (user) => {
  const place = scratch();
  let program = '';
  let number = 0;
  before(() => {
    chmodSync(place.path, 0o755);
    program = ctxProgramFor(user, place.path);
  });
  after(() => place.remove());

  const identity = user.uid === own.uid ? {} : { uid: user.uid, gid: user.gid };
  const made = (name: string) => {
    number += 1;
    const path = join(place.path, `${name}-${number}`);
    mkdirSync(path);
    chownSync(path, user.uid, user.gid);
    return path;
  };
  const environment = { HOME: place.path, PATH: process.env['PATH'], GIT_CONFIG_NOSYSTEM: '1' };
  const run = (argv: readonly string[], cwd = place.path) => {
    // Into the directory as that user: no one else may enter it, and a child enters its own before it changes its user.
    const { status, stdout, stderr } = spawnSync('sh', ['-c', 'cd "$0" && exec "$@"', cwd, ...argv], {
      cwd: '/',
      encoding: 'utf8',
      env: environment,
      ...identity,
    });
    return { status, stdout, stderr };
  };
  const vfs = (...words: readonly string[]) => run([program, 'vfs', ...words]);
  const succeeds = (...words: readonly string[]) => {
    const { status, stdout, stderr } = vfs(...words);
    assert.equal(status, 0, stderr);
    return stdout;
  };
  const shell = (cwd: string, script: string) => {
    const { status, stdout, stderr } = run(['sh', '-ec', script], cwd);
    assert.equal(status, 0, stderr);
    return stdout.trim();
  };

  test('passes the suite of the engines, and ordinary programs work on it', async () => {
    const directory = made('memory');
    succeeds('mount', 'memory:', directory, '--writable');
    try {
      shell(directory, 'mkdir cases; chmod 777 cases');
      for (const [sentence, act] of Object.entries(cases)) {
        const below = join(directory, 'cases', `c${Object.keys(cases).indexOf(sentence)}`);
        shell(directory, `mkdir ${below}; chmod 777 ${below}`);
        if (user.uid !== own.uid) break; // Without allow_other no one else may look into it.
        const filesystem = hostFileSystem({ path: below, writable: true, lockLibrary });
        await act(new Subject(filesystem)).catch((error: unknown) => {
          throw new Error(sentence, { cause: error });
        });
        await filesystem.close();
      }
      const script = [
        'git init -q repo && cd repo && for n in 1 2 3 4 5; do echo $n > f$n; done && git add . ',
        'git -c user.name=x -c user.email=x@x commit -qm one && git gc -q && git fsck --strict',
        'cd .. && tar cf all.tar repo && mkdir copy && tar xf all.tar -C copy && diff -r repo copy/repo',
        "python3 -c \"import mmap; f=open('m','w+b'); f.truncate(9000); m=mmap.mmap(f.fileno(),9000); m[8000:8005]=b'hello'; m.close()\"",
        'tail -c 1000 m | head -c 5',
      ];
      assert.equal(shell(directory, script.join('\n')), 'hello');
      assert.equal(
        shell(directory, 'touch -d 2020-01-02T03:04:05.123456789Z t; TZ=UTC stat -c %y t').slice(0, 29),
        '2020-01-02 03:04:05.123456789',
      );
    } finally {
      succeeds('unmount', directory);
    }
    assert.ok(!isMounted(directory));
  });

  test('of a chunked tree keeps what was written, and has no second writer', () => {
    const directory = made('chunked');
    const files = made('files');
    const specification = `chunked:${files}/store`;
    succeeds('mount', specification, directory, '--writable');
    shell(directory, 'echo kept > f; mkdir -p d/e; cp /bin/sh d/e/sh; cmp /bin/sh d/e/sh');
    const beside = run([program, 'vfs', 'rm', specification, '/f']);
    assert.equal(beside.status, 69);
    assert.match(beside.stderr, /EBUSY.*[\s\S]*unmount/);
    succeeds('unmount', directory);
    assert.equal(succeeds('cat', specification, '/f'), 'kept\n');
    succeeds('check', specification);
    succeeds('mount', specification, directory);
    assert.match(run(['sh', '-c', 'echo x > f'], directory).stderr, /Read-only/);
    assert.equal(shell(directory, 'cat f'), 'kept');
    succeeds('unmount', directory);
  });

  test('of what nobody else changes is read from memory of the kernel, without asking the server', () => {
    const directory = made('warm');
    succeeds('mount', 'memory:', directory, '--writable');
    try {
      shell(directory, 'mkdir d; echo warm > d/f; cat d/f; cat d/f; ls -l d/f');
      const server = serverOf(directory);
      process.kill(server, 'SIGSTOP');
      const { status, stdout } = run(['timeout', '10', 'cat', 'd/f'], directory);
      process.kill(server, 'SIGCONT');
      assert.deepEqual([status, stdout], [0, 'warm\n']);
      // What is open outlives its name, also where the server never heard of its being open.
      const script = 'exec 3<d/f; rm d/f; cat <&3; echo a > a; exec 3<a; echo b > b; mv b a; cat <&3; cat a';
      assert.equal(shell(directory, script), 'warm\na\nb');
    } finally {
      succeeds('unmount', directory);
    }
  });

  test('lets no link lead out of its tree', () => {
    const directory = made('links');
    succeeds('mount', 'memory:', directory, '--writable');
    try {
      shell(directory, `mkdir d; echo in > d/f; ln -s f d/own; ln -s ../d/f d/up; ln -s ${directory}/d/f abs`);
      assert.equal(shell(directory, 'cat d/own d/up abs'), 'in\nin\nin');
      shell(directory, 'ln -s /etc/passwd a; ln -s ../../../../etc/passwd d/b; ln -s . here; ln -s here/../../etc c');
      for (const name of ['a', 'd/b', 'c']) assert.match(run(['cat', name], directory).stderr, /No such file/, name);
    } finally {
      succeeds('unmount', directory);
    }
  });

  test('of a table is one tree: an overlay, links that stay in their part, and mounts that stay where they are', () => {
    const directory = made('table');
    const files = made('files');
    shell(
      files,
      'mkdir -p base/d; echo base > base/d/f; ln -s ../../top base/d/up; ln -s f base/d/own; echo 1 > base/x',
    );
    const text = '[mount]\n"/" = "chunked:root"\n[mount."/a/work"]\nupper = "chunked:changes"\nlower = "host:base"\n';
    writeFileSync(join(files, 'vfs.toml'), text);
    succeeds('mount', `${files}/vfs.toml`, directory, '--writable');
    try {
      shell(
        directory,
        'echo top > top; echo top > a/top; cd a/work; echo new > n; mv d e; rm x; mkdir x; echo more >> e/f',
      );
      assert.equal(
        shell(directory, 'ls a/work; ls a/work/x; cat a/work/e/f a/work/e/own; ls'),
        'e\nn\nx\nbase\nmore\nbase\nmore\na\ntop',
      );
      assert.match(run(['cat', 'a/work/e/up'], directory).stderr, /No such file/, 'the link leads out of its part');
      for (const words of [
        ['rmdir', 'a/work'],
        ['mv', 'a', 'b'],
      ]) {
        assert.match(run(words, directory).stderr, /busy/, words.join(' '));
      }
      assert.equal(shell(directory, 'mv top a/work/top; cat a/work/top'), 'top', 'mv copies what it cannot rename');
    } finally {
      succeeds('unmount', directory);
    }
    assert.equal(shell(files, 'ls base; cat base/d/f'), 'd\nx\nbase');
    assert.equal(succeeds('cat', `${files}/vfs.toml`, '/a/work/e/f'), 'base\nmore\n');
  });

  test('of a host directory shows by path what others change there, at once', () => {
    const directory = made('coherent');
    const host = made('host');
    succeeds('mount', `host:${host}`, directory, '--writable');
    // One process makes the changes beside the mount and looks through it: nothing comes in between.
    const script = `
import fcntl, os, sys
host, at = sys.argv[1:]
def size(path): return os.stat(path).st_size
for n in range(100):
    for name in ('f', 'd', 'd/f', 'g', 'e'): assert not os.path.lexists(f'{at}/{name}'), (n, name)
    os.mkdir(f'{host}/d')
    for name in ('f', 'd/f'):
        open(f'{host}/{name}', 'w').write('x' * (n + 1))
        assert size(f'{at}/{name}') == n + 1 and open(f'{at}/{name}').read() == 'x' * (n + 1), n
        open(f'{host}/{name}', 'a').write('y')
        assert size(f'{at}/{name}') == n + 2 and open(f'{at}/{name}').read()[-1] == 'y', n
    seen = open(f'{at}/f', 'r+b', buffering=0)
    open(f'{host}/f', 'a').write('grown')
    fcntl.lockf(seen, fcntl.LOCK_EX)
    assert os.fstat(seen.fileno()).st_size == n + 7 and seen.read()[-5:] == b'grown', n
    seen.close()
    os.chmod(f'{host}/f', 0o600); assert os.stat(f'{at}/f').st_mode & 0o777 == 0o600, n
    os.rename(f'{host}/f', f'{host}/g'); assert not os.path.exists(f'{at}/f') and size(f'{at}/g') == n + 7, n
    os.rename(f'{host}/d', f'{host}/e'); assert not os.path.exists(f'{at}/d') and size(f'{at}/e/f') == n + 2, n
    os.unlink(f'{at}/e/f'); assert not os.path.exists(f'{host}/e/f'), n
    os.rmdir(f'{host}/e'); assert not os.path.exists(f'{at}/e'), n
    os.unlink(f'{host}/g'); assert not os.path.exists(f'{at}/g'), n
`;
    try {
      const { status, stderr } = run(['python3', '-c', script, host, directory]);
      assert.equal(status, 0, stderr);
    } finally {
      succeeds('unmount', directory);
    }
  });

  test('whose server is killed or ended is gone, and its users get an error', async () => {
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      const directory = made('ended');
      succeeds('mount', 'memory:', directory, '--writable');
      const server = serverOf(directory);
      const script = 'cd "$0"; exec 3> f; echo ready; read line; echo more >&3';
      const inside = spawn('sh', ['-c', script, directory], {
        cwd: '/',
        stdio: ['pipe', 'pipe', 'ignore'],
        ...identity,
      });
      await new Promise((resolve) => inside.stdout.once('data', resolve));
      process.kill(server, signal);
      await until(() => !isMounted(directory), 'it is unmounted');
      inside.stdin.end('go\n');
      const code = await new Promise((resolve) => inside.once('close', resolve));
      assert.notEqual(code, 0, signal);
      await until(() => !existsSync(`/proc/${server}`), 'its server is gone');
    }
  });

  // Before the kernel is asked anything, so it is the same for everybody.
  const once = user.uid === own.uid ? {} : { skip: 'the first user has shown it' };
  test('is refused before anything is mounted where it cannot be right', once, () => {
    const directory = made('refused');
    const full = made('full');
    writeFileSync(join(full, 'f'), 'x');
    const refused = (status: number, text: RegExp, ...words: readonly string[]) => {
      const answer = vfs(...words);
      assert.equal(answer.status, status, answer.stderr);
      assert.match(answer.stderr, text);
    };
    refused(2, /unknown engine/, 'mount', 'gopher:x', directory);
    refused(1, /ENOTEMPTY/, 'mount', 'memory:', full);
    refused(1, /ENOENT/, 'mount', 'memory:', join(directory, 'nothing', 'below'));
    refused(1, /ENOENT/, 'mount', 'chunked:nothing', join(directory, 'made'));
    assert.deepEqual(readdirSync(directory), [], 'a directory that was made for it is gone again');
    succeeds('mount', 'memory:', join(directory, 'made'));
    succeeds('unmount', join(directory, 'made'));
    rmdirSync(join(directory, 'made'));
    refused(1, /ENOENT/, 'mount', 'chunked:nothing', directory);
    refused(2, /inside each other/, 'mount', `host:${place.path}`, directory);
    refused(2, /inside each other/, 'mount', `chunked:${directory}/store`, directory, '--writable');
    refused(2, /nothing is mounted/, 'unmount', directory);
    assert.ok(!isMounted(directory));
    succeeds('mount', `host:${full}`, directory);
    refused(69, /EBUSY/, 'mount', 'memory:', directory);
    assert.equal(shell(directory, 'cat f'), 'x');
    writeFileSync(join(full, 'f'), 'changed outside');
    assert.equal(shell(directory, 'cat f'), 'changed outside');
    assert.match(run(['sh', '-c', 'rm f'], directory).stderr, /Read-only/);
    succeeds('unmount', directory);
  });
});
