/** `ctx vfs ls|cat|stat|put|rm|snapshot|check SPEC ...`: one tree, by its specification. */
import { readSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { ErrnoError, ExitCode, fromSystemError, hasCode } from '../../base/errno.js';
import { nativeProgram } from '../../base/native-program.js';
import { timeText } from '../../base/time-text.js';
import { visible } from '../../base/visible-text.js';
import { currentDirectory } from '../../sdk/current-directory.js';
import { counted } from '../text/change-text.js';
import { painter, print, printExact, printJson } from '../text/output.js';
import type { Arguments, Run } from '../verb.js';

const part = async () => import('../../sdk/vfs/virtual-files.js');
const pieceBytes = 1024 * 1024;
const inputAgainMilliseconds = 20;

function placeOf({ words }: Arguments) {
  return {
    specification: words[0] ?? '',
    directory: currentDirectory(),
    lockLibrary: nativeProgram('flock.node'),
  };
}

/** Trees that are not ours only where that was asked for in so many words; what is ours, always. */
function writing(call: Arguments) {
  return { writable: call.flag('writable') ? true : undefined, create: true };
}

const kinds = [
  ['isDirectory', 'directory', 'd'],
  ['isSymbolicLink', 'symlink', 'l'],
  ['isFIFO', 'fifo', 'p'],
  ['isSocket', 'socket', 's'],
  ['isCharacterDevice', 'character', 'c'],
  ['isBlockDevice', 'block', 'b'],
  ['isFile', 'file', '-'],
] as const;

type Kinded = Readonly<Record<(typeof kinds)[number][0], () => boolean>>;

function kindOf(entry: Kinded): readonly [string, string] {
  const found = kinds.find(([question]) => entry[question]());
  return [found?.[1] ?? 'file', found?.[2] ?? '-'];
}

function permissions(mode: number): string {
  return [6, 3, 0]
    .map((shift) => ['r', 'w', 'x'].map((letter, bit) => ((mode >> (shift + 2 - bit)) & 1 ? letter : '-')).join(''))
    .join('');
}

export const list: Run = async (call) => {
  const { withTree } = await part();
  const path = call.words[1] ?? '/';
  const rows = await withTree(placeOf(call), { writable: false }, async (tree) => {
    const about = await tree.lstat(path);
    const names = about.isDirectory() ? ((await tree.readdir(path)) as string[]) : [];
    const below = path.endsWith('/') ? path : `${path}/`;
    const entries = await Promise.all(
      names.map(async (name) => ({ name, stats: await tree.lstat(`${below}${name}`) })),
    );
    return about.isDirectory() ? entries : [{ name: path, stats: about }];
  });
  if (call.flag('json')) {
    const entries = rows.map(({ name, stats }) => ({
      name,
      kind: kindOf(stats)[0],
      size: stats.size,
      mode: stats.mode & 0o7777,
      modified: timeText(stats.mtimeMs),
    }));
    printJson({ version: 1, path, entries });
    return ExitCode.ok;
  }
  const width = Math.max(0, ...rows.map(({ stats }) => String(stats.size).length));
  const paint = painter(process.stdout);
  for (const { name, stats } of rows) {
    const facts = `${kindOf(stats)[1]}${permissions(stats.mode)}  ${String(stats.size).padStart(width)}`;
    print(`${paint('dim', `${facts}  ${timeText(stats.mtimeMs).replace(/\.\d+Z$/, 'Z')}`)}  ${visible(name)}\n`);
  }
  return ExitCode.ok;
};

export const cat: Run = async (call) => {
  const { withTree } = await part();
  const path = call.words[1] ?? '';
  await withTree(placeOf(call), { writable: false }, async (tree) => {
    if (call.flag('json')) {
      const bytes = Buffer.from(await tree.readFile(path));
      printJson({ version: 1, path, size: bytes.length, base64: bytes.toString('base64') });
      return;
    }
    const file = await tree.open(path);
    for (;;) {
      const { bytesRead, buffer } = await file.read({ buffer: Buffer.alloc(pieceBytes) });
      if (bytesRead === 0) return;
      printExact(Buffer.from(buffer.buffer, buffer.byteOffset, bytesRead));
    }
  });
  return ExitCode.ok;
};

export const stat: Run = async (call) => {
  const { withTree } = await part();
  const path = call.words[1] ?? '';
  const { stats, target } = await withTree(placeOf(call), { writable: false }, async (tree) => {
    const found = await tree.lstat(path);
    return { stats: found, target: found.isSymbolicLink() ? await tree.readlink(path) : undefined };
  });
  const [kind] = kindOf(stats);
  const facts = {
    kind,
    size: stats.size,
    mode: stats.mode & 0o7777,
    uid: stats.uid,
    gid: stats.gid,
    links: stats.nlink,
    inode: stats.ino,
    blocks: stats.blocks,
    accessed: timeText(stats.atimeMs),
    modified: timeText(stats.mtimeMs),
    changed: timeText(stats.ctimeMs),
    ...(target === undefined ? {} : { target }),
  };
  if (call.flag('json')) printJson({ version: 1, path, ...facts });
  else {
    const paint = painter(process.stdout);
    print(`${paint('bold', visible(path))}\n`);
    for (const [name, value] of Object.entries(facts)) {
      const text = name === 'mode' ? `0${Number(value).toString(8)}` : visible(String(value));
      print(`  ${paint('dim', name.padEnd(9))}  ${text}\n`);
    }
  }
  return ExitCode.ok;
};

/** Another process may have made it non-blocking: then it is looked at again, for as long as its writer takes. */
async function* stdin(): AsyncGenerator<Buffer> {
  const bytes = Buffer.allocUnsafe(pieceBytes);
  for (;;) {
    let count = 0;
    try {
      count = readSync(0, bytes);
    } catch (error) {
      if (!hasCode(error, 'EAGAIN')) throw fromSystemError(error, 'read', 'stdin');
      await sleep(inputAgainMilliseconds);
      continue;
    }
    if (count === 0) return;
    yield Buffer.from(bytes.subarray(0, count));
  }
}

/** ENOENT with what to do about it: the file itself need not be there. */
async function requireDirectory(tree: { access(path: string): Promise<void> }, path: string, directory: string) {
  try {
    await tree.access(directory === '' ? '/' : directory);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    throw new ErrnoError('ENOENT', {
      operation: 'put',
      path,
      reason: `the directory ${directory} does not exist in this tree`,
      remedy: 'add --parents to make it',
    });
  }
}

export const put: Run = async (call) => {
  const { withTree, refuseFleeting } = await part();
  const path = call.words[1] ?? '';
  let written = 0;
  refuseFleeting(placeOf(call));
  await withTree(placeOf(call), writing(call), async (tree) => {
    const directory = path.slice(0, Math.max(0, path.lastIndexOf('/')));
    if (call.flag('parents') && directory !== '') await tree.mkdir(directory, { recursive: true });
    await requireDirectory(tree, path, directory);
    const file = await tree.open(path, 'w');
    for await (const piece of stdin()) {
      await file.writeFile(piece);
      written += piece.length;
    }
    await file.sync();
    await file.close();
  });
  if (call.flag('json')) printJson({ version: 1, path, bytes: written });
  return ExitCode.ok;
};

export const remove: Run = async (call) => {
  const { withTree } = await part();
  const path = call.words[1] ?? '';
  await withTree(placeOf(call), { ...writing(call), create: false }, async (tree) => {
    await tree.rm(path, { recursive: call.flag('recursive') }).catch((error: unknown) => {
      if (call.flag('recursive') || !hasCode(error, 'EISDIR')) throw error;
      throw new ErrnoError('EISDIR', {
        operation: 'rm',
        path,
        reason: 'it is a directory',
        remedy: 'add --recursive to remove it with everything in it',
      });
    });
  });
  if (call.flag('json')) printJson({ version: 1, path });
  return ExitCode.ok;
};

async function listSnapshots(call: Arguments): Promise<number> {
  const { snapshotsOf } = await part();
  const snapshots = await snapshotsOf(placeOf(call));
  if (call.flag('json')) printJson({ version: 1, snapshots });
  else {
    for (const { name, made, files, clone } of snapshots)
      print(`${name}  ${made}  ${counted(files, 'entry', 'entries')}${clone === true ? '  clone' : ''}\n`);
  }
  return ExitCode.ok;
}

export const snapshot: Run = async (call) => {
  const { snapshotTree, deleteSnapshotOf } = await part();
  const [, wanted] = call.words;
  if (wanted === undefined && call.flag('delete')) {
    throw new ErrnoError('EINVAL', {
      operation: 'ctx vfs snapshot',
      reason: 'expected the NAME of the snapshot or clone to delete',
    });
  }
  if (wanted === undefined) return listSnapshots(call);
  if (call.flag('delete')) {
    await deleteSnapshotOf(placeOf(call), wanted);
    if (call.flag('json')) printJson({ version: 1, deleted: wanted });
    else
      print(
        `${painter(process.stdout)('green', `deleted snapshot ${wanted}`)}; ctx vfs check --collect frees its space\n`,
      );
    return ExitCode.ok;
  }
  const { name, made, files } = await snapshotTree(placeOf(call), call.words[1] ?? '');
  if (call.flag('json')) printJson({ version: 1, name, made, files });
  else print(`${painter(process.stdout)('green', `made snapshot ${name} of ${counted(files, 'entry', 'entries')}`)}\n`);
  return ExitCode.ok;
};

export const clone: Run = async (call) => {
  const { cloneTree } = await part();
  const [specification = '', wanted = ''] = call.words;
  const { name, made, files } = await cloneTree(placeOf(call), wanted);
  const tree = `${specification.replace(/@[^/@]*$/, '')}@${name}`;
  if (call.flag('json')) printJson({ version: 1, name, made, files, specification: tree });
  else
    print(
      `${painter(process.stdout)('green', `made clone ${visible(tree)} of ${counted(files, 'entry', 'entries')}`)}\n`,
    );
  return ExitCode.ok;
};

export const restore: Run = async (call) => {
  const { restoreTree } = await part();
  const name = call.words[1] ?? '';
  const kept = await restoreTree(placeOf(call), name);
  if (call.flag('json')) printJson({ version: 1, name, kept });
  else
    print(
      `${painter(process.stdout)('green', `restored snapshot ${name}`)}; the state before is kept as snapshot ${kept}\n`,
    );
  return ExitCode.ok;
};

/** A tree that has no chunks has nothing to compare: it could be opened. */
function checkedText({ files, chunks }: { readonly files: number; readonly chunks: number }): string {
  if (chunks === 0) return `the tree can be read; ${counted(files, 'entry', 'entries')}`;
  return `${counted(files, 'entry', 'entries')}, ${counted(chunks, 'chunk', 'chunks')}`;
}

export const check: Run = async (call) => {
  const { checkTree, collectTree } = await part();
  const found = await checkTree(placeOf(call));
  const whole = found.problems.length === 0;
  const freed = call.flag('collect') && whole ? await collectTree(placeOf(call)) : undefined;
  if (call.flag('json')) printJson({ version: 1, ...found, ...(freed === undefined ? {} : { freed }) });
  else {
    const paint = painter(process.stdout);
    for (const problem of found.problems) print(`${paint('red', visible(problem))}\n`);
    if (whole) print(`${paint('green', 'whole')}: ${checkedText(found)}\n`);
    for (const { name, made, files, clone } of found.snapshots)
      print(`  ${clone === true ? 'clone' : 'snapshot'} ${name}  ${made}  ${counted(files, 'entry', 'entries')}\n`);
    if (freed !== undefined) print(`freed ${freed} bytes\n`);
  }
  return whole ? ExitCode.ok : ExitCode.failed;
};
