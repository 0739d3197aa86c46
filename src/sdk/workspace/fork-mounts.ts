/** A fork at a directory of the host, served by the process that asks for it. */
export { mountPoint } from '../../fuse/mount.js';
export { type ForkMount, mountFork } from '../../workspace/fork-mount.js';
