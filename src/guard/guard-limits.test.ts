/** What a guard keeps of names and handles: each name of a file, what moves and is forgotten; grants as a file. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memoryFileSystem } from '../vfs/engines/memory/memory.js';
import type { FileSystem, Handle } from '../vfs/filesystem.js';
import { parseGrants } from './grants-file.js';
import { Guard, scopes, type VfsGrants } from './guard.js';
import { guardedFileSystem } from './guarded-filesystem.js';
import { warningShare, withQuota } from './quota.js';

const creation = { mode: 0o755, uid: 0, gid: 0 };
const both = { read: true, write: true };
const only = (path: string): VfsGrants => Object.fromEntries(scopes.map((scope) => [scope, [path]]));

async function world(grants: VfsGrants = only('/')) {
  const inner = memoryFileSystem({ writable: true, root: creation });
  for (const name of ['a', 'b']) {
    const { inode } = await inner.mkdir(inner.root, name, creation);
    for (const file of ['x', 'y']) {
      const { handle } = await inner.create(inode, file, creation, both);
      await inner.write(handle, 0, Buffer.from(`${name}${file}`));
      await inner.release(handle);
    }
  }
  const guard = new Guard(grants);
  const fs = guardedFileSystem(inner, guard);
  const find = async (path: string) => {
    let at = fs.root;
    for (const name of path.split('/').filter(Boolean)) {
      const found = await fs.lookup(at, name);
      assert.ok(found !== undefined, path);
      at = found.inode;
    }
    return at;
  };
  return { inner, guard, fs, find };
}

const codeOf = async (act: () => unknown) => {
  try {
    await act();
    return 'done';
  } catch (error) {
    return (error as { code?: string }).code;
  }
};

describe('a file of a guarded tree', () => {
  it('is known by every name that it was reached by, and by no other', async () => {
    const { inner, guard, fs, find } = await world();
    const x = await find('a/x');
    await fs.link(x, await find('b'), 'z');
    for (const [path, code] of [
      ['/a', 'done'],
      ['/b', 'done'],
      ['/a/x', 'done'],
      ['/b/z', 'done'],
      ['/b/x', 'ENOENT'],
    ] as const) {
      await guard.grant(only(path));
      assert.equal(await codeOf(() => fs.open(x, both)), code, path);
    }
    for (const [path, code] of [
      ['/a/x', 'done'],
      ['/b/z', 'done'],
      ['/b/x', 'ENOENT'],
    ] as const) {
      await guard.grant({ ...only(path), 'fs.read': [path, '/none'] });
      assert.equal(await codeOf(() => fs.getattr(x)), code, `attributes by ${path}`);
    }
    await guard.grant(only('/'));
    const stranger = (await inner.lookup((await inner.lookup(inner.root, 'b'))?.inode ?? 0, 'y'))?.inode ?? 0;
    assert.equal(await codeOf(() => fs.getattr(stranger)), 'ESTALE', 'nobody came by it');
    assert.equal(await codeOf(() => fs.open(stranger, both)), 'ESTALE');
  });

  it('moves with its directory, and changes places in an exchange', async () => {
    for (const rule of ['replace', 'exchange'] as const) {
      const { guard, fs, find } = await world();
      const [x, y] = [await find('a/x'), await find('b/y')];
      const [a, b] = [await find('a'), await find('b')];
      await fs.rename(a, 'x', b, 'y', rule);
      const opens = async (path: string) => {
        await guard.grant(only(path));
        return [await codeOf(() => fs.open(x, both)), await codeOf(() => fs.open(y, both))];
      };
      assert.equal((await opens('/b/y'))[0], 'done');
      assert.equal((await opens('/a/x'))[0], 'ENOENT', 'its old name is not its own any more');
      if (rule === 'exchange') {
        assert.equal((await opens('/a/x'))[1], 'done');
        assert.equal((await opens('/b/y'))[1], 'ENOENT');
      }
    }
    const { guard, fs, find } = await world();
    const x = await find('a/x');
    await fs.rename(fs.root, 'a', await find('b'), 'deep', 'replace');
    await guard.grant(only('/b/deep'));
    assert.equal(await codeOf(() => fs.open(x, both)), 'done');
    await guard.grant(only('/a'));
    assert.equal(await codeOf(() => fs.open(x, both)), 'ENOENT');
  });

  it('is known by its new name alone where others have moved it', async () => {
    const { inner, fs, find } = await world({ 'fs.read': ['/a'], 'fs.create': ['/b'] });
    const [a, b] = [await find('a'), await find('b')];
    const { inode: d } = await inner.mkdir(a, 'd', creation);
    assert.deepEqual(await fs.readdir(await find('a/d')), []);
    await inner.rename(a, 'd', b, 'd', 'replace');
    await inner.rename(a, 'x', d, 'x', 'replace');
    assert.equal(await codeOf(async () => fs.readdir(await find('b/d'))), 'EACCES');
    assert.equal(await codeOf(async () => fs.open(await find('b/d/x'), { read: true, write: false })), 'EACCES');
  });

  it('gets no other name by which it may be changed more than by the first', async () => {
    for (const [scope, changed] of [
      ['fs.metadata', 'mode'],
      ['fs.write', 'size'],
    ] as const) {
      const all = { 'fs.read': ['/a', '/b'], 'fs.write': ['/a', '/b'], 'fs.create': ['/b'], 'fs.delete': ['/a', '/b'] };
      const { inner, fs, find } = await world({ ...all, [scope]: ['/b'] });
      const [a, b, x] = [await find('a'), await find('b'), await find('a/x')];
      assert.equal(await codeOf(() => fs.link(x, b, 'new')), 'EACCES', scope);
      assert.equal(await codeOf(() => fs.setattr(x, { [changed]: 0 })), 'EACCES');
      await inner.link(x, inner.root, 'elsewhere');
      assert.equal(await codeOf(() => fs.rename(a, 'x', b, 'new', 'replace')), 'EACCES', scope);
      assert.equal(await codeOf(() => fs.rename(b, 'x', a, 'x', 'exchange')), 'EACCES', scope);
      await inner.unlink(inner.root, 'elsewhere');
      assert.equal(await codeOf(() => fs.rename(a, 'x', b, 'new', 'replace')), 'done', scope);
    }
  });

  it('that was forgotten is reached again before it is used', async () => {
    const { fs, find } = await world();
    const x = await find('a/x');
    fs.forget?.(x);
    assert.equal(await codeOf(() => fs.getattr(x)), 'ESTALE');
    await find('a/x');
    assert.equal(await codeOf(() => fs.getattr(x)), 'done');
  });

  it('that is not there is not found, made or told of', async () => {
    const { fs, find } = await world();
    assert.equal(await fs.lookup(await find('a'), 'none'), undefined);
    const made = await fs.mkdir(await find('a'), 'd', creation);
    assert.equal(await codeOf(() => fs.readdir(made.inode)), 'done', 'what was made is known');
    for (const [name, make] of Object.entries({
      file: () =>
        find('a')
          .then((a) => fs.create(a, 'file', creation, both))
          .then(({ attributes }) => attributes),
      pipe: () => find('a').then((a) => fs.mknod(a, 'pipe', creation, 'fifo', 0)),
      link: () => find('a').then((a) => fs.symlink(a, 'link', 'x', creation)),
    })) {
      const { inode } = await make();
      assert.equal(await codeOf(() => fs.getattr(inode)), 'done', name);
    }
  });

  it('is not shown any more by what it was, when a right is taken away', async () => {
    const { guard, fs, find } = await world();
    const [a, x] = [await find('a'), await find('a/x')];
    const told: unknown[] = [];
    const stop = fs.invalidated?.((known) => void told.push(known));
    await guard.grant(only('/b'));
    const known = [
      { inode: a, directory: fs.root, name: 'a' },
      { inode: x, directory: a, name: 'x' },
    ];
    assert.deepEqual(told, [known]);
    assert.equal(await codeOf(() => fs.getattr(x)), 'ENOENT');
    stop?.();
    await guard.grant(only('/'));
    assert.equal(told.length, 1);
  });

  it('is opened to be emptied by who may write, and in no way by who says none', async () => {
    const { guard, fs, find } = await world();
    const x = await find('a/x');
    assert.equal(await codeOf(() => fs.open(x, { read: false, write: false })), 'EINVAL');
    await guard.grant({ ...only('/'), 'fs.write': [] });
    assert.equal(await codeOf(() => fs.open(x, { read: true, write: false })), 'done');
    assert.equal(await codeOf(() => fs.open(x, { read: true, write: false, truncate: true })), 'EACCES');
    assert.equal(await codeOf(() => fs.open(x, { read: true, write: false, truncate: false })), 'done');
  });

  it('is closed for good, and everything else is the engine’s', async () => {
    const released: Handle[] = [];
    const { inner, fs, find } = await world();
    const release = inner.release.bind(inner);
    inner.release = (handle) => {
      released.push(handle);
      return release(handle);
    };
    const handle = await fs.open(await find('a/x'), both);
    await fs.release(handle);
    assert.deepEqual(released, [handle]);
    assert.equal(fs.label, inner.label);
    assert.deepEqual(await fs.statfs(), await inner.statfs());
    assert.equal(fs.lasting, undefined, 'nothing lasts: a right may be taken away');
    assert.throws(() => fs.watch?.(() => undefined), { code: 'ENOTSUP' });
  });
});

describe('grants as a file', () => {
  it('are a scope and a path in each line, as many as there are', () => {
    const text = '# all\nfs.read /a\nfs.write\t/b/c\n\n  fs.read /d\n';
    assert.deepEqual(parseGrants(text, 'file'), { 'fs.read': ['/a', '/d'], 'fs.write': ['/b/c'] });
    for (const scope of scopes) assert.deepEqual(parseGrants(`${scope} /`, 'file'), { [scope]: ['/'] });
    assert.deepEqual(parseGrants('', 'file'), {});
  });

  it('are refused with the place of what is wrong', () => {
    const told = (line: string) => {
      try {
        parseGrants(`fs.read /a\n${line}\n`, 'file');
        return 'taken';
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'EINVAL');
        return /^file:\d+:\d+/.exec((error as { reason?: string }).reason ?? '')?.[0];
      }
    };
    for (const [line, place] of Object.entries({
      'fs.chmod /a': 'file:2:1',
      '/a fs.read': 'file:2:1',
      'fs.read': 'file:2:1',
      'fs.read /a /b': 'file:2:1',
      'fs.read a': 'file:2:9',
      'fs.read   /a/..': 'file:2:11',
      'fs.read /./a': 'file:2:9',
    })) {
      assert.equal(told(line), place, line);
    }
  });
});

describe('a refusal', () => {
  it('says what to grant where something is there, and nothing where nothing shows', () => {
    const guard = new Guard({ 'fs.read': ['/a'] });
    const remedy = (act: () => void) => {
      try {
        act();
        return 'done';
      } catch (error) {
        return (error as { remedy?: string }).remedy;
      }
    };
    assert.equal(
      remedy(() => guard.pass('fs.write', 'write', ['a'])),
      'grant fs.write for a directory it is in',
    );
    assert.equal(
      remedy(() => guard.enter('fs.write', 'write', 'a')),
      'grant fs.write for a directory it is in',
    );
    assert.equal(
      remedy(() => guard.pass('fs.read', 'read', ['b'])),
      undefined,
    );
    assert.equal(
      remedy(() => guard.enter('fs.read', 'read', 'b')),
      'done',
    );
  });
});

describe('a quota', () => {
  it('is held in an engine that answers later, and refused in one that does not say what it holds', async () => {
    const later = (space = false): FileSystem => {
      const inner = memoryFileSystem({ writable: true, root: creation });
      const slow = new Set<string | symbol>(['create', 'open', 'getattr', ...(space ? ['statfs'] : [])]);
      return new Proxy(inner, {
        get: (target, member) => {
          const value = Reflect.get(target, member, target) as unknown;
          if (typeof value !== 'function') return value;
          return slow.has(member) ? async (...given: unknown[]) => value.apply(target, given) : value.bind(target);
        },
      });
    };
    const fs = withQuota(later(), { fileBytes: 10, openFiles: 2 }, () => undefined);
    const made = await fs.create(fs.root, 'a', creation, { ...both, append: true });
    await fs.write(made.handle, 0, Buffer.alloc(6));
    assert.equal(await codeOf(() => fs.write(made.handle, 0, Buffer.alloc(5))), 'EDQUOT');
    const again = await fs.open(made.attributes.inode, { ...both, append: true });
    assert.equal(await codeOf(() => fs.write(again, 0, Buffer.alloc(5))), 'EDQUOT');
    assert.equal(await codeOf(() => fs.open(made.attributes.inode, both)), 'EDQUOT');
    await fs.release(again);
    assert.equal(await codeOf(() => fs.open(made.attributes.inode, both)), 'done');
    for (const quota of [{ bytes: 10 }, { inodes: 10 }]) {
      const blind = withQuota(later(true), quota, () => undefined);
      const act = async () => {
        const { handle } = await blind.create(blind.root, 'a', creation, both);
        await blind.write(handle, 0, Buffer.alloc(1));
      };
      assert.equal(await codeOf(act), 'ENOTSUP');
    }
  });

  it('is of what is added: nothing written is nothing used, and what is near the limit is told once', async () => {
    const inner = memoryFileSystem({ writable: true, root: creation });
    const used = () => {
      const { blockSize, blocks, freeBlocks } = inner.statfs() as {
        blockSize: number;
        blocks: number;
        freeBlocks: number;
      };
      return (blocks - freeBlocks) * blockSize;
    };
    const told: string[] = [];
    const quota = { bytes: 1_000_000, openFiles: 5 };
    const fs = withQuota(inner, quota, ({ setting, used: at }) => void told.push(`${setting} ${at}`));
    const { handle } = await fs.create(fs.root, 'a', creation, both);
    await fs.write(handle, 0, Buffer.alloc(5000));
    quota.bytes = used();
    assert.equal(await codeOf(() => fs.write(handle, 0, Buffer.alloc(0))), 'done');
    assert.equal(await codeOf(() => fs.write(handle, 0, Buffer.alloc(1))), 'EDQUOT');
    quota.bytes += 1;
    for (const _time of [1, 2]) assert.equal(await codeOf(() => fs.write(handle, 0, Buffer.alloc(1))), 'done');
    assert.deepEqual(told, [`bytes ${quota.bytes}`]);
    for (let count = 2; count <= 5; count += 1) await fs.open((await inner.lookup(inner.root, 'a'))?.inode ?? 0, both);
    assert.deepEqual(told.slice(1), [`openFiles ${warningShare * 5}`]);
  });
});
