/**
 * Events near their objects: the same that is in the chain, in the least that an event says, for anyone who looks at an
 * agent's files. A convenience, not the truth: what cannot be written here is not a failure.
 */
import {
  appendFileSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { directoryFlags } from '../base/directory-identity.js';
import { ErrnoError, fromSystemError, hasCode } from '../base/errno.js';
import { objectLogBytes } from '../base/limits/objects.js';
import { makeDirectory } from '../base/make-directory.js';
import { isChainName } from './layout.js';
import type { RecordEntry } from './record.js';

/** Members in the order that people know them by. */
export function eventText({ type, agent = null, session = null, object, status }: RecordEntry, ts: string): string {
  return `${JSON.stringify({ ts, type, agent, session, object, status })}\n`;
}

const { O_APPEND, O_CREAT, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants;

/** Read by others than who records, whatever the umask of that is: an agent of root's is another user, and so is who looks at root's objects. */
function openLog(path: string, flags = 0): number {
  const file = openSync(path, O_WRONLY | O_APPEND | O_CREAT | flags, 0o644);
  const { size, uid } = fstatSync(file);
  if (size === 0 && uid === process.geteuid?.()) fchmodSync(file, 0o644);
  return file;
}

function appendEvent(path: string, text: string): void {
  try {
    const { size } = statSync(path);
    if (size > objectLogBytes) renameSync(path, `${path}.old`);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw fromSystemError(error, 'log', path);
  }
  const file = openLog(path);
  try {
    appendFileSync(file, text);
  } finally {
    closeSync(file);
  }
}

/** Acts in a directory of the one that is open, which is made where it is missing; a link in its place is refused. */
function inDirectory<T>(above: number, name: string, act: (directory: number) => T): T {
  const path = `/proc/self/fd/${above}/${name}`;
  let isMade = true;
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
    isMade = false;
  }
  const directory = openSync(path, directoryFlags);
  try {
    // The home that it is in is its agent's alone.
    if (isMade) chmodSync(`/proc/self/fd/${directory}`, 0o755);
    return act(directory);
  } finally {
    closeSync(directory);
  }
}

/** The agent writes its home, and `session/` too where a mount lies in that: no link of its is followed, and no pipe waited for. */
function appendSessionEvent(agentHome: string, session: string, text: string): void {
  makeDirectory(agentHome);
  const home = openSync(agentHome, O_DIRECTORY);
  try {
    inDirectory(home, 'session', (sessions) =>
      inDirectory(sessions, session, (directory) => {
        const path = `/proc/self/fd/${directory}/events.jsonl`;
        const open = () => openLog(path, O_NOFOLLOW | O_NONBLOCK);
        let file = open();
        try {
          if (fstatSync(file).size > objectLogBytes) {
            renameSync(path, `${path}.old`);
            const next = open();
            closeSync(file);
            file = next;
          }
          appendFileSync(file, text);
        } finally {
          closeSync(file);
        }
      }),
    );
  } finally {
    closeSync(home);
  }
}

export interface ProjectionPlaces {
  /** CTX_ROOT on the host. */
  readonly root: string;
  readonly uid: number;
  /** Root's objects for every user. */
  readonly system?: string | undefined;
}

/** Directories of an agent's files, in the order they are searched. */
function agentDirectories({ root, uid, system }: ProjectionPlaces, agent: string): readonly string[] {
  const tiers = [join(root, 'agent'), join(root, 'home', String(uid), 'agent')];
  const all = system === undefined ? tiers : [...tiers, join(system, 'agent')];
  return all.map((tier) => join(tier, `${agent}.d`));
}

export function agentIn(places: ProjectionPlaces): (agent: string) => boolean {
  return (agent) => agentDirectories(places, agent).some((directory) => existsSync(directory));
}

/** As its `parent` file says; none where there is no such file. */
export function parentIn(places: ProjectionPlaces): (agent: string) => string | undefined {
  return (agent) => {
    const file = agentDirectories(places, agent)
      .map((directory) => join(directory, 'parent'))
      .find((path) => existsSync(path));
    if (file === undefined) return undefined;
    try {
      return /^agent:([^\s]+)/.exec(readFileSync(file, 'utf8'))?.[1];
    } catch (error) {
      throw fromSystemError(error, 'read', file);
    }
  };
}

/** `tool/NAME.d/log` of the tier that has it. */
function projectCall({ root, uid }: ProjectionPlaces, entry: RecordEntry, ts: string): void {
  const name = entry.type === 'tool.call' ? /^tool\/([^/]+)$/.exec(entry.object)?.[1] : undefined;
  if (name === undefined || !isChainName(`agent/${name}`)) return;
  const tiers = [join(root, 'tool'), join(root, 'home', String(uid), 'tool')];
  const directory = tiers.map((tier) => join(tier, `${name}.d`)).find((path) => existsSync(path));
  if (directory === undefined) return;
  try {
    appendEvent(join(directory, 'log'), eventText(entry, ts));
  } catch (error) {
    if (!(error instanceof ErrnoError) && !(error instanceof Error && 'code' in error)) throw error;
  }
}

/** `agent/NAME.d/log` of the tier that has it, and `events.jsonl` of its session. */
export function projectEvents(places: ProjectionPlaces): (entry: RecordEntry, ts: string) => void {
  return (entry, ts) => {
    const { agent, session } = entry;
    projectCall(places, entry, ts);
    if (agent === undefined || agent === null || !isChainName(`agent/${agent}`)) return;
    const text = eventText(entry, ts);
    const log = agentDirectories(places, agent).find((path) => existsSync(path));
    const home = join(places.root, 'home', String(places.uid), 'agent', agent);
    const isNamed = session !== undefined && session !== null && isChainName(`agent/${session}`);
    const acts = [
      ...(log === undefined ? [] : [() => appendEvent(join(log, 'log'), text)]),
      ...(isNamed ? [() => appendSessionEvent(home, session, text)] : []),
    ];
    for (const act of acts) {
      try {
        act();
      } catch (error) {
        // The chain has it. A full disk or a foreign file is not worth stopping for.
        if (!(error instanceof ErrnoError) && !(error instanceof Error && 'code' in error)) throw error;
      }
    }
  };
}
