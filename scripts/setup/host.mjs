/** What no package can provide: Linux, and a Node that is new enough. */

import { SetupFailure, unavailable } from './failure.mjs';

const oldestNode = [20, 19];

export function checkHost(platform = process.platform, version = process.versions.node) {
  if (platform !== 'linux') {
    throw new SetupFailure(
      `ctxfs needs Linux: its boundary is made of namespaces, overlay mounts and Landlock. This is ${platform}.\n` +
        'A Linux virtual machine or a remote Linux host will do.',
      unavailable,
    );
  }
  const [major, minor] = version.split('.').map(Number);
  if (major < oldestNode[0] || (major === oldestNode[0] && minor < oldestNode[1])) {
    throw new SetupFailure(
      `ctxfs needs Node ${oldestNode.join('.')} or newer; this is ${version}.\n` +
        'Debian 13 has one: apt-get install nodejs npm. Others: https://nodejs.org/en/download',
      unavailable,
    );
  }
}
