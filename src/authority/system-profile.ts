/**
 * The system profile: what programs need to run, the same in every surface, so that hook, guard and jail agree on it.
 * Data only. Whether a path exists on this host is somebody else's question.
 */

/** Read-only software directories; on a merged-usr host all but `/usr` are links into it. */
export const systemDirectories = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'] as const;

/**
 * Files and directories of `/etc` that are shown as they are: what common programs fail without, and no more, since each is
 * a mount. None holds a secret: what does (shadow, ssh keys, sudoers,
 * TLS private keys, machine-id) is not listed, and what is not listed does not exist in the jail.
 */
export const systemConfiguration: readonly (string | RegExp)[] = [
  'alternatives',
  'chromium.d/default-flags',
  'chromium.d/dev-shm',
  'chromium.d/extensions',
  'crypto-policies',
  'fonts',
  'groff',
  /^java-[0-9a-z-]+$/,
  'ld.so.cache',
  'localtime',
  'manpath.config',
  'maven/logging',
  'maven/m2.conf',
  'mime.types',
  'os-release',
  'pki/ca-trust',
  'pki/tls/cert.pem',
  'pki/tls/certs',
  'pki/tls/openssl.cnf',
  'protocols',
  'services',
  'ssl/certs',
  'ssl/openssl.cnf',
];

/**
 * Shown read-only where the host has them: which processors and memory there are (`nproc`, `lscpu`, Java, allocators; /proc/cpuinfo and
 * /proc/meminfo say the same), which package a file is of, and the index of manual pages. No other part of /sys: it has serial
 * numbers, and files that reach devices.
 */
export const systemFacts = [
  '/sys/devices/system/cpu',
  '/sys/devices/system/node',
  '/var/cache/man',
  '/var/lib/dpkg',
  '/var/lib/pacman/local',
] as const;

/** Directories of `/etc` of which a part is shown: private keys lie beside the certificates, passwords in Maven's settings, keys in Chromium's. */
export const partlyShownConfiguration = ['ssl', 'pki', 'pki/tls', 'maven', 'chromium.d'] as const;

/** Whether the entry `/etc/NAME` belongs to the profile; NAME may lie in a partly shown directory. */
export function isSystemConfiguration(name: string): boolean {
  return systemConfiguration.some((entry) => (typeof entry === 'string' ? entry === name : entry.test(name)));
}

export interface Person {
  readonly uid: number;
  readonly gid: number;
  readonly name: string;
  readonly group: string;
  readonly home: string;
}

const nobody = 65534;
const nowhere = '/nonexistent';

/** A line of passwd cannot say a path with these characters; HOME can. */
function homeField(home: string): string {
  return /[:\n]/.test(home) ? nowhere : home;
}

/** The files of `/etc` that are made, not shown: they name the person and no one else, and no password hash. */
export function madeConfiguration(person: Person, hostName: string): ReadonlyMap<string, string> {
  const users = [`${person.name}:x:${person.uid}:${person.gid}::${homeField(person.home)}:/bin/sh`];
  const groups = [`${person.group}:x:${person.gid}:`];
  if (person.uid !== 0) users.unshift(`root:x:0:0::${nowhere}:/bin/false`);
  if (person.gid !== 0) groups.unshift('root:x:0:');
  if (person.uid !== nobody) users.push(`nobody:x:${nobody}:${nobody}::${nowhere}:/bin/false`);
  if (person.gid !== nobody) groups.push(`nogroup:x:${nobody}:`);
  return new Map([
    ['/etc/passwd', `${users.join('\n')}\n`],
    ['/etc/group', `${groups.join('\n')}\n`],
    ['/etc/hosts', `127.0.0.1 localhost ${hostName}\n::1 localhost ${hostName}\n`],
    ['/etc/hostname', `${hostName}\n`],
    ['/etc/nsswitch.conf', 'passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n'],
  ]);
}

/** Devices every program expects; none of them stores anything. */
export const systemDevices = [
  '/dev/null',
  '/dev/zero',
  '/dev/full',
  '/dev/random',
  '/dev/urandom',
  '/dev/tty',
] as const;

/**
 * Kernel state a jail must not change or read, whatever the mode bits say. Most of /proc is root's alone to write, and no
 * process of a jail is root outside it; these are shut a second time.
 */
export const protectedKernelPaths = {
  readOnly: ['/proc/sys'],
  hidden: ['/proc/kcore', '/proc/keys', '/proc/sysrq-trigger', '/proc/timer_list'],
} as const;
