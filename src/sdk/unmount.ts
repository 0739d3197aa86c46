/** Takes away what is served at a directory: a tree, a fork or a view. */
export { unmount } from '../fuse/unmount.js';
