/** The fork that a call is about: of the directory the person is in, and of `--fork` and `--wait`. */

import { currentDirectory } from '../../sdk/current-directory.js';
import type { Host } from '../../sdk/host.js';
import { Fork } from '../../sdk/workspace/fork.js';
import type { Arguments } from '../verb.js';

export async function forkHere(call: Arguments, host: () => Promise<Host>, name = call.value('fork')): Promise<Fork> {
  return new Fork(await host(), currentDirectory(), { fork: name, wait: call.flag('wait') });
}
