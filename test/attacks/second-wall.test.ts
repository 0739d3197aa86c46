/**
 * Walls that are behind others, so that in a whole jail nothing ever meets them. Here the first wall is taken away:
 * plans without a pid or network namespace, with a bind or a `/dev` that is writable by mistake, without Landlock,
 * without the filter of system calls. Each attack works where the second wall is not.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { describe, it } from 'node:test';
import type { Namespace, Operation } from '../../src/jail/operation.js';
import type { JailView } from '../../src/jail/plan.js';
import { cannotCompile, compileAttackProgram } from '../support/attack-program.js';
import { bareJail, bareUser } from '../support/bare-jail.js';

const jail = bareJail();
const noLandlock = jail.landlock > 0 ? false : 'this kernel has no Landlock';
const noScopes = jail.landlock >= 6 ? false : `Landlock has scopes since ABI 6, and this kernel has ${jail.landlock}`;

/** The plan of an ordinary jail that keeps only these namespaces. */
function planWith(
  namespaces: readonly Namespace[],
  weakened: JailView['weakened'],
  argv: readonly string[],
): Operation[] {
  const shown = { source: join(jail.base, 'shown'), target: '/shown', access: 'read only' } as const;
  const plan = jail.plan(argv, { weakened, shared: [shown] });
  // A procfs is of a pid namespace of one's own, loopback and a host name of such a namespace.
  const without = new Set<Operation['do']>([
    ...(namespaces.includes('pid') ? [] : (['proc', 'make read only', 'mask'] as const)),
    ...(namespaces.includes('network') ? [] : (['loopback'] as const)),
  ]);
  return plan
    .filter((operation) => !without.has(operation.do))
    .map((operation) => (operation.do === 'namespaces' ? { ...operation, of: namespaces } : operation));
}

const all: readonly Namespace[] = ['user', 'mount', 'pid', 'network', 'ipc', 'hostname', 'cgroup'];
const but = (missing: Namespace) => all.filter((name) => name !== missing);

/** How the same attack ends without Landlock and with it. */
async function attack(plan: (weakened: JailView['weakened']) => readonly Operation[]) {
  return { without: await jail.run(plan(['landlock', 'seccomp'])), with: await jail.run(plan(['seccomp'])) };
}

async function withVictim<T>(script: string, act: (victim: ChildProcess) => Promise<T>): Promise<T> {
  const victim = spawn('/usr/bin/python3', ['-c', script], { stdio: ['ignore', 'pipe', 'inherit'], ...bareUser });
  try {
    await once(victim.stdout as Duplex, 'data');
    return await act(victim);
  } finally {
    victim.kill('SIGKILL');
    await once(victim, 'close');
  }
}

describe('behind the namespaces', { skip: noLandlock }, () => {
  it('a process outside is not signalled', { skip: noScopes }, () =>
    withVictim('import time; print("ready", flush=True); time.sleep(60)', async ({ pid }) => {
      const codes = await attack((weakened) => planWith(but('pid'), weakened, ['sh', '-c', `kill -0 ${pid}`]));
      assert.deepEqual(codes, { without: 0, with: 1 });
    }),
  );

  it('an abstract socket outside is not connected to', { skip: noScopes }, () => {
    const name = `ctx-second-wall-${process.pid}`;
    const listen = `import socket, time; s = socket.socket(socket.AF_UNIX); s.bind("\\0${name}"); s.listen(); print("ready", flush=True); time.sleep(60)`;
    const connect = `import socket; socket.socket(socket.AF_UNIX).connect("\\0${name}")`;
    return withVictim(listen, async () => {
      const argv = ['/usr/bin/python3', '-c', connect];
      assert.deepEqual(await attack((weakened) => planWith(but('network'), weakened, argv)), { without: 0, with: 1 });
    });
  });

  it('inside, signals and abstract sockets of its own work', async () => {
    const script = `import os, signal, socket
s = socket.socket(socket.AF_UNIX); s.bind("\\0own"); s.listen()
child = os.fork()
if child == 0:
    socket.socket(socket.AF_UNIX).connect("\\0own"); signal.pause()
s.accept(); os.kill(child, signal.SIGTERM); os.waitpid(child, 0)`;
    assert.deepEqual(await attack((weakened) => planWith(all, weakened, ['/usr/bin/python3', '-c', script])), {
      without: 0,
      with: 0,
    });
  });

  it('a bind that is writable by mistake is still not written', async () => {
    const mistaken = (weakened: JailView['weakened']) =>
      planWith(all, weakened, ['sh', '-c', 'echo x > /shown/file']).map(
        (operation): Operation =>
          operation.do === 'bind' && operation.target === '/shown' ? { ...operation, attributes: [] } : operation,
      );
    const codes = await attack(mistaken);
    assert.deepEqual([codes.without, codes.with !== 0], [0, true]);
  });

  it('a single file that is granted is used in every way that a file can be, and in none that its mount refuses', async () => {
    const source = join(jail.base, 'single');
    writeFileSync(source, '#!/bin/sh\n');
    chmodSync(source, 0o777);
    if (bareUser.uid !== undefined) chownSync(source, bareUser.uid, bareUser.uid);
    const run = (access: 'read write' | 'read only', script: string) => {
      const shared = [{ source, target: '/single', access }];
      return jail.run(jail.plan(['sh', '-c', script], { weakened: ['seccomp'], shared }));
    };
    const reads = ['cat /single', '/single'];
    const writes = ['echo "#x" >> /single', 'truncate -s 10 /single', 'echo "#!/bin/sh" > /single', ': > /single'];
    for (const script of [...reads, ...writes]) assert.equal(await run('read write', script), 0, script);
    for (const script of reads) assert.equal(await run('read only', script), 0, script);
    for (const script of writes) assert.notEqual(await run('read only', script), 0, script);
  });

  it('a rule for a link that an agent planted gives nothing behind it', async () => {
    const home = join(jail.base, 'home');
    symlinkSync('/shown', join(home, 'link'));
    const mistaken = (path: string): Operation[] =>
      planWith(all, ['seccomp'], ['sh', '-c', 'echo x > /shown/file']).flatMap((operation): Operation[] => {
        if (operation.do === 'landlock') return [operation, { do: 'landlock rule', path, rights: operation.rights }];
        const isShown = operation.do === 'bind' && operation.target === '/shown';
        return [isShown ? { ...operation, attributes: [] } : operation];
      });
    assert.equal(await jail.run(mistaken('/shown')), 0, 'a rule for the directory itself gives it');
    assert.notEqual(await jail.run(mistaken('/home/user/link')), 0);
    rmSync(join(home, 'link'));
  });

  it('a /dev that is writable by mistake gets no new names', async () => {
    const writable = { do: 'tmpfs', path: '/dev', mode: 0o777, attributes: ['no setuid'] } as const;
    const mistaken = (script: string) => (weakened: JailView['weakened']) =>
      planWith(all, weakened, ['sh', '-c', script]).map(
        (operation): Operation => (operation.do === 'directory' && operation.path === '/dev' ? writable : operation),
      );
    for (const script of [
      'echo x > /dev/new',
      'mkdir /dev/new',
      'ln -s /x /dev/new',
      'mkfifo /dev/new',
      'rm /dev/fd',
    ]) {
      const codes = await attack(mistaken(script));
      assert.deepEqual([codes.without, codes.with !== 0], [0, true], script);
    }
    assert.equal(await jail.run(mistaken('echo x > /dev/null && : > /dev/shm/own')(['seccomp'])), 0);
  });

  it('a server on the jail’s own loopback is bound and connected to, on any port', async () => {
    const script = `import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); socket.create_connection(s.getsockname()).close(); s.accept()`;
    assert.equal(await jail.run(planWith(all, ['seccomp'], ['/usr/bin/python3', '-c', script])), 0);
  });
});

describe('without Landlock and without the filter', () => {
  const run = (...argv: readonly string[]) => jail.run(planWith(all, ['landlock', 'seccomp'], argv));

  it('the new root is read-only: nothing of it changes its mode or its time', async () => {
    for (const script of [
      'chmod 700 /etc',
      'chmod 777 /',
      'touch /etc',
      'chmod 600 /etc/passwd',
      'mkdir /new',
      'rm /bin',
    ])
      assert.notEqual(await run('sh', '-c', script), 0, script);
    assert.equal(await run('sh', '-c', 'chmod 700 /tmp && touch /dev/shm'), 0);
  });

  /** A plan in which `/shown` and, mounted in it, `/shown/inner` are writable; `more` comes after they are mounted. */
  const writablePlan = (script: string, ...more: readonly Operation[]) => {
    const inner = join(jail.base, 'shown', 'inner');
    mkdirSync(inner, { recursive: true });
    if (bareUser.uid !== undefined) chownSync(inner, bareUser.uid, bareUser.gid);
    const access = 'read write' as const;
    const shared = [
      { source: join(jail.base, 'shown'), target: '/shown', access },
      { source: join(jail.base, 'home'), target: '/shown/inner', access },
    ];
    const operations = [...jail.plan(['sh', '-c', script], { weakened: ['landlock', 'seccomp'], shared })];
    operations.splice(
      operations.findIndex((operation) => operation.do === 'make read only'),
      0,
      ...more,
    );
    return operations;
  };

  it('what is made read-only is so with all that is mounted in it', async () => {
    const readOnly: Operation = { do: 'make read only', path: '/shown' };
    for (const script of ['echo x > /shown/file', 'echo x > /shown/inner/file']) {
      assert.equal(await jail.run(writablePlan(script)), 0, script);
      assert.notEqual(await jail.run(writablePlan(script, readOnly)), 0, script);
    }
  });

  it('what is shown once more, read-only, is so with all that is mounted in it', async () => {
    const again = (...attributes: readonly 'read only'[]): Operation => ({
      do: 'again',
      source: '/shown',
      target: '/again',
      attributes,
    });
    for (const script of ['echo x > /again/file', 'echo x > /again/inner/file']) {
      assert.equal(await jail.run(writablePlan(script, again())), 0, script);
      assert.notEqual(await jail.run(writablePlan(script, again('read only'))), 0, script);
    }
  });

  it('what is not there is shown once more as an empty directory', async () => {
    const again: Operation = { do: 'again', source: '/shown/missing', target: '/again/here', attributes: [] };
    assert.equal(await jail.run(writablePlan('test -d /again/here && test -z "$(ls -A /again/here)"', again)), 0);
    assert.equal(await jail.run(writablePlan('test ! -e /shown/missing', again)), 0);
  });

  it('in the place of a directory that is hidden nothing can be made or changed', async () => {
    const hidden: Operation = { do: 'mask', path: '/shown/inner' };
    for (const script of ['echo x > /shown/inner/file', 'chmod 700 /shown/inner', 'touch /shown/inner']) {
      assert.equal(await jail.run(writablePlan(script)), 0, script);
      assert.notEqual(await jail.run(writablePlan(script, hidden)), 0, script);
    }
    assert.equal(await jail.run(writablePlan('test -z "$(ls -A /shown/inner)"', hidden)), 0, 'it shows nothing');
  });

  it('the first process shows a user nothing of itself', async () => {
    const own = 'sleep 60 & ls /proc/$!/fd && readlink /proc/$!/root && kill $!';
    assert.equal(await run('sh', '-c', own), 0, 'an ordinary process shows it');
    for (const look of ['ls /proc/1/fd', 'readlink /proc/1/root', 'cat /proc/1/environ', 'cat /proc/1/maps'])
      assert.notEqual(await run('sh', '-c', look), 0, look);
  });

  it('no exec gives capabilities back, were there any to give', async () => {
    // NOROOT, NO_SETUID_FIXUP, NO_CAP_AMBIENT_RAISE, and all of them and KEEP_CAPS locked.
    const script = 'import ctypes, sys; sys.exit(ctypes.CDLL(None).prctl(27, 0, 0, 0, 0) != 0xef)';
    assert.equal(await run('/usr/bin/python3', '-c', script), 0);
  });

  it('keys of the session stay outside', { skip: cannotCompile }, async (context) => {
    const program = compileAttackProgram(join(jail.base, 'shown'));
    const shown = { source: join(jail.base, 'shown'), target: '/shown', access: 'read only' } as const;
    const given = [program, 'with-key', 'a-secret-of-the-session'] as const;
    const outside = spawnSync(given[0], [...given.slice(1), program, 'read-key'], { encoding: 'utf8', ...bareUser });
    if (outside.status !== 0) return context.skip(`this host gives nobody a keyring: ${outside.stderr}`);
    const plan = jail.plan(['/shown/attack', 'read-key'], { weakened: ['landlock', 'seccomp'], shared: [shown] });
    assert.notEqual(await jail.run(plan, given), 0);
  });
});
