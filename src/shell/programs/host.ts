/** Programs that reach for the host: privileges, namespaces, mounts, daemons, devices, the system's packages. */
import { each, type Program, type Programs } from '../program.js';

const privileges = 'asks for privileges, and nothing in a jail can gain any; run it yourself, outside';
const namespaces = 'makes or enters namespaces, which the jail refuses; the jail is the sandbox already';
const containers = 'speaks to a daemon that acts on the host as root; run it yourself, outside';
const devices = 'works on mounts and devices of the host, of which a jail has none';
const services = 'acts through services of the host, outside of the jail and after it has ended';
const system = 'changes the system, which is read-only in a jail; install it yourself, outside, and it is there';
const accounts = 'changes accounts of the host';
const kernel = 'changes or traces the running kernel';

const installs: Program = {
  is: 'hn',
  why: system,
  subcommands: each('list show search policy depends rdepends info query files help version', { is: 'r' }),
  otherwise: { is: 'hn', why: system },
};

const userValues = '-u -g -h -p -C -r -t -T -U -D -R --user --group --host --prompt --chdir --chroot --role --type';

export const hostPrograms: Programs = {
  ...each('sudo doas pkexec', { is: 'h', why: privileges, runs: 0, assignments: true, values: userValues }),
  su: { is: 'h', why: privileges, text: '-c --command', values: '-s -g -G -w --shell' },
  ...each('runuser sg', { is: 'h', why: privileges, text: '-c --command', runs: 0, values: '-u -g -G -s' }),
  ...each('newgrp login setuidgid su-exec gosu', { is: 'h', why: privileges }),
  ...each(
    'docker docker-compose podman podman-compose nerdctl lxc lxc-attach lxc-start crictl ctr runc crun buildah skopeo kind minikube',
    {
      is: 'h',
      why: containers,
    },
  ),
  ...each('nsenter', { is: 'h', why: namespaces, runs: 0, values: '-t -S -G --target' }),
  ...each('unshare', { is: 'h', why: namespaces, runs: 0, values: '-R -w -S -G --map-user --map-group' }),
  ...each('bwrap firejail nsjail', { is: 'h', why: namespaces }),
  chroot: { is: 'h', why: namespaces, runs: 1 },
  ...each(
    'mount umount fusermount fusermount3 pivot_root losetup mkswap swapon swapoff fdisk sfdisk cfdisk gdisk parted',
    {
      is: 'h',
      why: devices,
    },
  ),
  ...each(
    'cryptsetup lvcreate lvremove vgcreate pvcreate mdadm zpool zfs btrfs blkdiscard hdparm nvme badblocks mknod',
    {
      is: 'h',
      why: devices,
    },
  ),
  ...each('mkfs mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat mke2fs wipefs mkswap', {
    is: 'hd',
    why: devices,
  }),
  ...each('modprobe insmod rmmod depmod kexec bpftool tcpdump tshark dumpcap gcore kmod bpftrace stap', {
    is: 'h',
    why: kernel,
  }),
  sysctl: { is: 'r', with: { '-w --write -p --load --system': 'h' }, matching: { '=': 'h' }, why: kernel },
  ...each(
    'systemctl service systemd-run loginctl machinectl busctl dbus-send gdbus crontab at batch atd cron initctl rc-service',
    {
      is: 'h',
      why: services,
    },
  ),
  ...each('reboot shutdown poweroff halt init telinit', { is: 'h', why: services }),
  ...each('iptables ip6tables iptables-restore nft ufw firewall-cmd tc brctl wg wg-quick openvpn', {
    is: 'h',
    why: kernel,
  }),
  ip: { is: 'r', matching: { '^(set|add|del|delete|flush|replace|change|exec)$': 'h' }, why: kernel },
  ifconfig: { is: 'r', operands: { 2: 'h' }, why: kernel },
  ...each(
    'useradd userdel usermod adduser deluser groupadd groupdel groupmod passwd chpasswd visudo vipw chage gpasswd',
    {
      is: 'h',
      why: accounts,
    },
  ),
  ...each('setcap capsh chattr', { is: 'h', why: privileges }),
  ...each(
    'apt apt-get aptitude yum dnf zypper apk pacman brew snap flatpak port emerge xbps-install nix-env',
    installs,
  ),
  nix: { is: 'mn' },
  dpkg: {
    is: 'h',
    why: system,
    only: { '-l --list -L --listfiles -s --status -S --search -I --info -c --contents --print-architecture': 'r' },
  },
  rpm: { is: 'h', why: system, only: { '-q --query -V --verify': 'r' } },
  ...each('update-alternatives ldconfig update-grub grub-install dracut mkinitramfs', { is: 'h', why: system }),
};
