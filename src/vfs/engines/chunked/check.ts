/**
 * Whether a chunk store is whole: every root's tree from its pages up, every chunk against its digest, names against inodes, link
 * counts and sizes. It only reads. `collect` deletes what no root leads to.
 */
import { Blake3 } from '../../../base/blake3.js';
import { textFromName } from '../../names.js';
import { chunkBytes } from './chunk-content.js';
import { type ChunkDatabase, entriesIn } from './database.js';
import { decodePage, type Page } from './page.js';
import { type ChunkedRecord, decodeRecord, unpacked } from './records.js';

export interface CheckResult {
  readonly problems: readonly string[];
  readonly snapshots: readonly {
    readonly name: string;
    readonly made: string;
    readonly files: number;
    readonly clone?: true;
  }[];
  readonly files: number;
  readonly chunks: number;
  /** Pages and chunks that no root leads to; writing reuses their space after `collect`. */
  readonly unused: number;
}

interface Reached {
  readonly pages: Set<number>;
  readonly chunks: Set<string>;
}

type Report = (problem: string) => void;

export function checkStore(database: ChunkDatabase): CheckResult {
  const problems: string[] = [];
  const report: Report = (problem) => problems.push(problem);
  const heading = database.heading();
  if (heading === undefined) return { problems: ['it has no heading'], snapshots: [], files: 0, chunks: 0, unused: 0 };
  const reached: Reached = { pages: new Set(), chunks: new Set() };
  const roots = [['', heading.head] as const, ...database.roots()];
  for (const [name, root] of roots) {
    checkRoot(database, root.page, reached, (problem) =>
      report(name === '' ? problem : `snapshot ${name}: ${problem}`),
    );
  }
  const hash = new Blake3();
  let unused = 0;
  for (const digest of database.chunkDigests()) {
    if (!reached.chunks.has(digest)) unused += 1;
    const bytes = database.chunk(digest);
    if (bytes !== undefined && hash.digest(bytes).toString('latin1') === digest) continue;
    report(`chunk ${Buffer.from(digest, 'latin1').toString('hex').slice(0, 16)} is damaged`);
  }
  for (const digest of reached.chunks) {
    if (!database.hasChunk(digest)) {
      report(`chunk ${Buffer.from(digest, 'latin1').toString('hex').slice(0, 16)} is missing`);
    }
  }
  const snapshots = database.roots().map(([name, root]) => {
    const clone = root.clone === true ? ({ clone: true } as const) : {};
    return { name, made: root.made, files: entriesIn(root), ...clone };
  });
  return { problems, snapshots, files: entriesIn(heading.head), chunks: reached.chunks.size, unused };
}

/** Deletes pages and chunks that neither the tree nor a snapshot leads to. Returns the bytes they had. */
export function collect(database: ChunkDatabase): number {
  const heading = database.heading();
  if (heading === undefined) return 0;
  const reached: Reached = { pages: new Set(), chunks: new Set() };
  const whole = [heading.head, ...database.roots().map(([, root]) => root)].every((root) => {
    let damaged = false;
    walk(database, root.page, reached, () => {
      damaged = true;
    });
    return !damaged;
  });
  // What a damaged page led to is not known: nothing is deleted then.
  return whole
    ? database.sweep(
        (page) => reached.pages.has(page),
        (digest) => reached.chunks.has(digest),
      )
    : 0;
}

/** Every leaf's entries, in order; pages that another root had already only where `again` asks for them. */
function walk(
  database: ChunkDatabase,
  root: number,
  reached: Reached,
  report: Report,
  entry?: (key: string, value: Buffer) => void,
): void {
  const seen = new Set<number>();
  const visit = (number: number): void => {
    if (seen.has(number)) {
      report(`page ${number} is in its tree twice`);
      return;
    }
    seen.add(number);
    if (entry === undefined && reached.pages.has(number)) return;
    reached.pages.add(number);
    let page: Page;
    try {
      const bytes = database.page(number);
      if (bytes === undefined) throw new Error(`page ${number} is missing`);
      page = decodePage(number, bytes);
    } catch (error) {
      report(error instanceof Error ? error.message : String(error));
      return;
    }
    for (const [index, key] of page.keys.entries()) {
      if (index > 0 && key <= (page.keys[index - 1] ?? '')) report(`page ${number} is not in order`);
      if (!page.isLeaf) visit(page.children[index] ?? 0);
      else {
        const value = page.values[index] ?? Buffer.alloc(0);
        if (key.startsWith('c')) reached.chunks.add(value.toString('latin1'));
        try {
          entry?.(key, value);
        } catch (error) {
          if (!(error instanceof RangeError)) throw error;
          report(`an entry of page ${number} is too short`);
        }
      }
    }
  };
  visit(root);
}

function checkRoot(database: ChunkDatabase, root: number, reached: Reached, report: Report): void {
  const records = new Map<number, ChunkedRecord>();
  const names: (readonly [directory: number, name: string, inode: number])[] = [];
  const chunks = new Map<number, number>();
  /** Where the last chunk begins. */
  const ends = new Map<number, number>();
  let last = '';
  walk(database, root, reached, report, (key, value) => {
    if (key <= last) report('the tree is not in order');
    last = key;
    const inode = unpacked(key, 1);
    if (key.startsWith('i')) records.set(inode, decodeRecord(inode, value));
    else if (key.startsWith('d')) names.push([inode, key.slice(7), value.readUIntBE(0, 6)]);
    else if (key.startsWith('c')) {
      chunks.set(inode, (chunks.get(inode) ?? 0) + 1);
      ends.set(inode, unpacked(key, 7) * chunkBytes);
    }
  });
  const links = new Map<number, number>();
  for (const [directory, name, inode] of names) {
    const record = records.get(inode);
    if (record === undefined) report(`'${textFromName(name)}' in directory ${directory} leads nowhere`);
    if (records.get(directory)?.kind !== 'directory')
      report(`'${textFromName(name)}' is in ${directory}, not a directory`);
    links.set(inode, (links.get(inode) ?? 0) + 1);
    if (record?.kind !== 'directory') continue;
    if (record.parent !== directory) report(`directory ${inode} has another parent than ${directory}`);
    links.set(directory, (links.get(directory) ?? 0) + 1);
  }
  for (const [inode, { kind, size, links: said, chunks: counted }] of records) {
    if ((ends.get(inode) ?? -1) >= size) report(`inode ${inode} has content past its end`);
    const found = (links.get(inode) ?? 0) + (kind === 'directory' ? 1 : 0) + (inode === 1 ? 1 : 0);
    const expected = said === 0 ? (kind === 'directory' ? 1 : 0) : said;
    if (found !== expected) report(`inode ${inode} has ${found} links and says ${expected}`);
    if ((chunks.get(inode) ?? 0) !== counted)
      report(`inode ${inode} has ${chunks.get(inode) ?? 0} chunks, not ${counted}`);
  }
  for (const inode of chunks.keys()) if (!records.has(inode)) report(`content of inode ${inode}, which is gone`);
}
