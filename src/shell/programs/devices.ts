/** Programs that work on mounts, disks and filesystems. A filesystem in a file of the workspace is a file; `read-tool` tells them apart. */
import { each, type Program, type Programs } from '../program.js';

const devices = 'works on mounts and devices of the host, which a jail does not have';

export const makesFilesystem: Program = {
  is: 'd',
  why: 'overwrites what it is given',
  values:
    '-b -C -E -f -g -G -i -I -J -L -m -M -N -o -O -r -s -t -T -U -z -d -l -n --type --label --rootdir --uuid -S -p --sector-size',
};

export const devicePrograms: Programs = {
  mount: {
    is: 'h',
    why: devices,
    asking: '^$',
    with: { '-a --all -L --label -U --uuid --source --target --mkdir': 'h' },
    values: '-t --types -o --options -O --test-opts -L -U --source --target',
  },
  ...each('umount fusermount fusermount3 pivot_root cfdisk gdisk', { is: 'h', why: devices }),
  losetup: {
    is: 'h',
    why: devices,
    asking: '^$',
    with: { '-f --find -d -D --detach --detach-all -c': 'h' },
    only: { '-l --list -a --all -j': 'r' },
  },
  ...each('swapon swapoff', { is: 'h', why: devices, only: { '-s --summary --show': 'r' } }),
  ...each('fdisk sfdisk', {
    is: 'h',
    why: devices,
    only: { '-l --list -d --dump -s --getsz -F -J --json --verify': 'r' },
  }),
  parted: { is: 'h', why: devices, only: { '-l --list': 'r' }, asking: '^[^ ]+ print( |$)' },
  cryptsetup: { is: 'h', why: devices, asking: '^(luksDump|isLuks|luksUUID|status|benchmark)( |$)' },
  ...each('zpool zfs btrfs', {
    is: 'h',
    why: devices,
    asking: '^(list|status|get|iostat|history|version|\\S+ (list|show|df|usage|du|stats|status))( |$)',
  }),
  mdadm: { is: 'h', why: devices, only: { '-D --detail -Q --query -E --examine': 'r' } },
  nvme: { is: 'h', why: devices, asking: '^(list|version|smart-log|id-ctrl)( |$)' },
  hdparm: { is: 'h', why: devices, only: { '-I -i': 'r' } },
  ...each('lvcreate lvremove vgcreate pvcreate blkdiscard badblocks', { is: 'h', why: devices }),
  /** A pipe is a file; every other kind of node is a device. */
  mknod: { is: 'm', matching: { '^[bcu]$': 'h' }, values: '-m --mode', why: devices },
};
