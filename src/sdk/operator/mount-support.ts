/** Whether trees of the VFS can be mounted here. */
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { programPlaces } from '../../base/system-programs.js';

/** What is missing for mounts, in words; undefined where nothing is. */
export function missingForMounts(): { readonly found: string; readonly remedy: string } | undefined {
  try {
    accessSync('/dev/fuse', constants.R_OK | constants.W_OK);
  } catch {
    return {
      found: '/dev/fuse cannot be opened',
      remedy: 'modprobe fuse, or give /dev/fuse to this container or user, for ctx vfs mount',
    };
  }
  if (programPlaces.some((directory) => isProgram(join(directory, 'fusermount3')))) return undefined;
  return { found: 'fusermount3 is missing', remedy: 'apt-get install fuse3, for ctx vfs mount' };
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
