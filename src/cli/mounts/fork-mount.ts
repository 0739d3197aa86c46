/** `ctx fork mount NAME DIR`. */
import { resolve } from 'node:path';
import { ExitCode } from '../../base/errno.js';
import { nativeProgram } from '../../base/native-program.js';
import { visible } from '../../base/visible-text.js';
import { currentDirectory } from '../../sdk/current-directory.js';
import { painter, print, printJson } from '../text/output.js';
import type { Arguments, Run } from '../verb.js';
import { endedBySignals, serveAt } from './background-server.js';

const part = async () => import('../../sdk/workspace/fork-mounts.js');

function sayMounted(call: Arguments, directory: string): void {
  const [fork = ''] = call.words;
  const writable = call.flag('writable');
  if (call.flag('json')) printJson({ version: 1, fork, directory, writable });
  else print(`${painter(process.stdout)('green', `mounted fork ${visible(fork)} at ${visible(directory)}`)}\n`);
}

export const mount: Run = async (call, host) => {
  const { mountFork, mountPoint } = await part();
  const [fork = '', target = ''] = call.words;
  const directory = resolve(currentDirectory(), target);
  if (!call.flag('foreground')) {
    const flags = ['writable', 'json'].filter((name) => call.flag(name)).map((name) => `--${name}`);
    return serveAt(directory, mountPoint, ['fork', 'mount', ...flags, '--foreground', '--', fork, directory]);
  }
  await mountFork(await host(), {
    cwd: currentDirectory(),
    fork,
    directory,
    writable: call.flag('writable'),
    library: nativeProgram('fuse.node'),
    signal: endedBySignals(),
    mounted: (at) => sayMounted(call, at),
  });
  return ExitCode.ok;
};
