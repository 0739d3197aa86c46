/** What `ctx tool new` and `ctx tool source add` are asked to grant. */
import { pathFrom } from '../../base/path-from.js';
import { currentDirectory } from '../../sdk/current-directory.js';
import type { Arguments } from '../verb.js';
import type { ToolOptions } from './tool-spec.js';

export function askedToolGrants(call: Arguments): Omit<ToolOptions, 'description' | 'schema'> {
  const whole = (path: string) => pathFrom(currentDirectory(), path);
  return {
    net: call.values('net'),
    privateNet: call.values('net-private'),
    reads: call.values('read').map(whole),
    writes: call.values('write').map(whole),
    secrets: call.values('secret'),
    fork: call.value('fork'),
  };
}
