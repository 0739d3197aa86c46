/** What a call says its command may do, as the SDK takes it. */

import { ErrnoError } from '../../base/errno.js';
import { parseSize } from '../../base/size-text.js';
import { withDefaultPort } from '../../sdk/network-name.js';
import type { Grants, JailLayer, Quota } from '../../sdk/options.js';
import type { Arguments } from '../verb.js';
import { parseSecret } from './asked-secrets.js';
import { parseCount } from './parse-arguments.js';

function quotaOf(call: Arguments): Quota {
  const memory = call.value('memory');
  const pids = call.value('processes');
  const cpu = call.value('cpus');
  const disk = call.value('disk');
  const inodes = call.value('files');
  return {
    ...(memory === undefined ? {} : { memory: parseSize(memory) }),
    ...(pids === undefined ? {} : { pids: parseCount(pids, '--processes', true) }),
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
