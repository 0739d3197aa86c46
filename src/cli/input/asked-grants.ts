/** What a call says its command may do, as the SDK takes it. */

import { ErrnoError } from '../../base/errno.js';
import { leastMemoryBytes, leastProcesses } from '../../base/limits/commands.js';
import { exactSize, parseSize } from '../../base/size-text.js';
import { withDefaultPort } from '../../sdk/network-name.js';
import type { Grants, JailLayer, Quota } from '../../sdk/options.js';
import type { Arguments } from '../verb.js';
import { parseSecret } from './asked-secrets.js';
import { parseCount } from './parse-arguments.js';

/** What no jail could be started with: the kernel would end it, and say nothing of the option. */
function atLeast(operation: string, text: string, value: number, least: number): number {
  if (value >= least) return value;
  const found = operation === '--memory' ? `${exactSize(least)}, got '${text}'` : `${least}, got '${text}'`;
  const remedy = operation === '--memory' ? 'a size has a unit: 512M, 4G' : undefined;
  throw new ErrnoError('EINVAL', { operation, reason: `expected at least ${found}`, remedy });
}

function quotaOf(call: Arguments): Quota {
  const memory = call.value('memory');
  const pids = call.value('processes');
  const cpu = call.value('cpus');
  const disk = call.value('disk');
  const inodes = call.value('files');
  return {
    ...(memory === undefined ? {} : { memory: atLeast('--memory', memory, parseSize(memory), leastMemoryBytes) }),
    ...(pids === undefined
      ? {}
      : { pids: atLeast('--processes', pids, parseCount(pids, '--processes', true), leastProcesses) }),
    ...(cpu === undefined ? {} : { cpu: parseCount(cpu, '--cpus', false) }),
    ...(disk === undefined ? {} : { disk: parseSize(disk) }),
    ...(inodes === undefined ? {} : { inodes: parseCount(inodes, '--files', true) }),
  };
}

function userOf(text: string | undefined): Grants['user'] {
  if (text === undefined) return undefined;
  const [, uid, gid] = /^(\d{1,10})(?::(\d{1,10}))?$/.exec(text) ?? [];
  if (uid !== undefined) return { uid: Number(uid), gid: gid === undefined ? undefined : Number(gid) };
  throw new ErrnoError('EINVAL', {
    operation: '--user',
    reason: `expected UID or UID:GID as numbers, got '${text}'`,
    remedy: 'for example: --user 1000',
  });
}

export function grantsOf(call: Arguments, environment: NodeJS.ProcessEnv = process.env) {
  return {
    agent: call.value('agent'),
    reads: call.values('read'),
    writes: call.values('write'),
    liveWrites: call.values('write-live'),
    siblings: call.flag('siblings'),
    cache: call.value('cache') as Grants['cache'],
    readonly: call.flag('readonly'),
    network: [...call.values('net'), ...call.values('allow-host')].map(withDefaultPort),
    privateHosts: call.values('net-private'),
    secrets: call.values('secret').map((text) => parseSecret(text, environment)),
    mounts: call.values('mount'),
    quota: quotaOf(call),
    user: userOf(call.value('user')),
    weakened: [
      ...(call.values('weaken') as readonly JailLayer[]),
      ...(call.flag('nested-namespaces') ? (['nested-namespaces'] as const) : []),
    ],
  } satisfies Grants;
}
