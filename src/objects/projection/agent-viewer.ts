/**
 * An agent as the one who looks at its view: its Authority without files and network, from its control files and those
 * of the agents it descends from. They are looked at for every question, and read again where one has changed, so that
 * a rule that is taken away is gone with the next look. An agent whose files are wrong, or that was removed, sees
 * nothing.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Agent } from '../../authority/agent.js';
import { type Authority, makeAuthority } from '../../authority/authority.js';
import { type Grant, printGrant } from '../../authority/permission.js';
import { makePolicy } from '../../authority/policy.js';
import { ErrnoError, hasCode } from '../../base/errno.js';
import { lineageDepth } from '../../base/limits/objects.js';
import { agentNamed } from '../agent.js';
import type { ObjectRoots } from '../layout.js';
import type { Viewer } from './visible.js';

/** Of an agent's files, those that say what it sees. */
const deciding = [
  'policy',
  'path',
  'label',
  'uid',
  'gid',
  'groups',
  'parent',
  'expiry',
  'network',
  'supervised',
  'model',
];

/** Numbers and no text: it is made for every request of the kernel. Times are exact to a quarter of a microsecond. */
function stampOf(paths: readonly string[]): readonly number[] {
  const stamp: number[] = [];
  for (const path of paths) {
    try {
      const about = statSync(path, { throwIfNoEntry: false });
      if (about === undefined) stamp.push(0);
      else stamp.push(about.ino, about.mtimeMs, about.ctimeMs, about.size);
    } catch (error) {
      if (!hasCode(error, 'ENOTDIR') && !hasCode(error, 'EACCES')) throw error;
      stamp.push(0);
    }
  }
  return stamp;
}

function isSame(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((value, at) => value === other[at]);
}

/** From the agent itself to the one that a person made. */
export function lineOf(roots: ObjectRoots, name: string): readonly [Agent, ...Agent[]] {
  const line: [Agent, ...Agent[]] = [agentNamed(roots, name)];
  for (let { parent } = line[0]; parent !== undefined; ) {
    if (line.length > lineageDepth) {
      const reason = `agent ${name} has a parent cycle, or more than ${lineageDepth} ancestors`;
      throw new ErrnoError('EINVAL', { operation: `agent ${name}`, reason });
    }
    const next = agentNamed(roots, parent.agent);
    line.push(next);
    parent = next.parent;
  }
  return line;
}

/** Whether each parent of the line allows it, up to the one that a person made, or to a child that a supervisor granted it. */
function isHeldAlong(line: readonly Agent[], { class: objectClass, name, permission }: Grant): boolean {
  const rule = printGrant({ class: objectClass, name, permission });
  return line.every(({ policy, identity: { label } }, at) => {
    const isGranted = line
      .slice(0, at)
      .some(({ supervised }) => supervised.some(({ excess }) => excess.kind === 'permission' && excess.rule === rule));
    return isGranted || policy.allows(label.type, objectClass, name, permission);
  });
}

/** Of a view no file of the host counts: what it shows is decided by permissions alone. */
export const viewSurface = {
  cwd: '/ctx',
  additionalWrites: [],
  siblingReads: [],
  workspaceMetadata: [],
  toolingPaths: [],
  additionalReads: [],
  systemReads: [],
  hidden: [],
} as const;

/** What each of a line allows its own type, and nothing more: what a parent has lost, its children have lost. */
export function authorityToSee(line: readonly [Agent, ...Agent[]]): Authority {
  const [agent, ...ancestors] = line;
  const { type } = agent.identity.label;
  const rules = agent.policy.rules.filter((rule) => rule.subject === type && isHeldAlong(line, rule));
  return makeAuthority({
    identity: agent.identity,
    surface: viewSurface,
    policy: makePolicy(agent.policy.file, rules),
    toolPath: agent.toolPath.filter((path) => ancestors.every(({ toolPath }) => toolPath.includes(path))),
    lifetime: agent.lifetime,
    ancestors: ancestors.map(({ identity }) => identity.label.type),
    supervised: agent.supervised,
  });
}

export interface AgentViewer {
  /** As it is now. */
  viewer(): Viewer;
}

interface Known {
  /** Of the files that say what it sees, in its own directory and those of its parents. */
  readonly paths: readonly string[];
  readonly stamp: readonly number[];
  readonly authority: Authority;
  readonly models: readonly string[];
}

/** Its own that each of its parents names, too. */
export function modelsOf([agent, ...ancestors]: readonly [Agent, ...Agent[]]): readonly string[] {
  return agent.models.filter((model) => ancestors.every(({ models }) => models.includes(model)));
}

/** ENOENT where there is no such agent, EINVAL where its files are wrong: when it begins, and never later. */
export function agentViewer(roots: ObjectRoots, name: string, now: () => number): AgentViewer {
  const read = (): Known => {
    const paths = lineOf(roots, name).flatMap(({ directory }) => deciding.map((file) => join(directory, file)));
    // Before they are read for good: a change meanwhile is seen as one.
    const stamp = stampOf(paths);
    const line = lineOf(roots, name);
    return { paths, stamp, authority: authorityToSee(line), models: modelsOf(line) };
  };
  let known = read();
  const none = makeAuthority({
    identity: known.authority.identity,
    surface: known.authority.surface,
    policy: makePolicy('', []),
  });
  return {
    viewer: () => {
      const stamp = stampOf(known.paths);
      if (!isSame(stamp, known.stamp)) {
        try {
          known = read();
        } catch (error) {
          if (!(error instanceof ErrnoError)) throw error;
          // Which file would have to be mended is not known, it may be a new parent's: read again with every look.
          known = { paths: known.paths, stamp: [], authority: none, models: [] };
        }
      }
      return { authority: known.authority, now: now(), models: known.models };
    },
  };
}
