/**
 * A spec: several control files in one JSON object. A member is named like its file; its value is the file's text, or what
 * is natural to write in JSON: a number, a list of lines, an object of names and values. `tools`, `shared` and `model` also
 * write the policy rules they mean, as a request for a child does. What is not named is least: no rule, no mount.
 */

import type { Agent } from '../authority/agent.js';
import { isSubjectType, printLabel, subjectTypeRule } from '../authority/label.js';
import { parseObjectName } from '../authority/name.js';
import { quoted, refuse } from '../authority/syntax.js';
import { agentFiles, toolFiles } from './control-file.js';
import { defaultToolPath, type ObjectKind } from './layout.js';
import { parseObject } from './small-formats.js';

export type Spec = Readonly<Record<string, unknown>>;

const operation = 'spec';
/** Shorter names, and members that become lines of the policy. */
const agentMembers = ['name', 'meta', 'tools', 'shared'];

export function parseSpec(text: string, file: string): Spec {
  return parseObject(text, file);
}

function checkMembers(spec: Spec, kind: ObjectKind, name: string): void {
  const files = Object.entries(kind === 'agent' ? agentFiles : toolFiles)
    .filter(([file, { writer }]) => writer !== 'process' && writer !== 'supervisor' && file !== 'parent')
    .map(([file]) => file);
  const known = kind === 'agent' ? [...files, ...agentMembers] : files;
  const surplus = Object.keys(spec).find((member) => !known.includes(member));
  if (surplus !== undefined) refuse(operation, `expected members ${known.join(', ')}, got ${quoted(surplus)}`);
  if (spec['name'] !== undefined && spec['name'] !== name) {
    refuse(operation, `name: expected ${name}, got ${quoted(JSON.stringify(spec['name']))}`);
  }
}

/** Of a program's own value, which may hold what JSON has no word for. */
function jsonOf(member: string, value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    return refuse(
      operation,
      `${member}: expected what JSON can hold: ${error instanceof Error ? error.message : error}`,
    );
  }
  return text ?? refuse(operation, `${member}: expected what JSON can hold, got ${quoted(typeof value)}`);
}

function line(member: string, value: unknown): string {
  // [source, target, mode, options]: a mount as a row.
  if (member === 'mount' && Array.isArray(value) && value.every((part) => typeof part === 'string')) {
    return value.length === 3 ? `${value.join('\t')}\t-` : value.join('\t');
  }
  if (typeof value === 'string' && !value.includes('\n')) return value;
  if (typeof value === 'number') return String(value);
  return refuse(operation, `${member}: expected lines, got ${quoted(jsonOf(member, value))}`);
}

function entryLine(member: string, separator: string, [name, value]: readonly [string, unknown]): string {
  if (/[\n=\s]/.test(name)) refuse(operation, `${member}: expected a name, got ${quoted(name)}`);
  return `${name}${separator}${line(`${member}.${name}`, value)}`;
}

/** The text of one control file. */
function textOf(member: string, value: unknown): string {
  if (member === 'meta.json' || member === 'schema') return `${jsonOf(member, value)}\n`;
  if (typeof value === 'string') return value === '' || value.endsWith('\n') ? value : `${value}\n`;
  const lines = Array.isArray(value)
    ? value.map((each: unknown) => line(member, each))
    : typeof value === 'object' && value !== null && ['env', 'quota', 'expiry'].includes(member)
      ? Object.entries(value).map((entry) => entryLine(member, member === 'env' ? '=' : ' ', entry))
      : [line(member, value)];
  return lines.map((each) => `${each}\n`).join('');
}

function strings(member: string, value: unknown): readonly string[] {
  if (Array.isArray(value) && value.every((each): each is string => typeof each === 'string')) return value;
  return refuse(operation, `${member}: expected a list of names`);
}

function impliedRules(spec: Spec, type: string): readonly string[] {
  const { tools = [], shared = {}, model = [] } = spec;
  if (typeof shared !== 'object' || shared === null || Array.isArray(shared)) {
    return refuse(operation, 'shared: expected an object of names and permissions');
  }
  return [
    ...strings('tools', tools).map((name) => `tool:${name} execute`),
    ...(typeof model === 'string' ? model.split('\n').filter((name) => name !== '') : strings('model', model)).map(
      (name) => `model:${name} use`,
    ),
    ...Object.entries(shared).flatMap(([name, permissions]) =>
      strings(`shared.${name}`, permissions).map((permission) => `shared:${name} ${permission}`),
    ),
  ].map((grant) => `allow ${type} ${grant}\n`);
}

export interface ObjectMaker {
  readonly uid: number;
  readonly gid: number;
  readonly parent?: Agent | undefined;
}

/** A bare type is completed, by the parent's other parts where there is one. */
function labelText(given: unknown, name: string, parent: Agent | undefined): string {
  if (given === undefined && !isSubjectType(`${name}_t`)) {
    const remedy = 'name one in its spec, like {"label": "worker_t"}';
    refuse(operation, `expected a label, since the name does not make ${subjectTypeRule}: "${name}_t"`, remedy);
  }
  const text = given ?? `${name}_t`;
  if (typeof text !== 'string') return refuse(operation, 'label: expected a label, or a type like coder_t');
  if (text.includes(':')) return text;
  if (parent === undefined) return `user_u:agent_r:${text}:s0`;
  return printLabel({ ...parent.identity.label, type: text });
}

/** Every control file of a new agent, yet to be checked. */
export function agentTexts(name: string, spec: Spec, maker: ObjectMaker): ReadonlyMap<string, string> {
  parseObjectName(name);
  checkMembers(spec, 'agent', name);
  const { parent } = maker;
  const owner = spec['owner'] ?? parent?.identity.owner ?? maker.uid;
  const uid = spec['uid'] ?? parent?.identity.uid ?? owner;
  const label = labelText(spec['label'], name, parent);
  const type = label.split(':')[2] ?? '';
  const texts = new Map<string, string>(
    Object.entries({
      owner,
      uid,
      gid: parent?.identity.gid ?? maker.gid,
      groups: '',
      iso: 'shared',
      parent: parent === undefined ? '' : `agent:${parent.name}`,
      life: 'owned',
      root: '/',
      cwd: '',
      env: '',
      path: parent?.toolPath ?? defaultToolPath(Number(uid)),
      mount: '',
      model: '',
      policy: '',
      status: 'dead',
      pid: '',
      log: '',
      network: '',
      quota: '',
      expiry: '',
      scope: 'project',
      sibling_reads: '',
      additional_reads: '',
      supervised: '',
      'meta.json': spec['meta'] ?? {},
    }).map(([file, value]) => [file, textOf(file, value)]),
  );
  for (const [member, value] of Object.entries(spec)) {
    if (!agentMembers.includes(member)) texts.set(member, textOf(member, value));
  }
  texts.set('label', textOf('label', label));
  texts.set('policy', `${texts.get('policy')}${impliedRules(spec, type).join('')}`);
  return texts;
}

export function toolTexts(name: string, spec: Spec): ReadonlyMap<string, string> {
  parseObjectName(name);
  checkMembers(spec, 'tool', name);
  const first = { name, description: '', schema: {}, cap: '', status: 'idle', log: '' };
  return new Map(Object.entries({ ...first, ...spec }).map(([file, value]) => [file, textOf(file, value)]));
}
