/** Trees as hostile and as odd as people's: links of every kind, `..`, doubled slashes, case, unicode, long names. */
import { chmodSync, lchownSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import fc from 'fast-check';

const names = [
  'a',
  'A',
  'b',
  'B',
  'é',
  'e\u0301',
  'ß',
  'SS',
  '日本',
  'x y',
  '.hidden',
  '-n',
  'a"b',
  'line\nbreak',
  '$HOME',
];
const name = fc.oneof(fc.constantFrom(...names), fc.constantFrom('n'.repeat(250), '长'.repeat(80)));

interface Entry {
  readonly kind: 'directory' | 'file' | 'link';
  readonly parent: number;
  readonly name: string;
  readonly to: number;
  readonly text: 'absolute' | 'relative' | 'through dots' | 'nowhere' | 'itself' | 'outside';
}

export interface Grant {
  readonly access: 'read' | 'write';
  readonly to: number;
  readonly spelling: number;
}

export interface WorldPlan {
  readonly entries: readonly Entry[];
  readonly grants: readonly Grant[];
  readonly spellings: readonly number[];
  /** Whether everything around the world is shown too, the home and the store with it. */
  readonly around: boolean;
}

/** Without fast-check's liking for small numbers: everything in a world is to be met as often. */
const anyOf = fc.noBias(fc.nat());

const entry: fc.Arbitrary<Entry> = fc.record({
  kind: fc.constantFrom('directory', 'directory', 'file', 'file', 'link'),
  parent: anyOf,
  name,
  to: anyOf,
  text: fc.constantFrom('absolute', 'relative', 'through dots', 'nowhere', 'itself', 'outside'),
});

export const worldPlan: fc.Arbitrary<WorldPlan> = fc.record({
  entries: fc.array(entry, { minLength: 15, maxLength: 60, size: 'max' }),
  grants: fc.array(fc.record({ access: fc.constantFrom('read', 'write'), to: anyOf, spelling: anyOf }), {
    minLength: 3,
    maxLength: 8,
    size: 'max',
  }),
  spellings: fc.array(anyOf, { minLength: 8, maxLength: 8 }),
  around: fc.constantFrom(true, false, false),
});

export interface World {
  readonly root: string;
  readonly project: string;
  /** Everything in it, the directories first made first. */
  readonly paths: readonly string[];
}

function linkText(plan: Entry, at: string, to: string): string {
  switch (plan.text) {
    case 'absolute':
      return to;
    case 'relative':
      return relative(dirname(at), to) || '.';
    case 'through dots':
      return `./../${basename(dirname(at))}//${relative(dirname(at), to)}`;
    case 'nowhere':
      return './missing/../gone';
    case 'itself':
      return basename(at);
    case 'outside':
      return '/etc/shadow';
  }
}

/** Open to everybody: what a jail refuses it then refuses by itself, not by mode bits. */
export function buildWorld(
  root: string,
  plan: WorldPlan,
  owner: { readonly uid: number; readonly gid: number },
): World {
  const made = new Set<string>();
  const directories: string[] = [];
  const keep = (path: string, mode: number) => {
    chmodSync(path, mode);
    lchownSync(path, owner.uid, owner.gid);
    made.add(path);
  };
  const makeDirectory = (path: string) => {
    mkdirSync(path);
    keep(path, 0o777);
    directories.push(path);
  };
  const project = join(root, 'project');
  makeDirectory(root);
  makeDirectory(project);
  for (const each of plan.entries) {
    const path = join(directories[each.parent % directories.length] ?? root, each.name);
    if (made.has(path) || Buffer.byteLength(path) > 3000) continue;
    if (each.kind === 'directory') makeDirectory(path);
    else if (each.kind === 'file') {
      writeFileSync(path, path);
      keep(path, 0o666);
    } else {
      symlinkSync(linkText(each, path, [...made][each.to % made.size] ?? root), path);
      lchownSync(path, owner.uid, owner.gid);
      made.add(path);
    }
  }
  return { root, project, paths: [...made] };
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Another way to write the same path. */
export function spelled(path: string, spelling: number, cwd: string): string {
  const parent = dirname(path);
  switch (spelling % 6) {
    case 1:
      return `${parent}//${basename(path)}`;
    case 2:
      return `${parent}/.///./${basename(path)}`;
    case 3:
      return `${parent}/../${basename(parent)}/${basename(path)}`;
    case 4:
      return isDirectoryQuietly(path) ? `${path}/` : path;
    case 5:
      return relative(cwd, path) || '.';
    default:
      return path;
  }
}

/** A link to itself is none, and says so by an error. */
function isDirectoryQuietly(path: string): boolean {
  try {
    return isDirectory(path);
  } catch {
    return false;
  }
}
