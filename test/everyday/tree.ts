/** A tree as data, and in what two of them differ: kinds, modes, owners, contents, link targets, hard links, the order of times. */
import { createHash } from 'node:crypto';
import { type BigIntStats, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

export interface Entry {
  readonly kind: string;
  readonly owner: string;
  readonly content: string;
  /** The first name of the same file. */
  readonly sameAs: string;
  readonly modified: bigint;
}

export type Tree = ReadonlyMap<string, Entry>;

export interface Selection {
  readonly volatile?: RegExp | undefined;
  readonly leftOut?: RegExp | undefined;
}

/** What a program writes about the files it saw: inode numbers and times. */
const alwaysVolatile = /(?:^|\/)\.git\/(?:.*\/)?index$/;

function kindOf(stat: BigIntStats): string {
  const kind = stat.isDirectory()
    ? 'directory'
    : stat.isSymbolicLink()
      ? 'link'
      : stat.isFIFO()
        ? 'pipe'
        : stat.isSocket()
          ? 'socket'
          : 'file';
  return kind === 'link' ? kind : `${kind} ${(stat.mode & 0o7777n).toString(8)}`;
}

export function readTree(root: string, { volatile, leftOut }: Selection = {}): Tree {
  const entries = new Map<string, Entry>();
  const firstNames = new Map<string, string>();
  const visit = (path: string) => {
    const stat = lstatSync(join(root, path), { bigint: true });
    const key = `${stat.dev}:${stat.ino}`;
    const sameAs = stat.isDirectory() ? path : (firstNames.get(key) ?? path);
    firstNames.set(key, sameAs);
    const isVolatile = alwaysVolatile.test(path) || volatile?.test(path) === true;
    const content = stat.isSymbolicLink()
      ? readlinkSync(join(root, path))
      : stat.isFile() && !isVolatile
        ? createHash('sha256')
            .update(readFileSync(join(root, path)))
            .digest('hex')
        : '';
    const owner = `${stat.uid}:${stat.gid}`;
    entries.set(path, { kind: kindOf(stat), owner, content, sameAs, modified: stat.mtimeNs });
    if (!stat.isDirectory()) return;
    for (const name of readdirSync(join(root, path)).sort()) {
      const below = path === '.' ? name : `${path}/${name}`;
      if (leftOut?.test(below) !== true) visit(below);
    }
  };
  visit('.');
  return entries;
}

const shown = 6;

function some(all: readonly string[]): string | undefined {
  if (all.length === 0) return undefined;
  const more = all.length > shown ? [`and ${all.length - shown} more`] : [];
  return [...all.slice(0, shown), ...more].join('\n');
}

/** Everything but times. */
export function treeDifference(expected: Tree, found: Tree): string | undefined {
  const differ: string[] = [];
  for (const path of new Set([...expected.keys(), ...found.keys()])) {
    const [a, b] = [expected.get(path), found.get(path)];
    if (a === undefined || b === undefined) {
      differ.push(`${path}: ${a === undefined ? 'is there' : 'is missing'}`);
      continue;
    }
    for (const part of ['kind', 'owner', 'content', 'sameAs'] as const) {
      if (a[part] !== b[part]) differ.push(`${path}: ${part} ${b[part]}, expected ${a[part]}`);
    }
  }
  return some(differ);
}

/** Git's own bookkeeping: it writes an index anew to look, and touches objects that it would have written again. */
const gitOwn = /(?:^|\/)\.git\/(?:.*\/)?(?:index$|objects\/)/;

/** Closer than this, chance and the clock's steps decide. */
const apart = 500_000_000n;

/** New paths that have the time of one that is gone: renamed. They come home as what is new there does (docs/times.md). */
function renamed(before: Tree, expected: Tree): ReadonlySet<string> {
  const gone = new Set([...before].filter(([path]) => !expected.has(path)).map(([, { modified }]) => modified));
  return new Set(
    [...expected].filter(([path, { modified }]) => !before.has(path) && gone.has(modified)).map(([path]) => path),
  );
}

/**
 * What a build system sees: of two files of which one is clearly older outside, it is not the newer one inside; and what was not
 * touched outside has the time it had.
 */
export function timeDifference(before: Tree, expected: Tree, found: Tree): string | undefined {
  const differ: string[] = [];
  for (const [path, { modified, kind }] of expected) {
    const [start, now] = [before.get(path), found.get(path)];
    if (start === undefined || now === undefined || kind.startsWith('directory') || gitOwn.test(path)) continue;
    if (start.modified === modified && now.modified !== start.modified) differ.push(`${path}: another time, untouched`);
    if (start.modified !== modified && now.modified === start.modified)
      differ.push(`${path}: the time it had, touched`);
  }
  const files = [...expected].filter(
    ([path, { kind }]) => found.has(path) && !kind.startsWith('directory') && !gitOwn.test(path),
  );
  files.sort(([, a], [, b]) => (a.modified < b.modified ? -1 : 1));
  const moved = renamed(before, expected);
  let newest: { path: string; modified: bigint } | undefined;
  let settled = 0;
  for (const [path, entry] of files) {
    for (; settled < files.length; settled += 1) {
      const [older = '', { modified = 0n } = {}] = files[settled] ?? [];
      if (modified + apart > entry.modified) break;
      if (moved.has(older)) continue;
      const now = found.get(older)?.modified ?? 0n;
      if (newest === undefined || now > newest.modified) newest = { path: older, modified: now };
    }
    const now = found.get(path)?.modified ?? 0n;
    if (newest !== undefined && now < newest.modified)
      differ.push(`${path}: older than ${newest.path}, expected newer`);
  }
  return some(differ);
}
