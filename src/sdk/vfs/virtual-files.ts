/** The door of the command line to the VFS: a bundle of its own, read by the verbs that use it and by no other. */
export { askedTrees } from './jail-trees.js';
export type { GrantsFile } from './mounts.js';
export { checkTreeText, mountPoint, mountTree, mountTreeInJail, planFromText, unmount } from './mounts.js';
export {
  type CheckResult,
  checkTree,
  cloneTree,
  collectTree,
  deleteSnapshotOf,
  refuseFleeting,
  restoreTree,
  type Snapshot,
  snapshotsOf,
  snapshotTree,
  withTree,
} from './trees.js';
