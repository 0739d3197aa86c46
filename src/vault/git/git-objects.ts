/**
 * Objects of a fork come home by git's own door, as those of a stranger do that are fetched: git packs what the fork wrote, checks
 * every object and each one that it names (`--strict`), and writes them itself, into a directory of ours. Nothing of the person's
 * is written here.
 */
import { closeSync, mkdirSync, openSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { looseObjectsAtOnce } from '../../base/limits/store.js';
import { encodePath } from '../../base/path-bytes.js';
import type { ObjectFormat } from './git-index-file.js';
import { type Git, type GitEnd, sterile } from './git-program.js';

export interface ObjectsRequest {
  readonly git: Git;
  /** An empty directory of ours. */
  readonly scratch: string;
  /** The person's object store; undefined where they have none. */
  readonly known?: string | undefined;
  readonly format: ObjectFormat;
  /** Commits whose parents are not there, by the word of a file that is trusted. */
  readonly shallow?: Buffer | undefined;
  /** A directory of ours that holds copies of the fork's new objects, and nothing else. */
  readonly objects: string;
  readonly loose: readonly string[];
  /** Names in its `pack`, oldest first. */
  readonly packs: readonly string[];
}

export interface TakenObjects {
  /** Why they stay; undefined where all of them come. */
  readonly fault?: string | undefined;
  /** Where git wrote them, and their names there. */
  readonly directory: string;
  readonly files: readonly string[];
}

const person = 'known';
const made = 'made';

/** A repository of ours, with nothing in it. Links have plain names, whatever they lead to: git is told these. */
export function prepareScratch({ scratch, known, format, shallow, objects }: ObjectsRequest): void {
  for (const name of ['objects', 'refs', made]) mkdirSync(join(scratch, name), { mode: 0o700 });
  writeFileSync(join(scratch, 'HEAD'), 'ref: refs/heads/none\n');
  const version = format === 'sha1' ? 0 : 1;
  const extension = format === 'sha1' ? '' : '[extensions]\n\tobjectFormat = sha256\n';
  writeFileSync(join(scratch, 'config'), `[core]\n\trepositoryFormatVersion = ${version}\n\tbare = true\n${extension}`);
  if (shallow !== undefined) writeFileSync(join(scratch, 'shallow'), shallow);
  if (known !== undefined) symlinkSync(encodePath(known), join(scratch, person));
  symlinkSync(encodePath(objects), join(scratch, 'fork'));
}

function environmentOf({ scratch, known }: ObjectsRequest, store: string, sees: boolean): Record<string, string> {
  const others = sees && known !== undefined ? { GIT_ALTERNATE_OBJECT_DIRECTORIES: join(scratch, person) } : {};
  return { ...sterile, GIT_DIR: scratch, GIT_OBJECT_DIRECTORY: join(scratch, store), ...others };
}

async function takePack(request: ObjectsRequest, file: string | Buffer, few: boolean): Promise<GitEnd> {
  const input = openSync(file, 'r');
  const words = few ? ['unpack-objects', '-q', '--strict'] : ['index-pack', '--strict', '--stdin'];
  try {
    const environment = environmentOf(request, made, true);
    return await request.git.run({ words, environment, input, cwd: request.scratch });
  } finally {
    closeSync(input);
  }
}

/** Of the copies, by a list of their names. */
async function takePacked(request: ObjectsRequest, input: Buffer | number, few: boolean): Promise<GitEnd> {
  const { scratch, git } = request;
  const file = join(scratch, 'taken.pack');
  const output = openSync(file, 'w', 0o600);
  try {
    const words = ['pack-objects', '--stdout', '-q', '--window=0'];
    const environment = environmentOf(request, 'fork', false);
    const packed = await git.run({ words, environment, input, output, cwd: scratch });
    if (packed.code !== 0) return packed;
  } finally {
    closeSync(output);
  }
  return takePack(request, file, few);
}

function takeLoose(request: ObjectsRequest): Promise<GitEnd> {
  const list = Buffer.from(request.loose.map((id) => `${id}\n`).join(''));
  return takePacked(request, list, request.loose.length <= looseObjectsAtOnce);
}

/** All of them as one pack, made by git of what it finds in the copies: what each needs of the others is in it. */
async function takeTogether(request: ObjectsRequest): Promise<GitEnd> {
  const { scratch, packs, git } = request;
  const environment = environmentOf(request, 'fork', false);
  for (const name of packs) {
    // For its index, which names what is in it. What it holds is checked with the rest.
    const words = ['index-pack', join(scratch, 'fork', 'pack', name)];
    const indexed = await git.run({ words, environment, cwd: scratch });
    if (indexed.code !== 0) return indexed;
  }
  const words = ['cat-file', '--batch-all-objects', '--unordered', '--buffer', '--batch-check=%(objectname)'];
  const list = join(scratch, 'all.list');
  const output = openSync(list, 'w', 0o600);
  const listed = await git.run({ words, environment, output, cwd: scratch }).finally(() => closeSync(output));
  if (listed.code !== 0) return listed;
  const input = openSync(list, 'r');
  return takePacked(request, input, false).finally(() => closeSync(input));
}

const written = /^(?:[0-9a-f]{2}\/[0-9a-f]{38,62}|pack\/pack-[0-9a-f]+\.(?:pack|idx|rev))$/;

function filesIn(directory: string): readonly string[] {
  return readdirSync(directory)
    .filter((name) => statSync(join(directory, name)).isDirectory())
    .flatMap((name) => readdirSync(join(directory, name)).map((each) => `${name}/${each}`))
    .filter((name) => written.test(name));
}

/** What one pack needs may be in another: each is tried again as long as any was taken, and then those that need each other. */
export async function takeObjects(request: ObjectsRequest): Promise<TakenObjects> {
  const { scratch, loose, packs } = request;
  const packed = packs.map((name) => () => takePack(request, join(scratch, 'fork', 'pack', name), false));
  let left = loose.length === 0 ? packed : [...packed, () => takeLoose(request)];
  let fault: string | undefined;
  for (let before = left.length + 1; left.length > 0 && left.length < before; ) {
    before = left.length;
    const failed: typeof left = [];
    for (const take of left) {
      const { code, reason } = await take();
      if (code === 0) continue;
      failed.push(take);
      fault = reason === '' ? 'git ended without an error message' : reason;
    }
    left = failed;
  }
  if (left.length > 1) {
    const { code, reason } = await takeTogether(request);
    if (code === 0) left = [];
    else if (reason !== '') fault = reason;
  }
  const directory = join(scratch, made);
  if (left.length > 0) return { fault, directory, files: [] };
  return { directory, files: filesIn(directory) };
}

/** The kinds of these objects, in the person's store and among those that were taken; undefined for those that are not there. */
export async function kindsOf(request: ObjectsRequest, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map();
  const { git, scratch } = request;
  const words = ['cat-file', '--batch-check=%(objectname) %(objecttype)', '--buffer'];
  const input = Buffer.from(ids.map((id) => `${id}\n`).join(''));
  const environment = environmentOf(request, made, true);
  const { stdout } = await git.run({ words, environment, input, cwd: scratch });
  const lines = stdout.toString('latin1').split('\n');
  return new Map(
    lines.flatMap((line) => {
      const [id = '', kind = ''] = line.split(' ');
      return /^(?:commit|tree|blob|tag)$/.test(kind) ? [[id, kind] as const] : [];
    }),
  );
}
