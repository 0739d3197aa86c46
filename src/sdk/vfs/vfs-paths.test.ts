/** Every call of a tree that takes a path, compared with Node's own: whatever was done before, both answer the same. */
import assert from 'node:assert/strict';
import { constants, type Dirent, mkdtempSync, promises, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../../test/property/seeded.js';
import { nativeProgram } from '../../base/native-program.js';
import { makeVfs, type VfsOptions } from './create.js';

const directory = mkdtempSync(join(tmpdir(), 'ctx-vfs-paths-'));
let mask = 0;
before(() => {
  mask = process.umask(0o022);
});
after(() => {
  process.umask(mask);
  rmSync(directory, { recursive: true, force: true });
});

type Files = typeof promises;
type Act = readonly [name: string, ...values: readonly unknown[]];

const kindsOf = (of: Pick<Dirent, 'isFile' | 'isDirectory' | 'isSymbolicLink'>) =>
  [of.isFile(), of.isDirectory(), of.isSymbolicLink()].map(Number).join('');
const cut = (place: string, text: string | undefined) => text?.replace(place, '');

async function done(files: Files, place: string, [name, ...values]: Act): Promise<unknown> {
  const at = (index: number) => `${place}/${values[index]}`;
  const options = values[1] as object;
  switch (name) {
    case 'mkdir':
      // Through a link that leads nowhere, Node has another code than the kernel.
      return cut(
        place,
        (await files.mkdir(at(0), options).catch((error: { code?: string }) => {
          throw 'recursive' in options && options.recursive === true ? { code: 'refused' } : error;
        })) ?? undefined,
      );
    case 'rm':
      return files.rm(at(0), options);
    case 'readdir': {
      const found = await files.readdir(at(0), options);
      return found
        .map((each: string | Dirent) =>
          typeof each === 'string' ? each : `${cut(place, each.parentPath)} ${each.name} ${kindsOf(each)}`,
        )
        .sort();
    }
    case 'stat':
    case 'lstat': {
      const found = await files[name](at(0));
      const isDirectory = found.isDirectory();
      return [kindsOf(found), found.mode, isDirectory ? 0 : found.size, isDirectory ? 0 : found.nlink];
    }
    case 'write':
      return files.writeFile(at(0), String(values[1]), values[2] as object);
    case 'append':
      return files.appendFile(at(0), String(values[1]));
    case 'read':
      return files.readFile(at(0), 'latin1');
    case 'open': {
      const file = await files.open(at(0), Number(values[1]));
      await file.close();
      return undefined;
    }
    case 'truncate':
      return files.truncate(at(0), Number(values[1]));
    case 'chmod':
      return files.chmod(at(0), Number(values[1]));
    case 'times': {
      await files.utimes(at(0), Number(values[1]), new Date(Number(values[1]) * 2_000));
      const { atimeMs, mtimeMs } = await files.stat(at(0));
      return [atimeMs, mtimeMs];
    }
    case 'symlink':
      return files.symlink(String(values[1]), at(0));
    case 'realpath':
      return cut(place, await files.realpath(at(0))) || '/';
    case 'copyFile':
      // Node empties the target before it finds that a directory cannot be read.
      if ((await files.stat(at(0))).isDirectory()) throw { code: 'EISDIR' };
      return files.copyFile(at(0), at(1));
    case 'rename':
    case 'link':
      return files[name](at(0), at(1));
    default:
      return (files[name as 'unlink'] as (path: string) => Promise<unknown>)(at(0));
  }
}

/** Node has codes of its own for two of them. */
const codes: Readonly<Record<string, string>> = { ERR_FS_EISDIR: 'EISDIR' };

async function answers(files: Files, place: string, acts: readonly Act[]): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  for (const act of acts) {
    found.push(
      await done(files, place, act).then(
        (answer) => answer ?? 'done',
        ({ code = '' }: { code?: string }) => codes[code] ?? code,
      ),
    );
  }
  return found;
}

const { O_RDONLY, O_CREAT, O_TRUNC } = constants;
const path = fc.constantFrom('a', 'b', 'a/b', 'a/b/c', 'b/a', 'l', 'l/a', '.');
/** Where the kernel has words of its own for the directory itself. */
const entry = fc.constantFrom('a', 'b', 'a/b', 'a/b/c', 'b/a', 'l', 'l/a');
const slashed = fc.constantFrom('a/', 'b/', 'l/', 'a/b/');
const flag = fc.boolean();
const act: fc.Arbitrary<Act> = fc.oneof(
  fc.tuple(fc.constant('mkdir'), slashed, fc.constant({})),
  fc.tuple(fc.constant('symlink'), slashed, fc.constant('b')),
  fc.tuple(fc.constant('open'), path, fc.constantFrom(O_RDONLY, O_RDONLY | O_CREAT, O_RDONLY | O_TRUNC)),
  fc.tuple(fc.constant('mkdir'), path, fc.record({ recursive: flag, mode: fc.constantFrom(0o700, 0o777) })),
  fc.tuple(
    fc.constant('rm'),
    fc.constantFrom('a', 'b', 'a/b', 'l', 'missing'),
    fc.record({ recursive: flag, force: flag }),
  ),
  fc.tuple(fc.constant('readdir'), path, fc.record({ recursive: flag, withFileTypes: flag })),
  fc.tuple(fc.constantFrom('stat', 'lstat', 'read', 'readlink', 'access', 'realpath'), path),
  fc.tuple(fc.constantFrom('unlink', 'rmdir'), entry),
  fc.tuple(
    fc.constant('write'),
    path,
    fc.constantFrom('', 'text', 'longer text'),
    fc.record({ flag: fc.constantFrom('w', 'wx', 'a', 'r+', undefined), mode: fc.constantFrom(0o600, 0o666) }),
  ),
  fc.tuple(fc.constant('append'), path, fc.constant('more')),
  fc.tuple(fc.constant('truncate'), path, fc.constantFrom(0, 2, 9)),
  fc.tuple(fc.constant('chmod'), path, fc.constantFrom(0o700, 0o755, 0o7777)),
  fc.tuple(fc.constant('times'), path, fc.constantFrom(1, 1_234_567)),
  fc.tuple(fc.constant('symlink'), fc.constantFrom('l', 'a', 'a/b'), fc.constantFrom('a', 'b', 'l', 'missing')),
  fc.tuple(fc.constantFrom('rename', 'link', 'copyFile'), entry, entry),
);

/** Where it keeps its files, if that is anywhere. */
const trees: Readonly<Record<string, (at: string) => VfsOptions>> = {
  memory: () => ({}),
  host: (at) => ({ mounts: { '/': { spec: `host:${at}`, writable: true } } }),
  chunked: (at) => ({ mounts: { '/': { spec: `chunked:${at}/file`, writable: true } } }),
  overlay: (at) => {
    writeFileSync(`${at}.toml`, `[mount."/"]\nupper = "memory:"\nlower = "host:${at}"\n`);
    return { mounts: { '/': { spec: `${at}.toml`, writable: true } } };
  },
};

describe('a tree', () => {
  for (const [kind, options] of Object.entries(trees)) {
    it(`answers as a directory does by Node, whatever was done before: ${kind}`, () => answersAsNode(kind, options));
  }

  async function answersAsNode(kind: string, options: (at: string) => VfsOptions) {
    let count = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 25 }), async (acts) => {
        count += 1;
        const [place, kept] = [join(directory, `${kind}${count}`), join(directory, `${kind}${count}-kept`)];
        await promises.mkdir(place);
        await promises.mkdir(kept);
        const vfs = await makeVfs(options(kept), nativeProgram('flock.node'));
        const ours = await answers(vfs as unknown as Files, '', acts);
        await vfs.close();
        const nodes = await answers(promises, place, acts);
        for (const [index, each] of acts.entries()) assert.deepEqual(ours[index], nodes[index], JSON.stringify(each));
      }),
      seeded(kind === 'memory' ? 200 : 60),
    );
  }

  it('opens files by the numbers of flags as by their letters', async () => {
    const { O_WRONLY, O_RDWR, O_EXCL, O_APPEND } = constants;
    for (const [letters, number] of [
      ['r', O_RDONLY],
      ['r+', O_RDWR],
      ['w', O_WRONLY | O_CREAT | O_TRUNC],
      ['w+', O_RDWR | O_CREAT | O_TRUNC],
      ['wx', O_WRONLY | O_CREAT | O_EXCL],
      ['a', O_WRONLY | O_CREAT | O_APPEND],
      ['ax+', O_RDWR | O_CREAT | O_APPEND | O_EXCL],
    ] as const) {
      for (const isThere of [true, false]) {
        const results: unknown[] = [];
        for (const flags of [letters, number]) {
          const vfs = await makeVfs({}, nativeProgram('flock.node'));
          if (isThere) await vfs.writeFile('/f', 'before');
          const error = ({ code }: { code?: string }) => code;
          const file = await vfs.open('/f', flags).catch(error);
          const tried =
            typeof file !== 'object'
              ? file
              : [
                  await file.write('xy').then(() => 'written', error),
                  await file.read({ position: 0 }).then(({ bytesRead }) => bytesRead, error),
                ];
          results.push([tried, await vfs.readFile('/f', 'utf8').catch(error)]);
          await vfs.close();
        }
        assert.deepEqual(results[0], results[1], `${letters}, there: ${isThere}`);
      }
    }
  });

  it('removes a tree beside another that removes it, and has not ended before it is gone', async () => {
    const vfs = await makeVfs({}, nativeProgram('flock.node'));
    await vfs.mkdir('/tree/deep/deeper', { recursive: true });
    for (const name of ['a', 'deep/b', 'deep/c', 'deep/deeper/d', 'e', 'f', 'g'])
      await vfs.writeFile(`/tree/${name}`, 'x');
    const remove = async () => {
      await vfs.rm('/tree', { recursive: true, force: true });
      return vfs.readdir('/tree').catch(({ code }: { code?: string }) => code);
    };
    assert.deepEqual(await Promise.all([remove(), remove(), remove()]), ['ENOENT', 'ENOENT', 'ENOENT']);
    await vfs.close();
  });

  it('tells what changes in a directory and in no other, until it is not wanted any more', async () => {
    const vfs = await makeVfs({}, nativeProgram('flock.node'));
    await vfs.mkdir('/d');
    const controller = new AbortController();
    const seen: string[] = [];
    const watching = (async () => {
      for await (const { eventType, filename } of vfs.watch('/d', { signal: controller.signal })) {
        seen.push(`${eventType} ${filename}`);
        if (seen.at(-1) === 'rename last') controller.abort(new Error('enough'));
      }
    })();
    await new Promise((resolve) => setTimeout(resolve, 10));
    await vfs.writeFile('/beside', 'x');
    await vfs.writeFile('/d/one', 'x');
    await vfs.rename('/d/one', '/d/last');
    await assert.rejects(watching, /enough/);
    assert.ok(seen.includes('rename one') && !seen.some((each) => each.includes('beside')), seen.join(', '));
    await assert.rejects(
      async () => {
        for await (const _ of vfs.watch('/missing')) assert.fail();
      },
      { code: 'ENOENT', syscall: 'watch' },
    );
    await vfs.close();
  });
});
