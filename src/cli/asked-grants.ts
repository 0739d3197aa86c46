/** What a call says its command may do, as the proxy takes it. */
import type { Quota } from '../authority/quota.js';
import type { Layer } from '../jail/plan.js';
import type { ExecRequest } from '../proxy/exec-request.js';
import { withDefaultPort } from '../sdk/network-name.js';
import { parseCount, parseSize } from './parse-arguments.js';
import type { Arguments } from './verb.js';

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

type Grants = Pick<
  ExecRequest,
  | 'agent'
  | 'reads'
  | 'writes'
  | 'liveWrites'
  | 'siblings'
  | 'readonly'
  | 'network'
  | 'privateHosts'
  | 'quota'
  | 'weakened'
>;

export function grantsOf(call: Arguments): Grants {
  return {
    agent: call.value('agent'),
    reads: call.values('read'),
    writes: call.values('write'),
    liveWrites: call.values('write-live'),
    siblings: call.flag('siblings'),
    readonly: call.flag('readonly'),
    network: [...call.values('net'), ...call.values('allow-host')].map(withDefaultPort),
    privateHosts: call.values('net-private'),
    quota: quotaOf(call),
    weakened: call.values('weaken') as readonly Layer[],
  };
}
