/** `ctx vfs unmount`, `ctx fork unmount`, `ctx view unmount`: whatever is served at a directory. */
import { resolve } from 'node:path';
import { ExitCode } from '../../base/errno.js';
import { visible } from '../../base/visible-text.js';
import { currentDirectory } from '../../sdk/current-directory.js';
import { painter, print, printJson } from '../text/output.js';
import type { Run } from '../verb.js';

export const unmountAt: Run = async (call) => {
  const { unmount } = await import('../../sdk/unmount.js');
  const directory = resolve(currentDirectory(), call.words[0] ?? '');
  await unmount(directory);
  if (call.flag('json')) printJson({ version: 1, directory });
  else print(`${painter(process.stdout)('green', `unmounted ${visible(directory)}`)}\n`);
  return ExitCode.ok;
};
