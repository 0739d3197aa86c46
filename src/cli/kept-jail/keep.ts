/** One kept jail, kept by this process from its start to its end. */
import { buildOf } from '../../base/build.js';
import { watchInstallation } from '../../base/installation.js';
import { keptJailIdleMilliseconds } from '../../base/limits/commands.js';
import { visible } from '../../base/visible-text.js';
import type { Host } from '../../sdk/host.js';
import { projectWord } from '../../sdk/operator/trust.js';
import type { WorkspaceOptions } from '../../sdk/options.js';
import { KeptJails } from '../../sdk/workspace/kept-jails.js';
import type { Shows } from '../caller.js';
import { optionsOf } from '../input/asked-options.js';
import { grantWords } from '../input/kept-jail-grants.js';
import { parseDuration } from '../input/parse-arguments.js';
import { printJson } from '../text/output.js';
import type { Arguments } from '../verb.js';
import { ClientConnection, type Offered } from './client-connection.js';

/** Of the one who asked for it: nothing is read from this process. */
export interface Keeping extends Pick<Offered, 'relay' | 'verbs' | 'directory'> {
  readonly host: Host;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdout: Pick<Shows, 'write'>;
  readonly onProgress?: WorkspaceOptions['onProgress'];
  /** It can be found from here on. */
  readonly onReady: () => void;
  /** And that was said. */
  readonly onSaid?: () => void;
  /** Without it this process keeps no other one. */
  readonly ending?: AbortSignal | undefined;
}

export function idleOf(call: Arguments): number {
  const idle = call.value('idle');
  return idle === undefined ? keptJailIdleMilliseconds : parseDuration(idle);
}

/** Returns when it has ended. */
export async function keep(call: Arguments, keeping: Keeping): Promise<void> {
  const { host, directory, environment, stdout, onProgress, onReady, onSaid, ending, relay, verbs } = keeping;
  const options = { ...optionsOf(call, environment), wait: false, onProgress };
  const build = buildOf(process.argv[1] ?? '');
  const project = () => projectWord(host, directory);
  // Before the jail is made: where the file changes meanwhile, no call is for this jail.
  const grants = grantWords(call, environment, project());
  const isIntact = watchInstallation('cli');
  const offered = { relay, verbs, directory, build, isIntact, grants, project };
  await new KeptJails(host).keep(directory, options, {
    idleMilliseconds: idleOf(call),
    ending,
    serve: (socket, served) => new ClientConnection(socket, { ...served, ...offered }),
    onReady: (_jail, { pid, keeper, origin, fork }) => {
      onReady();
      if (call.flag('json')) printJson({ version: 1, pid, keeper, origin, fork }, stdout);
      else stdout.write(`jail on fork ${fork} of ${visible(origin)}, kept by process ${pid}\n`);
      onSaid?.();
    },
  });
}
