/**
 * One repository of a fork, its linked working trees included: what is made of its changed files, and which of them stay. A commit
 * is whole or stays: where its objects are refused, or one of the files that name them, all of those files are held back.
 */
import { lstatSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { gitIndexBytes, gitListBytes, gitTakenBytes, gitTextBytes } from '../../base/limits/store.js';
import { decodePath, encodePath } from '../../base/path-bytes.js';
import { type ContentOutcome, contentOrigin } from './git-contents.js';
import type { ObjectFormat } from './git-index-file.js';
import { judgeConfiguration } from './git-judged-configuration.js';
import { kindsOf, type ObjectsRequest, prepareScratch, takeObjects } from './git-objects.js';
import { copyIn, type OriginFile } from './git-origin-layer.js';
import { type Part, partOf } from './git-parts.js';
import { type GitPlace, isPipe, isThere } from './git-places.js';
import type { Git } from './git-program.js';
import { parsePackedRefs } from './git-refs.js';
import { type JudgedChange, judgeAll } from './git-verdicts.js';

/** A change in a repository's own directory. */
export interface Item extends JudgedChange {
  /** Absolute. */
  readonly whole: string;
  /** Its root, and where it is in that. */
  readonly key: string;
  readonly path: string;
}

export interface PartReading {
  readonly item: Item;
  readonly part: Part;
}

/** What is known of a repository before any of its files is read. */
export interface Unit {
  readonly common: string;
  readonly items: readonly Item[];
  readonly readings: readonly PartReading[];
  /** Those that only have to be there. */
  readonly directories: readonly Item[];
  readonly sensitive: Map<Item, string>;
  readonly dropped: Set<Item>;
}

export interface UnitRequest {
  readonly git: Git;
  /** Holds copies of what is to be read, by root and path. */
  readonly copies: string;
  /** An empty directory. */
  readonly scratch: string;
  /** Absolute paths of everything that the fork changes, one character a byte. */
  readonly changed: ReadonlySet<string>;
  readonly keepsFlags: boolean;
}

export interface UnitOrigin {
  readonly files: readonly (readonly [key: string, file: OriginFile])[];
  /** What of a file that comes stays behind. */
  readonly without: readonly (readonly [item: Item, what: string])[];
}

const latin1 = (path: string) => encodePath(path).toString('latin1');

interface OwnFile {
  readonly bytes: Buffer;
  readonly time: bigint;
}

/**
 * The person's own file, whole. Undefined where nothing is there, null for what is not a file, too large, or closed.
 */
function ownFile(path: string, mostBytes: number): OwnFile | undefined | null {
  const name = encodePath(path);
  const about = lstatSync(name, { bigint: true, throwIfNoEntry: false });
  if (about === undefined) return undefined;
  if (!about.isFile() || about.size > BigInt(mostBytes)) return null;
  try {
    return { bytes: readFileSync(name), time: about.mtimeNs };
  } catch {
    return null;
  }
}

/** Whether a ref is there in the fork: by a file of its own, or packed. What it packed anew is known once that was copied. */
function refsOf(common: string, items: readonly Item[], packed?: Buffer): (name: string) => boolean {
  const own = new Map(items.filter(({ place }) => place.kind === 'repository').map((item) => [item.name, item.change]));
  const yours = own.has('packed-refs') ? undefined : ownFile(posix.join(common, 'packed-refs'), gitListBytes)?.bytes;
  const known = parsePackedRefs((packed ?? yours)?.toString('latin1') ?? '');
  return (name) => {
    const change = own.get(name);
    if (change !== undefined && change.kind !== 'deleted') return true;
    if (known === undefined || known.has(name)) return true;
    const path = decodePath(Buffer.from(name, 'latin1'));
    return change === undefined && ownFile(posix.join(common, path), gitTextBytes) !== undefined;
  };
}

/** Those that only git reads. */
const isObject = ({ part }: PartReading) => part === 'loose object' || part === 'pack';

export function unitOf(items: readonly Item[]): Unit {
  const common = items[0]?.place.common ?? '/';
  const readings: PartReading[] = [];
  const directories: Item[] = [];
  const sensitive = new Map<Item, string>();
  const dropped = new Set<Item>();
  const verdicts = judgeAll(items, refsOf(common, items));
  items.forEach((item, at) => {
    const verdict = verdicts[at];
    if (verdict?.is === 'sensitive') sensitive.set(item, verdict.why);
    else if (verdict?.is === 'dropped') dropped.add(item);
    else if (verdict?.is === 'made') directories.push(item);
    else if (verdict?.is === 'read') {
      // An object goes by its content: who has the name has it.
      const isKnown = verdict.part === 'loose object' && ownFile(item.whole, 0) !== undefined;
      if (isKnown) dropped.add(item);
      else readings.push({ item, part: verdict.part });
    }
  });
  const bytes = readings.reduce((sum, reading) => sum + (isObject(reading) ? 0 : reading.item.change.size), 0);
  if (bytes > gitTakenBytes) {
    for (const { item } of readings)
      sensitive.set(item, 'the changed files of this repository are too large together to be judged as a whole');
    readings.length = 0;
  }
  return { common, items, readings, directories, sensitive, dropped };
}

/** The directory whose files an index lists; undefined where it cannot be known. */
function workingTree({ kind, directory }: GitPlace): string | undefined {
  if (kind === 'repository') return posix.basename(directory) === '.git' ? posix.dirname(directory) : undefined;
  const text = ownFile(posix.join(directory, 'gitdir'), gitTextBytes)?.bytes;
  return text === undefined ? undefined : posix.dirname(decodePath(text).replace(/\n$/, ''));
}

/** As the person has it now: with its objects, at the path or in its `.git`. */
const isOwnRepository = (path: string) =>
  [path, posix.join(path, '.git')].some(
    (each) => isThere(posix.join(each, 'HEAD')) && isThere(posix.join(each, 'objects')),
  );

function formatOf(common: string): ObjectFormat {
  const text = ownFile(posix.join(common, 'config'), gitTextBytes)?.bytes.toString('latin1') ?? '';
  return /objectformat[ \t]*=[ \t]*"?sha256/i.test(text) ? 'sha256' : 'sha1';
}

/** What of these is in a directory, by its path there: an index asks for each of its names. */
function changedIn(paths: ReadonlySet<string>, top: string): ReadonlySet<string> {
  const found = new Set<string>();
  for (const path of paths) if (path.startsWith(`${top}/`)) found.add(path.slice(top.length + 1));
  return found;
}

/** Parts that name objects, or go with those that do. */
const ofCommit: ReadonlySet<Part> = new Set(['head', 'ref', 'packed refs', 'index', 'reflog', 'pseudo ref', 'message']);

function objectsRequest({ common, readings }: Unit, { git, scratch, copies }: UnitRequest): ObjectsRequest {
  const copyOf = ({ key, path }: Item) => copyIn(join(copies, key), path);
  const stored = readings.filter(isObject);
  const first = stored[0]?.item;
  const objects =
    first === undefined
      ? Buffer.from(scratch)
      : copyOf(first).subarray(0, 'objects'.length - encodePath(first.name).length);
  const shallow = readings.find(({ part }) => part === 'shallow')?.item;
  const packs = stored
    .filter(({ part }) => part === 'pack')
    .map(({ item }) => [lstatSync(copyOf(item)).mtimeMs, posix.basename(item.name)] as const)
    .sort(([left], [right]) => left - right);
  const store = posix.join(common, 'objects');
  return {
    git,
    scratch,
    known: ownFile(store, 0) === undefined || isPipe(join(store, 'info', 'alternates')) ? undefined : store,
    format: formatOf(common),
    shallow:
      shallow === undefined
        ? ownFile(posix.join(common, 'shallow'), gitListBytes)?.bytes
        : readFileSync(copyOf(shallow)),
    objects: decodePath(Buffer.from(objects)),
    loose: stored
      .filter(({ part }) => part === 'loose object')
      .map(({ item }) => item.name.slice('objects/'.length).replace('/', '')),
    packs: packs.map(([, name]) => name),
  };
}

/** Half of an operation is worse than none. What `rerere` notes is not an operation. */
const isUnderWay = ({ name, change }: Item) =>
  change.kind !== 'deleted' && partOf(name) === 'state' && name !== 'MERGE_RR';

/** Objects, the files that name them, the configuration: each into `files`, or to what is held back. */
export async function takeUnit(unit: Unit, request: UnitRequest): Promise<UnitOrigin> {
  const { items, readings, directories, sensitive, dropped, common } = unit;
  const copyOf = ({ key, path }: Item) => copyIn(join(request.copies, key), path);
  const files: (readonly [string, OriginFile])[] = [];
  const without: (readonly [Item, string])[] = [];
  const put = ({ key, path }: Pick<Item, 'key' | 'path'>, file: Omit<OriginFile, 'path'>) =>
    files.push([key, { path, ...file }]);
  /** Of a file that was made from the fork's. */
  const putMade = (item: Item, content: Buffer) => {
    const nanoseconds = lstatSync(copyOf(item), { bigint: true, throwIfNoEntry: false })?.mtimeNs;
    const modified = nanoseconds === undefined ? undefined : Number(nanoseconds) / 1e9;
    put(item, { mode: item.change.mode, content, modified });
  };
  const objects = objectsRequest(unit, request);
  prepareScratch(objects);

  const taken = await takeObjects(objects);
  const stored = readings.filter(isObject).map(({ item }) => item);
  let fault = taken.fault === undefined ? undefined : `git does not take the objects: ${taken.fault}`;
  if (fault === undefined) {
    for (const item of stored) dropped.add(item);
    const [first] = stored;
    const prefix = first?.path.slice(0, -first.name.length);
    for (const name of taken.files) {
      put(
        { key: first?.key ?? '', path: `${prefix}objects/${name}` },
        { mode: 0o444, content: { movedFrom: join(taken.directory, name) } },
      );
    }
  } else {
    // The index of a pack goes with it.
    const isStored = ({ name, change }: Item) =>
      /^objects\/(?:[0-9a-f]{2}|pack)\/[^/]+$/.test(name) && change.kind !== 'deleted';
    for (const item of items.filter(isStored)) {
      if (item.change.type === 'directory') continue;
      dropped.delete(item);
      sensitive.set(item, fault);
    }
  }

  const contentOf = ({ item, part }: PartReading): ContentOutcome => {
    const own = ownFile(item.whole, part === 'index' ? gitIndexBytes : gitListBytes);
    if (own === null) return { is: 'sensitive', why: 'yours cannot be read' };
    const tree = part === 'index' ? workingTree(item.place) : undefined;
    const changed = tree === undefined ? undefined : changedIn(request.changed, latin1(tree));
    return contentOrigin({
      part,
      name: item.name,
      fork: item.change.kind === 'deleted' ? Buffer.alloc(0) : readFileSync(copyOf(item)),
      person: own?.bytes,
      index: { personTime: own?.time ?? 0n, changed },
      format: objects.format,
      isNew: !item.place.isEstablished,
      keepsFlags: request.keepsFlags,
    });
  };
  const outcomes = readings
    .filter((reading) => !isObject(reading) && reading.part !== 'configuration')
    .map((reading) => [reading, contentOf(reading)] as const);
  for (const [{ item, part }, outcome] of outcomes) {
    if (outcome.is !== 'sensitive') continue;
    sensitive.set(item, outcome.why);
    if (ofCommit.has(part)) fault ??= `it goes with ${item.change.path}, which is held back`;
  }
  if (items.some((item) => isUnderWay(item) && sensitive.has(item))) {
    fault ??= 'a merge or rebase is under way, which stays in the fork: without it the next commit would differ';
  }
  if (fault === undefined) {
    const needs = outcomes.flatMap(([, outcome]) => (outcome.is === 'file' ? outcome.needs : []));
    const kinds = await kindsOf(objects, [...new Set(needs.map(({ id }) => id))]);
    const lacking = needs.find(({ id, kind }) => !kinds.has(id) || (kind !== undefined && kinds.get(id) !== kind));
    if (lacking !== undefined) fault = `${lacking.id} is not there, or is not a ${lacking.kind ?? 'object'}`;
  }
  for (const [{ item, part }, outcome] of outcomes) {
    if (outcome.is === 'sensitive') continue;
    if (fault !== undefined && ofCommit.has(part)) {
      sensitive.set(item, fault);
      continue;
    }
    if (outcome.without !== undefined) without.push([item, outcome.without]);
    if (outcome.is === 'dropped') dropped.add(item);
    else putMade(item, outcome.bytes);
  }
  if (fault !== undefined) {
    // A ref that goes while another stays would take a commit with it that the person has.
    const isRef = ({ name, change }: Item) => /^(?:logs\/)?refs\//.test(name) && change.kind === 'deleted';
    for (const item of items.filter(isRef)) if (!sensitive.has(item)) sensitive.set(item, fault);
  }

  const packed = readings.find(({ item, part }) => part === 'packed refs' && item.change.kind !== 'deleted');
  const hasRef = refsOf(common, items, packed === undefined ? undefined : readFileSync(copyOf(packed.item)));
  for (const item of items) {
    const isKept = item.change.kind === 'deleted' && item.name.startsWith('logs/') && item.change.type === 'file';
    if (isKept && !sensitive.has(item) && hasRef(item.name.slice('logs/'.length))) {
      sensitive.set(item, 'it says what a branch was before');
    }
  }
  for (const { item } of readings.filter(({ part }) => part === 'configuration')) {
    const own = ownFile(item.whole, gitTextBytes);
    const after = readFileSync(copyOf(item));
    const why = await judgeConfiguration({
      git: request.git,
      scratch: request.scratch,
      before: own === null ? null : own?.bytes,
      after,
      isNew: own === undefined && !item.place.isEstablished,
      isBranchGone: (branch) => !hasRef(`refs/heads/${branch}`),
      isOwnRepository: (path) => isOwnRepository(decodePath(Buffer.from(path, 'latin1'))),
    });
    if (why === undefined) putMade(item, after);
    else sensitive.set(item, `git takes programs to run from it: ${why}`);
  }
  for (const item of directories) put(item, { mode: 0o755, content: 'directory' });
  return { files, without };
}
