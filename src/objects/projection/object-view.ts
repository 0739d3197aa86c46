/** The view of one agent, or the operator's of everything, over the objects on disk. */
import { statSync } from 'node:fs';
import type { FileSystem } from '../../vfs/filesystem.js';
import type { ObjectRoots } from '../layout.js';
import { type AgentViewer, agentViewer } from './agent-viewer.js';
import type { Catalogue, ControlText } from './catalogue.js';
import { readRegular } from './disk-catalogue.js';
import type { Shown } from './nodes.js';
import { personViewer } from './person-viewer.js';
import { projection } from './projection.js';
import type { Viewer } from './visible.js';
import { wholeCatalogue } from './whole-catalogue.js';
import { type CallLog, withOwnLogs } from './with-own-logs.js';
import type { SourceStates } from './with-sources.js';

export interface ObjectViewRequest {
  readonly roots: ObjectRoots;
  /** Undefined: everything, for the operator, unless `tool` is named. */
  readonly agent?: string | undefined;
  /** The one tool that a person calls. */
  readonly tool?: string | undefined;
  /** Path of the program that is behind every object: `native/object`. */
  readonly client: string;
  readonly owner: { readonly uid: number; readonly gid: number };
  readonly home?: Shown['home'];
  readonly writes?: Shown['writes'];
  readonly spaces?: Shown['spaces'];
  /** Of an agent's view: what it has seen of calls. */
  readonly calls?: CallLog | undefined;
  /** What is known of the servers of tool sources. */
  readonly sources?: SourceStates | undefined;
  readonly now: () => number;
}

export interface ObjectView {
  readonly filesystem: FileSystem;
  readonly catalogue: Catalogue;
  /** Undefined for the operator, who sees everything. */
  readonly viewing: AgentViewer | undefined;
  /** Answers from one look at the agent's files: a listing of many is consistent, and costs one. Nothing is kept after it. */
  inOneLook<T>(answer: () => T): T;
}

/** Read when it is first asked for, and once. */
function clientText(path: string): ControlText {
  const { size, mtimeNs } = statSync(path, { bigint: true });
  let bytes: Buffer | undefined;
  return {
    size: Number(size),
    modified: mtimeNs,
    read: () => {
      bytes ??= readRegular(path);
      return bytes;
    },
  };
}

/** ENOENT where there is no such agent, EINVAL where its files are wrong. */
export function objectView({
  roots,
  agent,
  tool,
  client,
  owner,
  home,
  writes,
  spaces,
  calls = () => '',
  sources,
  now,
}: ObjectViewRequest): ObjectView {
  const whole = wholeCatalogue(roots, sources);
  const catalogue = agent === undefined ? whole : withOwnLogs(whole, agent, calls);
  const viewing =
    agent !== undefined
      ? agentViewer(roots, agent, now)
      : tool !== undefined
        ? personViewer({ ...owner, uid: roots.uid }, tool, now)
        : undefined;
  let look: Viewer | undefined;
  let isOneLook = false;
  const viewer = () => {
    if (!isOneLook || viewing === undefined) return viewing?.viewer();
    look ??= viewing.viewer();
    return look;
  };
  const filesystem = projection({
    label: agent === undefined ? 'view' : `view of ${agent}`,
    owner,
    catalogue,
    viewer,
    uid: viewing?.viewer().authority.identity.uid ?? roots.uid,
    client: clientText(client),
    home,
    writes,
    spaces,
  });
  const inOneLook = <T>(answer: () => T): T => {
    isOneLook = true;
    try {
      return answer();
    } finally {
      isOneLook = false;
      look = undefined;
    }
  };
  return { filesystem, catalogue, viewing, inOneLook };
}
