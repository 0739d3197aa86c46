/** What to do about a refusal of fusermount3, by what it said. Pure. */

const seeDoctor = 'ctx doctor says what this machine lacks';

/** Its words, and what helps. */
const remedies: readonly (readonly [RegExp, (uid: number) => string])[] = [
  [
    /could not determine username/,
    (uid) => `it needs a user name for uid ${uid} in /etc/passwd: add one, or mount as root`,
  ],
  [/no write access to mountpoint/, () => 'mount on a directory of your own that you can write to'],
  [/too many FUSE filesystems/, () => 'unmount others (ctx ps lists them), or raise mount_max in /etc/fuse.conf'],
  [/filesystem type .* is forbidden/, () => 'mount on a directory of another filesystem, such as one in your home'],
  [/bad mount point|not a directory/, () => 'mount on a directory that is there'],
  [/user_allow_other/, () => 'add a line with user_allow_other to /etc/fuse.conf'],
  [
    /modprobe|\/dev\/fuse/,
    () => `load the kernel's module (modprobe fuse), and see who may open /dev/fuse; ${seeDoctor}`,
  ],
  [
    /mount failed: Operation not permitted/,
    () => 'fusermount3 has to belong to root and be set-user-ID, and containers have to allow mounts',
  ],
];

export function mountRemedy(text: string, uid: number): string {
  return remedies.find(([words]) => words.test(text))?.[1](uid) ?? seeDoctor;
}
