/** The users that suites of mounts run as: fusermount3 serves only those that have a name. */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, readFileSync } from 'node:fs';
import { describe } from 'node:test';
import { isRoot, type TestUser } from './users.js';

const own = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

const users: readonly TestUser[] = isRoot
  ? [
      { name: 'root', uid: 0, gid: 0 },
      { name: 'an unprivileged user', uid: 65_534, gid: 65_534 },
    ]
  : [{ name: 'an unprivileged user', ...own }];

function reasonToSkip(user: TestUser): string | undefined {
  const named = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .some((line) => line.split(':')[2] === String(user.uid));
  if (!named) return `uid ${user.uid} has no name, which fusermount3 asks for`;
  if (spawnSync('fusermount3', ['-V']).status !== 0) return 'fusermount3 is not installed';
  try {
    accessSync('/dev/fuse', constants.R_OK | constants.W_OK);
    return undefined;
  } catch {
    return '/dev/fuse cannot be opened here';
  }
}

/** Of this process: root mounts without fusermount3. */
export function reasonNotToMount(): string | false {
  const reason = reasonToSkip({ name: 'this process', ...own });
  return reason === undefined || (isRoot && reason.startsWith('fusermount3')) ? false : reason;
}

export function forEachMountUser(what: string, suite: (user: TestUser) => void): void {
  describe(what, { concurrency: users.length }, () => {
    for (const user of users) {
      const skip = reasonToSkip(user);
      describe(`as ${user.name}`, skip === undefined ? { concurrency: 1 } : { skip }, () => suite(user));
    }
  });
}

export const isMounted = (path: string) => readFileSync('/proc/self/mountinfo', 'utf8').includes(` ${path} `);

/** The process that serves a mount of ours. */
export const serverOf = (path: string) => {
  const line = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .find((each) => each.includes(` ${path} `));
  return Number(/ ctx-(\d+) /.exec(line ?? '')?.[1]);
};
