/** The workspace that a call is about: the directory the person is in, with what the call grants. */

import { currentDirectory } from '../../sdk/current-directory.js';
import type { Host } from '../../sdk/host.js';
import type { WorkspaceOptions } from '../../sdk/options.js';
import { Workspace } from '../../sdk/workspace/workspace.js';

/** `options` are read before the host is made: a call that is refused leaves nothing behind. */
export async function workspaceHere(
  host: () => Promise<Host>,
  options: WorkspaceOptions,
  directory = currentDirectory(),
): Promise<Workspace> {
  return new Workspace(await host(), directory, options);
}
