/**
 * Landlock is a wall behind the namespaces, so in a whole jail nothing ever meets it. Here the first wall is taken away: plans
 * without a pid or network namespace, or with a bind that is writable by mistake. Without Landlock each attack works.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { describe, it } from 'node:test';
import type { Namespace, Operation } from '../../src/jail/operation.js';
import type { JailView } from '../../src/jail/plan.js';
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

  it('a server on the jail’s own loopback is bound and connected to, on any port', async () => {
    const script = `import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); socket.create_connection(s.getsockname()).close(); s.accept()`;
    assert.equal(await jail.run(planWith(all, ['seccomp'], ['/usr/bin/python3', '-c', script])), 0);
  });
});
