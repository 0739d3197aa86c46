/** What a call says of its command and its fork, as the SDK takes it. */
import type { WorkspaceOptions } from '../../sdk/options.js';
import type { Arguments } from '../verb.js';
import { grantsOf } from './asked-grants.js';

export function optionsOf(call: Arguments, variables: NodeJS.ProcessEnv = process.env): WorkspaceOptions {
  const environment = call.values('env');
  return {
    ...grantsOf(call, variables),
    fork: call.value('fork'),
    alone: call.flag('alone'),
    wait: call.flag('wait'),
    environment,
    project: !call.flag('no-project'),
  };
}
