/** The guard before a mounted tree: what it allows, as the host API has it, and that nothing outlives a right that is taken away. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { ErrnoError } from '../../src/base/errno.js';
import { parseGrants } from '../../src/guard/grants-file.js';
import { Guard, scopes, type VfsGrants } from '../../src/guard/guard.js';
import { guardedFileSystem } from '../../src/guard/guarded-filesystem.js';
import { memoryFileSystem } from '../../src/vfs/engines/memory/memory.js';
import type { FileSystem, Inode } from '../../src/vfs/filesystem.js';
import { MountTable } from '../../src/vfs/mount-table.js';
import { VfsTree } from '../../src/vfs/tree.js';
import { seeded } from '../property/seeded.js';
import { forEachMountUser } from '../support/mount-users.js';
import { until } from '../support/process.js';
import { ctxProgramFor } from '../support/program.js';
import { directoryMode, fileMode, own, scratch } from './engines.js';

const names = ['a', 'b', 'c'];
const directories = ['/a', '/a/a', '/a/b', '/b'];
const files = ['/f', '/a/f', '/a/a/f', '/a/b/f', '/b/f'];

function filled(): FileSystem {
  const filesystem = memoryFileSystem({ root: directoryMode });
  const tree = new VfsTree(new MountTable([{ path: [], filesystem }]));
  for (const path of directories) void tree.mkdir(path, directoryMode);
  for (const path of files) {
    const { handle } = tree.open(path, { read: true, write: true, create: true }, fileMode) as { handle: number };
    void filesystem.write(handle, 0, Buffer.from(path));
    void filesystem.release(handle);
  }
  return filesystem;
}

/** As the kernel does it: name by name, then the call itself. */
class Walker {
  readonly fs: FileSystem;

  constructor(filesystem: FileSystem) {
    this.fs = filesystem;
  }

  async find(path: string): Promise<Inode> {
    let inode = this.fs.root;
    for (const name of path.split('/').filter(Boolean)) {
      const found = await this.fs.lookup(inode, name);
      if (found === undefined) throw new ErrnoError('ENOENT', { operation: 'lookup', reason: 'none' });
      inode = found.inode;
    }
    return inode;
  }

  parent(path: string): Promise<Inode> {
    return this.find(path.slice(0, path.lastIndexOf('/')));
  }

  name(path: string): string {
    return path.slice(path.lastIndexOf('/') + 1);
  }
}

const operations: Readonly<
  Record<
    string,
    [(tree: VfsTree, path: string, to: string) => unknown, (walker: Walker, path: string, to: string) => unknown]
  >
> = {
  read: [
    async (tree, path) => {
      const { filesystem, handle } = await tree.open(path, { read: true, write: false }, fileMode);
      return (await filesystem.read(handle, 0, 99)).toString();
    },
    async (walker, path) => {
      const handle = await walker.fs.open(await walker.find(path), { read: true, write: false });
      return (await walker.fs.read(handle, 0, 99)).toString();
    },
  ],
  write: [
    async (tree, path) => void (await tree.open(path, { read: false, write: true }, fileMode)),
    async (walker, path) => void (await walker.fs.open(await walker.find(path), { read: false, write: true })),
  ],
  list: [
    async (tree, path) => (await tree.readdir(path)).map(({ name }) => name).sort(),
    async (walker, path) => (await walker.fs.readdir(await walker.find(path))).map(({ name }) => name).sort(),
  ],
  truncate: [
    async (tree, path) => void (await tree.setattr(path, { size: 1 }, false)),
    async (walker, path) => void (await walker.fs.setattr(await walker.find(path), { size: 1 })),
  ],
  chmod: [
    async (tree, path) => void (await tree.setattr(path, { mode: 0o700 }, false)),
    async (walker, path) => void (await walker.fs.setattr(await walker.find(path), { mode: 0o700 })),
  ],
  mkdir: [
    async (tree, path) => void (await tree.mkdir(`${path}/new`, directoryMode)),
    async (walker, path) => void (await walker.fs.mkdir(await walker.find(path), 'new', directoryMode)),
  ],
  create: [
    async (tree, path) =>
      void (await tree.open(`${path}/made`, { read: false, write: true, create: true, exclusive: true }, fileMode)),
    async (walker, path) =>
      void (await walker.fs.create(await walker.find(path), 'made', fileMode, { read: false, write: true })),
  ],
  unlink: [
    async (tree, path) => void (await tree.unlink(path)),
    async (walker, path) => void (await walker.fs.unlink(await walker.parent(path), walker.name(path))),
  ],
  rename: [
    async (tree, path, to) => void (await tree.rename(path, to)),
    async (walker, path, to) =>
      void (await walker.fs.rename(
        await walker.parent(path),
        walker.name(path),
        await walker.parent(to),
        walker.name(to),
        'replace',
      )),
  ],
  link: [
    async (tree, path, to) => void (await tree.link(path, `${to}-link`)),
    async (walker, path, to) =>
      void (await walker.fs.link(await walker.find(path), await walker.parent(to), `${walker.name(to)}-link`)),
  ],
};

async function outcome(act: () => unknown): Promise<unknown> {
  try {
    return (await act()) ?? 'done';
  } catch (error) {
    assert.ok(error instanceof ErrnoError, String(error));
    return error.code;
  }
}

const isRefusal = (answer: unknown) => answer === 'EACCES' || answer === 'ENOENT';

test('a guarded engine allows what the host API allows, refuses what it refuses, and changes nothing then', async () => {
  const somewhere = fc.array(fc.constantFrom(...names, 'f'), { maxLength: 3 }).map((each) => `/${each.join('/')}`);
  const granted = fc.record(
    Object.fromEntries(
      scopes.map((scope) => [scope, fc.array(fc.constantFrom('/', ...directories, ...files), { maxLength: 2 })]),
    ),
  );
  const call = fc.tuple(fc.constantFrom(...Object.keys(operations)), somewhere, somewhere);
  await fc.assert(
    fc.asyncProperty(granted, fc.array(call, { minLength: 1, maxLength: 12 }), async (grants, calls) => {
      const [one, other] = [filled(), filled()];
      const tree = new VfsTree(new MountTable([{ path: [], filesystem: one }]), new Guard(grants as VfsGrants));
      const walker = new Walker(guardedFileSystem(other, new Guard(grants as VfsGrants)));
      for (const [name, path, to] of calls) {
        const [byPath, byInode] = operations[name] ?? assert.fail(name);
        const expected = await outcome(() => byPath(tree, path, to));
        const found = await outcome(() => byInode(walker, path, to));
        // A scope that is granted nowhere is EACCES before a path is looked at; the kernel looks at the path first, and what is wrong with
        // the path itself may be said first.
        const both =
          isRefusal(expected) && (isRefusal(found) || /^E(NOTDIR|ISDIR|INVAL|EXIST|PERM|BUSY)$/.test(String(found)));
        if (!both && !/^E/.test(String(expected))) assert.deepEqual(found, expected, `${name} ${path} ${to}`);
        else assert.match(String(found), /^E/, `${name} ${path} ${to}: expected ${String(expected)}`);
      }
    }),
    seeded(150),
  );
});

test('grants are read line by line, and what is wrong is said with its place', () => {
  assert.deepEqual(parseGrants('# a\nfs.read /a\n\n  fs.read /b\nfs.write /a\n', 'g'), {
    'fs.read': ['/a', '/b'],
    'fs.write': ['/a'],
  });
  for (const [text, place] of [
    ['fs.read', /g:1:1: expected `fs.read PATH`/],
    ['fs.reed /a', /g:1:1: expected one of fs.read/],
    ['\nfs.read a', /g:2:9: expected an absolute path/],
    ['fs.read /a/../b', /g:1:9/],
    ['fs.read /a /b', /expected `fs.read PATH`/],
  ] as const) {
    assert.throws(
      () => parseGrants(text, 'g'),
      (error: Error) => place.test(error.message),
      text,
    );
  }
});

forEachMountUser('a guarded mount', (user) => {
  const place = scratch();
  let ctx = '';
  before(() => {
    chmodSync(place.path, 0o755);
    chownSync(place.path, user.uid, user.gid);
    ctx = ctxProgramFor(user, place.path);
  });
  after(() => place.remove());
  const identity = user.uid === own.uid ? {} : { uid: user.uid, gid: user.gid };
  const sh = (script: string, ...words: readonly string[]) => {
    const { status, stdout, stderr } = spawnSync('sh', ['-c', script, ctx, ...words], {
      cwd: '/',
      encoding: 'utf8',
      env: { ...process.env, CTX_DATA: join(place.path, 'store'), XDG_CONFIG_HOME: join(place.path, 'configuration') },
      ...identity,
    });
    return { status, text: stdout.trim(), stderr };
  };
  const succeeds = (script: string, ...words: readonly string[]) => {
    const { status, text, stderr } = sh(script, ...words);
    assert.equal(status, 0, stderr);
    return text;
  };

  const recorded = (at: string): readonly string[] => {
    const lines = succeeds('"$0" audit query --status denied --json').split('\n').filter(Boolean);
    return lines.flatMap((line) => {
      const { object, layer, facts } = JSON.parse(line) as {
        object: string;
        layer: string;
        facts: Record<string, string>;
      };
      const [error, scope, operation, path] = ['error', 'scope', 'operation', 'path'].map((name) => facts[name]);
      return object === `vfs${at}` && layer === 'guard' ? [`${error} ${scope} ${operation} ${path}`] : [];
    });
  };

  for (const engine of user.uid === own.uid ? (['chunked', 'host'] as const) : (['chunked'] as const)) {
    test(`of a ${engine} tree shows what is granted, and follows its file`, async () => {
      const home = join(place.path, engine);
      const [at, grants] = [join(home, 'at'), join(home, 'grants')];
      const spec = engine === 'host' ? `host:${home}/tree` : `chunked:${home}/store`;
      succeeds('mkdir -p "$1/at" "$1/tree"; "$0" vfs mount "$2" "$1/at" --writable', home, spec);
      succeeds('cd "$1"; mkdir src out secret; echo in > src/f; echo no > secret/f', at);
      succeeds('"$0" vfs unmount "$1"', at);
      const write = (...lines: readonly string[]) => {
        writeFileSync(grants, `${lines.join('\n')}\n`);
        chmodSync(grants, 0o644);
      };
      const out = ['fs.read /out', 'fs.write /out', 'fs.create /out', 'fs.delete /out'];
      write('fs.read /src', ...out);
      succeeds('"$0" vfs mount "$1" "$2" --writable --grants "$3"', spec, at, grants);
      try {
        assert.equal(
          succeeds('cd "$1"; ls; cat src/f; echo 1 > out/new; mv out/new out/n; cat out/n', at),
          'out\nsrc\nin\n1',
        );
        for (const [script, why] of [
          ['cat secret/f', /No such file/],
          ['echo x > secret/g', /nonexistent|No such file/],
          ['echo x > src/f', /denied/],
          ['rm src/f', /denied/],
          ['chmod 700 out/n', /denied/],
          ['ln -s /secret/f out/l && cat out/l', /No such file/],
          ['mv out/n ./', /No such file/],
          ['ln src/f out/hard', /denied/],
        ] as const) {
          assert.match(sh(`cd "$1"; ${script}`, at).stderr, why, script);
        }
        await until(() => recorded(at).includes('EACCES fs.delete unlink /src/f'), 'refusals are in the record');
        const reader = spawn('sh', ['-c', 'exec 3< "$0/src/f"; read line <&3; echo $line; read word; cat <&3', at], {
          cwd: '/',
          stdio: ['pipe', 'pipe', 'pipe'],
          ...identity,
        });
        await new Promise((resolve) => reader.stdout.once('data', resolve));
        write(...out);
        await until(() => sh('stat "$1/src"', at).status !== 0, 'the right is gone');
        for (const script of ['cat src/f', 'ls src', 'stat src/f'])
          assert.match(sh(`cd "$1"; ${script}`, at).stderr, /No such file/);
        let complaint = '';
        reader.stderr.on('data', (bytes: Buffer) => {
          complaint += bytes.toString();
        });
        reader.stdin.end('go\n');
        assert.notEqual(await new Promise((resolve) => reader.once('close', resolve)), 0);
        assert.match(complaint, /No such file|denied/, 'what is open is refused, too');
        write('fs.reed /src', 'fs.read /src');
        await until(() => sh('ls "$1/out"', at).status !== 0, 'a file that is wrong grants nothing');
        write('fs.read /src', 'fs.read /secret');
        await until(() => sh('cat "$1/src/f"', at).text === 'in', 'the right is back');
        assert.equal(succeeds('cat "$1/secret/f"', at), 'no');
      } finally {
        succeeds('"$0" vfs unmount "$1"', at);
      }
    });
  }

  test('is refused where its file of grants is not there, or wrong', () => {
    const at = join(place.path, 'refused');
    succeeds('mkdir "$1"; echo "fs.read x" > "$1.grants"', at);
    assert.match(sh('"$0" vfs mount memory: "$1" --grants "$1.none"', at).stderr, /ENOENT/);
    const wrong = sh('"$0" vfs mount memory: "$1" --grants "$1.grants"', at);
    assert.equal(wrong.status, 2, wrong.stderr);
    assert.match(wrong.stderr, /refused.grants:1:9/);
  });
});

test('a kernel that is not notified goes on showing what was taken away; one that is has forgotten it', async (t) => {
  if (spawnSync('fusermount3', ['-V']).status !== 0) return t.skip('fusermount3 is not installed');
  const place = scratch();
  const program = fileURLToPath(new URL('./guarded-server.js', import.meta.url));
  try {
    for (const how of ['forgetful', 'notified']) {
      const at = join(place.path, how);
      mkdirSync(at);
      const server = spawn(process.execPath, [program, at, how], { stdio: ['pipe', 'pipe', 'inherit'] });
      let said = '';
      server.stdout.on('data', (bytes: Buffer) => {
        said += bytes.toString();
      });
      const ended = new Promise((resolve) => server.once('close', resolve));
      try {
        await until(() => said.includes('mounted'), 'it is mounted');
        const path = join(at, 'shown', 'f');
        assert.equal(readFileSync(path, 'utf8'), 'secret\n');
        const descriptor = openSync(path, 'r');
        const bytes = Buffer.alloc(7);
        readSync(descriptor, bytes, 0, 7, 0);
        server.stdin.write('revoke\n');
        await until(() => said.includes('revoked'), 'the right is gone');
        const tries = [() => statSync(path).size, () => readSync(descriptor, bytes, 0, 7, 0)];
        for (const attempt of tries) {
          if (how === 'forgetful') assert.equal(attempt(), 7);
          else assert.throws(attempt, { code: 'ENOENT' });
        }
        // What is opened is asked for each time, by both.
        assert.throws(() => openSync(path, 'r'), { code: 'ENOENT' });
        closeSync(descriptor);
      } finally {
        server.stdin.end();
        await ended;
      }
    }
  } finally {
    place.remove();
  }
});
