/**
 * What a grant to an agent, or its end, makes of the agent's control files. Pure: texts in, changed texts out, by file,
 * in the order in which they are to be written: the process that is interrupted in between leaves an agent that may do
 * less, not more.
 */
import type { Agent } from '../authority/agent.js';
import { mayConnect, type SupervisorGrant } from '../authority/authority.js';
import { type Mount, parseMounts, printMount } from '../authority/mount.js';
import { namesMounts } from '../authority/mount-permission.js';
import { mountObjectName } from '../authority/name.js';
import { type Grant, printGrant } from '../authority/permission.js';
import { printRule } from '../authority/policy.js';
import { surfaceMountOptions } from '../authority/surface-mounts.js';
import { quoted, refuse } from '../authority/syntax.js';

export type AgentGrant =
  | { readonly kind: 'read' | 'write'; readonly path: string }
  /** `host:port`, canonical. */
  | { readonly kind: 'connect'; readonly host: string }
  | { readonly kind: 'group'; readonly gid: number }
  | ({ readonly kind: 'permission' } & Grant);

export type TextOf = (file: string) => string;
export type ChangedTexts = ReadonlyMap<string, string>;

const connect: Grant = { class: 'network', name: 'default', permission: 'connect' };

export function printAgentGrant(grant: AgentGrant): string {
  switch (grant.kind) {
    case 'read':
    case 'write':
      return `${grant.kind} ${grant.path}`;
    case 'connect':
      return `connect ${grant.host}`;
    case 'group':
      return `group ${grant.gid}`;
    case 'permission':
      return printGrant(grant);
  }
}

function withLine(text: string, line: string): string {
  return `${text === '' || text.endsWith('\n') ? text : `${text}\n`}${line}\n`;
}

/** Lines that say something else stay as they are, comments too. */
function withoutLines(text: string, isGone: (line: string) => boolean): string {
  return text
    .split('\n')
    .filter((line) => !isGone(line))
    .join('\n');
}

function withRule(agent: Agent, policy: string, grant: Grant): string {
  const { type } = agent.identity.label;
  if (agent.policy.allows(type, grant.class, grant.name, grant.permission)) return policy;
  return withLine(policy, printRule({ subject: type, ...grant }));
}

function withoutRule(agent: Agent, policy: string, { class: objectClass, name, permission }: Grant): string {
  const rule = ['allow', agent.identity.label.type, `${objectClass}:${name}`, permission].join(' ');
  return withoutLines(
    policy,
    (line) =>
      line
        .trim()
        .split(/[ \t]+/)
        .join(' ') === rule,
  );
}

function mountOf(text: string, target: string): Mount | undefined {
  return parseMounts(text, 'mount').find((mount) => mount.target === target);
}

const isMountAt = (target: string) => (line: string) => line.split('\t')[1] === target;

function withPath(agent: Agent, textOf: TextOf, path: string, access: 'read' | 'write'): [string, string][] {
  const mode = access === 'write' ? 'rw' : 'ro';
  const held = mountOf(textOf('mount'), path);
  const mount = { source: path, target: path, options: surfaceMountOptions, ...held, mode } as const;
  const isMounted = held !== undefined && (held.mode === 'rw' || access === 'read');
  const mounts = isMounted
    ? textOf('mount')
    : withLine(withoutLines(textOf('mount'), isMountAt(path)), printMount(mount));
  if (!namesMounts(agent.policy, agent.identity.label.type)) return [['mount', mounts]];
  // Its policy decides about every mount: this one needs a rule, too.
  const name = mountObjectName(path);
  if (name === undefined) {
    return refuse('grant', `the agent's policy has rules for mounts, and no rule can name ${quoted(path)}`);
  }
  const rule = withRule(agent, textOf('policy'), { class: 'mount', name, permission: access });
  return [
    ['mount', mounts],
    ['policy', rule],
  ];
}

function withHost(agent: Agent, textOf: TextOf, host: string): [string, string][] {
  const { network } = agent;
  const connects = mayConnect(agent.policy, agent.identity.label.type);
  if (connects && (network === undefined || (network.kind === 'hosts' && network.hosts.includes(host)))) return [];
  // The list before the rule: the rule alone would be any public host.
  return [
    ['network', withLine(textOf('network'), host)],
    ['policy', withRule(agent, textOf('policy'), connect)],
  ];
}

function withoutHost(agent: Agent, textOf: TextOf, host: string): [string, string][] {
  const { network } = agent;
  if (network?.kind !== 'hosts' || !network.hosts.includes(host)) {
    return refuse('revoke', `its network file does not list ${quoted(host)}`);
  }
  const listed = withoutLines(textOf('network'), (line) => line.trim().toLowerCase() === host);
  if (network.hosts.length > 1) return [['network', listed]];
  // The rule before the list: without a list the rule would be any public host.
  return [
    ['policy', withoutRule(agent, textOf('policy'), connect)],
    ['network', listed],
  ];
}

function changesFor(agent: Agent, textOf: TextOf, grant: AgentGrant): [string, string][] {
  switch (grant.kind) {
    case 'read':
    case 'write':
      return withPath(agent, textOf, grant.path, grant.kind);
    case 'connect':
      return withHost(agent, textOf, grant.host);
    case 'group':
      if (agent.identity.groups.includes(grant.gid)) return [];
      return [['groups', withLine(textOf('groups'), String(grant.gid))]];
    case 'permission':
      return [['policy', withRule(agent, textOf('policy'), grant)]];
  }
}

function changesWithout(agent: Agent, textOf: TextOf, grant: AgentGrant): [string, string][] {
  switch (grant.kind) {
    case 'read':
    case 'write':
      return [['mount', withoutLines(textOf('mount'), isMountAt(grant.path))]];
    case 'connect':
      return withoutHost(agent, textOf, grant.host);
    case 'group':
      return [['groups', withoutLines(textOf('groups'), (line) => line.trim() === String(grant.gid))]];
    case 'permission':
      return [['policy', withoutRule(agent, textOf('policy'), grant)]];
  }
}

function changed(textOf: TextOf, changes: readonly [string, string][]): ChangedTexts {
  return new Map(changes.filter(([file, text]) => text !== textOf(file)));
}

/** Empty where the agent's files grant it already. */
export function grantedTexts(agent: Agent, textOf: TextOf, grant: AgentGrant): ChangedTexts {
  return changed(textOf, changesFor(agent, textOf, grant));
}

/** Empty where the agent's files do not grant it. */
export function revokedTexts(agent: Agent, textOf: TextOf, grant: AgentGrant): ChangedTexts {
  return changed(textOf, changesWithout(agent, textOf, grant));
}

/** Whether a supervisor's grant is about the same thing. */
export function isAbout({ excess }: SupervisorGrant, grant: AgentGrant): boolean {
  switch (grant.kind) {
    case 'read':
    case 'write':
      return (excess.kind === 'hidden path' || excess.kind === 'read-only path') && excess.target === grant.path;
    case 'connect':
      return excess.kind === 'network' && excess.host === grant.host;
    case 'group':
      return excess.kind === 'group' && excess.gid === grant.gid;
    case 'permission':
      return excess.kind === 'permission' && excess.rule === printGrant(grant);
  }
}
