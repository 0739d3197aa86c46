/** A host with a project, and agents without files, to resolve Authorities for. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach } from 'node:test';
import type { Agent } from '../../authority/agent.js';
import { parseLabel } from '../../authority/label.js';
import { parseMounts } from '../../authority/mount.js';
import { parsePolicy } from '../../authority/policy.js';
import { type ErrnoCode, ErrnoError } from '../../base/errno.js';
import type { Host } from '../host.js';

export const base = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-authority-')));
after(() => rmSync(base, { recursive: true }));
export const [origin, store, data, configuration] = ['project', 'store', 'data', 'config'].map((name) =>
  join(base, name),
) as [string, string, string, string];
for (const directory of [origin, store, join(data, 'inner'), configuration]) mkdirSync(directory, { recursive: true });

const agents = new Map<string, Agent>();
export const host = {
  uid: 1000,
  gid: 1000,
  groups: [1000, 44],
  home: join(base, 'home'),
  environment: { PATH: '/usr/bin' },
  hidden: [store],
  operatorDirectories: [store, configuration],
  agents: async (name: string) => agents.get(name) ?? assert.fail(name),
  now: () => new Date(1_000_000),
} as unknown as Host;
export const place = { directory: origin, origin, owner: { uid: 1000, gid: 1000, shift: 0 } };

export function agent(name: string, given: Partial<Agent> & { policyText?: string; mountText?: string } = {}): Agent {
  const { policyText = '', mountText = '', ...rest } = given;
  const made: Agent = {
    name,
    directory: join(store, name),
    identity: {
      owner: 1000,
      uid: 1000,
      gid: 1000,
      groups: [],
      label: parseLabel(`user_u:agent_r:${name}_t:s0`),
      isolation: 'shared',
      life: 'owned',
    },
    parent: undefined,
    root: '/',
    cwd: undefined,
    environment: {},
    toolPath: ['/ctx/tool'],
    mounts: parseMounts(mountText, 'mount'),
    policy: parsePolicy(policyText, `agent/${name}.d/policy`),
    network: undefined,
    quota: {},
    lifetime: {},
    scope: 'project',
    models: [],
    siblingReads: 'none',
    additionalReads: [],
    supervised: [],
    ...rest,
  };
  agents.set(name, made);
  return made;
}

export async function refusal(code: ErrnoCode, act: () => Promise<unknown> | unknown): Promise<string> {
  try {
    await act();
  } catch (error) {
    assert.ok(error instanceof ErrnoError && error.code === code, String(error));
    return error.reason;
  }
  return assert.fail(`expected ${code}`);
}

beforeEach(() => {
  agents.clear();
  rmSync(join(configuration, 'agents.toml'), { force: true });
});
