/**
 * With `--nested-namespaces` a process inside has every capability in a user namespace of its own. The walls hold: each attack is tried
 * from there, and shown to work by the same user in such a namespace outside, where the kernel lets it.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cannotCompile } from '../support/attack-program.js';
import { useWarmStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';
import { useVolley } from '../support/volley.js';

const skip = cannotCompile ?? false;
/** The kernel lets no uid 0 without capabilities map itself into a namespace: root's command is somebody else here. */
const ofSomebody = 'test $(id -u) != 0 || chown -R 64731:64731 .';
/** As root of namespaces of its own. */
const asRoot = (script: string) => `export WORLD; unshare -Urmn sh -c '${script}'`;
const kernel = 'the kernel gives it to nobody there';

forEachUser((user) => {
  const stage = useWarmStage(user);
  const volley = useVolley(stage, {
    world: `mkdir mount empty; echo secret >$WORLD/secret; echo mine >file; ${ofSomebody}`,
    programs: skip === false ? ['tracer'] : [],
    options: (world) => ['--nested-namespaces', '--read', `${world}/secret`],
  });

  const attacks: Readonly<Record<string, readonly [string, string?]>> = {
    'mount a filesystem': [asRoot('mount -t tmpfs tmpfs mount && echo won')],
    'mount an overlay': [
      asRoot(
        'mount -t tmpfs t mount && mkdir mount/u mount/w && mount -t overlay -o lowerdir=empty,upperdir=mount/u,workdir=mount/w o mount && echo won',
      ),
      kernel,
    ],
    'show a file by another name': [asRoot('mount --bind $WORLD/secret file && echo won')],
    'mount a process filesystem without masks': ["unshare -Urmpf sh -c 'mount -t proc proc mount && echo won'", kernel],
    'make a read-only mount writable': [
      asRoot('mount --bind /usr mount && mount -o remount,bind,rw mount && echo won'),
      kernel,
    ],
    'move its root': [asRoot('mount -t tmpfs t mount && mkdir mount/old && pivot_root mount mount/old && echo won')],
    'make a device': [asRoot('mknod node b 8 0 && echo won'), kernel],
    'unmount what hides something': [asRoot('umount -l /proc/kcore && echo won'), kernel],
    'write what is shown read-only': [asRoot(': >>$WORLD/secret && echo won')],
  };
  for (const [what, [script, refusedAnyway]] of Object.entries(attacks)) {
    volley.attack(`root of a nested namespace cannot ${what}`, script, {
      ...(refusedAnyway === undefined ? {} : { refusedAnyway }),
    });
  }
  volley.attack('root of a nested namespace does not get hold of pid 1', 'unshare -Ur ./tracer init', {
    skip,
    refusedAnyway: 'it is another user’s',
  });
  volley.attack('root of a nested namespace enters none of pid 1’s', 'unshare -Ur nsenter -t 1 -m true && echo won', {
    refusedAnyway: kernel,
  });

  test('namespaces of its own work where they are granted, down to the root and the network of a browser’s helpers', async () => {
    const project = stage.project(`mkdir root; ${ofSomebody}`);
    const script =
      "unshare -Urpfn sh -c 'echo pid $$; id -u; cat /proc/net/dev | grep -c :; chroot root /missing; echo $?'";
    const { stdout, stderr } = await stage.ctx(project, ['exec', '--nested-namespaces', '--', 'sh', '-c', script]);
    assert.equal(stdout, 'pid 1\n0\n1\n127\n', stderr);
  });

  test('without the grant the report says what to do', async () => {
    const { exitCode, warnings, refusals } = await stage.exec(stage.project(), ['unshare', '-Ur', 'true']);
    assert.equal(exitCode, 1);
    assert.deepEqual(
      refusals.map(({ call }) => call),
      ['unshare'],
    );
    assert.match(warnings.join('\n'), /--nested-namespaces/);
  });

  test('a directory is renamed from a nested namespace, too', async () => {
    const project = stage.project(`mkdir d; echo x >d/x; ${ofSomebody}`);
    const { stdout, stderr } = await stage.ctx(project, [
      'exec',
      '--nested-namespaces',
      '--',
      'unshare',
      '-Ur',
      'sh',
      '-c',
      'mv -T d e; cat e/x',
    ]);
    assert.equal(stdout, 'x\n', stderr);
  });
});
