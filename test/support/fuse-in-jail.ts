/** Trees of the VFS in jails: whether the kernel lets a user have them here, and who serves them. */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, readdirSync, readFileSync } from 'node:fs';
import { until } from './process.js';
import { spawnIdentity, type TestUser } from './users.js';

/** Asked of the kernel and not of ctx, so that a defect of ctx is never a skip. */
export function reasonToSkip(user: TestUser): string | undefined {
  try {
    accessSync('/dev/fuse', constants.R_OK | constants.W_OK);
  } catch {
    return '/dev/fuse cannot be opened here';
  }
  const namespaces = user.uid === 0 ? ['--mount'] : ['--user', '--map-root-user', '--mount'];
  const mount = 'exec 3<>/dev/fuse && exec mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 ctx /mnt';
  const { status } = spawnSync('unshare', [...namespaces, 'sh', '-c', mount], {
    timeout: 20_000,
    killSignal: 'SIGKILL',
    ...spawnIdentity(user),
  });
  return status === 0 ? undefined : `FUSE cannot be mounted in a namespace by uid ${user.uid} here`;
}

/** Every process that serves a mount at this target: no other test has it. */
export function serversOf(target: string): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((entry) => {
      try {
        return readFileSync(`/proc/${entry}/cmdline`, 'utf8').endsWith(`\0${target}\0`);
      } catch {
        return false; // ended meanwhile
      }
    })
    .map(Number);
}

export const noneIsLeft = (target: string) =>
  until(() => serversOf(target).length === 0, `no server of ${target} is left`);
