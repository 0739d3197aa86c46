/**
 * The disk of a machine: a Debian whose packages are unpacked and not set up, so that one machine can make another's; this checkout as it
 * is built; Node; and the script that is the machine's first process.
 */
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { inCheckout } from '../setup/checkout.mjs';
import { runQuietly } from '../setup/run.mjs';

const gigabytes = 3;
/** Of the virtual disk: without it the kernel does not see the disk that it could load it from. */
const diskModules = [
  'virtio',
  'virtio_ring',
  'virtio_pci_modern_dev',
  'virtio_pci_legacy_dev',
  'virtio_pci',
  'virtio_blk',
];

async function unpackDebian(name, { suite, packages }, root) {
  const include = `--include=${packages.join(',')}`;
  await runQuietly('debootstrap', ['--foreign', `--arch=${name}`, '--variant=minbase', include, suite, root]);
  const archives = join(root, 'var/cache/apt/archives');
  for (const file of readdirSync(archives).filter((each) => each.endsWith('.deb'))) {
    await runQuietly('dpkg-deb', ['--extract', join(archives, file), root]);
  }
  rmSync(archives, { recursive: true });
  rmSync(join(root, 'debootstrap'), { recursive: true, force: true });
  for (const file of ['passwd', 'group']) {
    copyFileSync(join(root, `usr/share/base-passwd/${file}.master`), join(root, 'etc', file));
  }
  writeFileSync(join(root, 'etc/hosts'), '127.0.0.1 localhost\n');
  // What the packages' own scripts would have linked.
  for (const [link, target] of [
    ['usr/bin/awk', 'mawk'],
    ['bin/sh', 'dash'],
  ]) {
    if (!existsSync(join(root, link))) symlinkSync(target, join(root, link));
  }
}

/** A Node of the machine's own kind. */
async function addNode(architecture, root) {
  const target = join(root, 'usr/local/bin/node');
  mkdirSync(dirname(target), { recursive: true });
  if (architecture === process.arch) return copyFileSync(process.execPath, target);
  const at = join(root, 'tmp/node');
  mkdirSync(at, { recursive: true });
  const wanted = `node-linux-${architecture}@${process.versions.node.split('.')[0]}`;
  await runQuietly('npm', ['install', '--no-save', '--force', '--prefix', at, wanted]);
  copyFileSync(join(at, `node_modules/node-linux-${architecture}/bin/node`), target);
  chmodSync(target, 0o755);
}

function addCheckout(architecture, root) {
  const place = join(root, 'opt/ctxfs');
  const parts = [
    'bin',
    'dist/js',
    'dist/cli',
    'docs',
    'native',
    'scripts',
    'src',
    'test',
    'node_modules',
    'package.json',
  ];
  for (const part of parts) cpSync(inCheckout(part), join(place, part), { recursive: true, verbatimSymlinks: true });
  cpSync(inCheckout('dist/packaged', architecture), join(place, 'dist/native'), { recursive: true });
}

async function initialDisk(root, version, into) {
  const place = join(dirname(into), 'initial');
  rmSync(place, { recursive: true, force: true });
  mkdirSync(join(place, 'bin'), { recursive: true });
  copyFileSync(join(root, 'bin/busybox'), join(place, 'bin/busybox'));
  const modules = join(root, 'lib/modules', version, 'kernel');
  const found = (await runQuietly('find', [modules, '-name', 'virtio*.ko*'])).trim().split('\n');
  const names = diskModules.flatMap((name) => found.filter((path) => path.includes(`/${name}.ko`)));
  names.forEach((path, index) => {
    copyFileSync(path, join(place, `${index}.ko`));
  });
  const lines = [
    '#!/bin/busybox sh',
    'busybox() { /bin/busybox "$@"; }',
    'busybox mkdir -p /proc /dev /root',
    'busybox mount -t proc proc /proc',
    'busybox mount -t devtmpfs dev /dev',
    ...names.map((_, index) => `busybox insmod /${index}.ko`),
    'busybox mount -t ext4 /dev/vda /root',
    'busybox umount /proc',
    'busybox umount /dev',
    'exec /bin/busybox switch_root /root /opt/machine/inside.sh',
  ];
  writeFileSync(join(place, 'init'), `${lines.join('\n')}\n`, { mode: 0o755 });
  await runQuietly('sh', ['-c', 'cd "$1" && find . | cpio -o -H newc --quiet | gzip -1 > "$2"', 'sh', place, into]);
}

/** Makes what is missing below `directory`; the Debian is kept for the next time, the checkout in it is not. */
export async function makeDisk(name, machine, directory, suites, log) {
  const root = join(directory, 'root');
  const [unpacked, packages] = [join(directory, 'unpacked'), [...machine.packages, 'busybox-static']];
  if (!existsSync(unpacked) || readFileSync(unpacked, 'utf8') !== packages.join(' ')) {
    log(`unpacking a Debian ${machine.suite} for ${name}`);
    rmSync(root, { recursive: true, force: true });
    mkdirSync(root, { recursive: true });
    await unpackDebian(name, { ...machine, packages }, root);
    writeFileSync(unpacked, packages.join(' '));
  }
  await addNode(machine.architecture, root);
  log('writing its disk');
  rmSync(join(root, 'opt'), { recursive: true, force: true });
  addCheckout(machine.architecture, root);
  mkdirSync(join(root, 'opt/machine'), { recursive: true });
  copyFileSync(inCheckout('scripts/machines/inside.sh'), join(root, 'opt/machine/inside.sh'));
  chmodSync(join(root, 'opt/machine/inside.sh'), 0o755);
  writeFileSync(join(root, 'opt/machine/suites'), suites.map((suite) => `${suite}\n`).join(''));
  const [version] = readdirSync(join(root, 'lib/modules'));
  const disk = join(directory, 'disk');
  rmSync(disk, { force: true });
  await runQuietly('mke2fs', ['-q', '-t', 'ext4', '-d', root, disk, `${gigabytes}G`]);
  await initialDisk(root, version, join(directory, 'initial.gz'));
  return { disk, initial: join(directory, 'initial.gz'), kernel: join(root, 'boot', `vmlinuz-${version}`) };
}
