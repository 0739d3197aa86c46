/** A small filesystem of a test's own, in a mount namespace that ends with the test's script. */
import { spawnSync } from 'node:child_process';
import type { Finished } from './process.js';
import type { Stage } from './stage.js';
import { isRoot } from './users.js';

function reason(): string | undefined {
  if (!isRoot) return 'needs root to mount a small disk';
  const missing = ['unshare', 'setpriv'].filter((program) => spawnSync(program, ['--version']).error !== undefined);
  return missing.length === 0 ? undefined : `${missing.join(' and ')} not installed`;
}

export const cannotMountSmallDisk: string | undefined = reason();

/** Runs a script as the user, with a tmpfs at `directory`; `limits` are its mount options: `size`, `nr_inodes`. */
export function onSmallDisk(stage: Stage, directory: string, limits: string, script: string): Promise<Finished> {
  const { uid, gid } = stage.user;
  const mount = `mount -t tmpfs -o ${limits},mode=755,uid=${uid},gid=${gid} ctx-test-disk "$1"`;
  const enter = `${mount}; exec setpriv --reuid=${uid} --regid=${gid} --clear-groups sh -uc "$2"`;
  const argv = ['unshare', '--mount', '--propagation', 'private', 'sh', '-euc', enter, 'sh', directory, script];
  return stage.start('/', argv, { uid: 0, gid: 0, env: { CTX: stage.program } }).finished;
}

/** Overlay on tmpfs wants user.* attributes there, which kernels before 6.6 do not have. */
export async function overlayWorksOn(stage: Stage, directory: string): Promise<boolean> {
  const { stdout } = await onSmallDisk(stage, directory, 'size=4m', `CTX_DATA=${directory}/store $CTX doctor --json`);
  return (JSON.parse(stdout) as { ready: boolean }).ready;
}
