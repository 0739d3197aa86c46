/** What engines refuse by what they are: read-only ones, overlays, joined trees, trees of the host and of servers. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { ErrnoError } from '../../base/errno.js';
import { nativeProgram } from '../../base/native-program.js';
import type { Attributes, Entry, FileSystem, Opened } from '../filesystem.js';
import { MountTable } from '../mount-table.js';
import { hostFileSystem } from './host/host.js';
import { joined } from './joined/joined.js';
import { memoryFileSystem } from './memory/memory.js';
import { overlayFileSystem } from './overlay/overlay.js';
import { readOnly } from './readonly/readonly.js';
import { s3Failure, saysMissing } from './s3/s3-failure.js';
import { WebdavClient } from './webdav/webdav-client.js';

const directory = mkdtempSync(join(tmpdir(), 'ctx-refusals-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const lockLibrary = nativeProgram('flock.node');
const root = { mode: 0o755, uid: 5, gid: 6 };
const both = { read: true, write: true };
const refuses = (code: string, act: () => unknown) => assert.throws(act, { code });
const made = (filesystem: FileSystem, name: string) => filesystem.create(filesystem.root, name, root, both) as Opened;

describe('an engine that nothing can be written to', () => {
  it('refuses everything that writes, and hands on everything else', () => {
    const asked: string[] = [];
    const inner = new Proxy(memoryFileSystem({ root }), {
      get: (target, key) => {
        if (key === 'region') return () => ({ root: 1, path: '/' });
        const value: unknown = Reflect.get(target, key, target);
        return typeof value !== 'function' ? value : () => asked.push(String(key));
      },
    });
    const given = { changesOutside: true, label: 'l', root: 1, capabilities: inner.capabilities };
    const filesystem = readOnly(Object.assign(methodsOf(inner), given));
    assert.deepEqual([filesystem.capabilities.writable, filesystem.changesOutside], [false, true]);
    const writes = [
      'setattr',
      'create',
      'mkdir',
      'mknod',
      'write',
      'allocate',
      'unlink',
      'rmdir',
      'rename',
      'link',
      'symlink',
      'setxattr',
      'removexattr',
    ] as const;
    for (const name of writes) refuses('EROFS', () => (filesystem[name] as () => unknown)());
    for (const mode of [
      both,
      { read: true, write: false, truncate: true },
      { read: true, write: false, append: true },
    ]) {
      refuses('EROFS', () => filesystem.open(1, mode));
    }
    assert.deepEqual(asked, []);
    filesystem.open(1, { read: true, write: false });
    const reads = [
      'lookup',
      'getattr',
      'read',
      'seek',
      'fsync',
      'lock',
      'release',
      'readdir',
      'readlink',
      'getxattr',
      'listxattr',
      'statfs',
      'watch',
      'sync',
      'close',
    ] as const;
    for (const name of reads) (filesystem[name] as () => unknown)();
    assert.deepEqual(asked, ['open', ...reads]);
  });

  function methodsOf(inner: FileSystem): FileSystem {
    const names = [
      'lookup',
      'getattr',
      'open',
      'read',
      'seek',
      'fsync',
      'lock',
      'release',
      'readdir',
      'readlink',
      'getxattr',
      'listxattr',
      'statfs',
      'watch',
      'sync',
      'close',
    ] as const;
    return Object.fromEntries(names.map((name) => [name, inner[name]])) as unknown as FileSystem;
  }
});

describe('an overlay', () => {
  it('changes outside where one of its trees does', () => {
    const tree = (changesOutside: boolean, writable = true) =>
      Object.assign(memoryFileSystem({ root, writable }), { changesOutside });
    for (const upper of [false, true]) {
      for (const lower of [false, true]) {
        for (const writable of [true, false]) {
          const overlay = overlayFileSystem({ upper: tree(upper, writable), lower: tree(lower) });
          assert.equal(overlay.changesOutside, upper || lower);
        }
      }
    }
  });
});

describe('a directory of both trees of an overlay', () => {
  it('has what both have, however it was found', async () => {
    const [upper, lower] = [memoryFileSystem({ root }), memoryFileSystem({ root })];
    for (const [tree, name] of [
      [upper, 'u'],
      [lower, 'l'],
    ] as const) {
      const { inode } = tree.mkdir(tree.root, 'd', root) as Attributes;
      tree.create(inode, name, root, both);
      tree.mkdir(inode, 'deep', root);
      const deep = (tree.lookup(inode, 'deep') as Attributes).inode;
      tree.create(deep, name, root, both);
    }
    for (const way of ['listed', 'looked up']) {
      const tree = overlayFileSystem({ upper, lower });
      const below = async (inode: number, name: string) =>
        way === 'listed'
          ? (((await tree.readdir(inode)) as readonly Entry[]).find((entry) => entry.name === name)?.inode ?? 0)
          : ((await tree.lookup(inode, name)) as Attributes).inode;
      const names = async (inode: number) =>
        ((await tree.readdir(inode)) as readonly Entry[]).map(({ name }) => name).sort();
      const d = await below(tree.root, 'd');
      assert.deepEqual(await names(d), ['deep', 'l', 'u'], way);
      const deep = await below(d, 'deep');
      assert.deepEqual(await names(deep), ['l', 'u'], way);
      refuses('ENOTEMPTY', () => tree.rmdir(d, 'deep'));
    }
  });
});

describe('trees that are joined', () => {
  it('keep their names, files and links apart, and what others are mounted on in its place', async () => {
    const [top, other] = [memoryFileSystem({ root }), memoryFileSystem({ root })];
    const a = (top.mkdir(top.root, 'a', root) as Attributes).inode;
    top.mkdir(a, 'b', root);
    const tree = await joined(
      new MountTable([
        { path: [], filesystem: top },
        { path: ['a', 'b'], filesystem: other },
      ]),
    );
    const inode = (within: number, name: string) => (tree.lookup(within, name) as Attributes).inode;
    const [outerA, outerB] = [inode(tree.root, 'a'), inode(inode(tree.root, 'a'), 'b')];
    made(other, 'file');
    const file = inode(outerB, 'file');
    refuses('EXDEV', () => tree.link(file, tree.root, 'x'));
    refuses('EXDEV', () => tree.rename(outerB, 'file', tree.root, 'x', 'replace'));
    refuses('EBUSY', () => tree.rmdir(outerA, 'b'));
    refuses('EBUSY', () => tree.unlink(outerA, 'b'));
    refuses('EBUSY', () => tree.rename(tree.root, 'a', tree.root, 'x', 'replace'));
    refuses('EBUSY', () => tree.rename(outerA, 'b', outerA, 'x', 'replace'));
    assert.deepEqual(
      (tree.readdir(outerA) as readonly Entry[]).map(({ name, inode: number, kind }) => [name, number, kind]),
      [['b', outerB, 'directory']],
    );
    assert.deepEqual(
      [tree.region?.(file), tree.region?.(outerA)],
      [
        { root: outerB, path: '/a/b' },
        { root: tree.root, path: '/' },
      ],
    );
    tree.rename(outerB, 'file', outerB, 'moved', 'replace');
    assert.ok(other.lookup(other.root, 'moved') !== undefined);
    refuses('ENOTSUP', () => tree.watch(() => undefined));
    refuses('ESTALE', () => tree.getattr(outerB + 5_000_003));
  });
});

describe('a tree of the host', () => {
  it('says of itself what the kernel says, and refuses what it does not show', async () => {
    const place = mkdtempSync(join(directory, 'host-'));
    const filesystem = hostFileSystem({ path: place, writable: true, lockLibrary });
    const { root: top } = filesystem;
    const { attributes, handle } = made(filesystem, 'file');
    filesystem.write(handle, 0, Buffer.from('12345'));
    assert.deepEqual([filesystem.seek(handle, 2, 'data'), filesystem.seek(handle, 2, 'hole')], [2, 5]);
    for (const offset of [-1, 5]) refuses('ENXIO', () => filesystem.seek(handle, offset, 'data'));
    refuses('EINVAL', () => filesystem.read(handle, -1, 1));
    refuses('EINVAL', () => filesystem.write(handle, -1, Buffer.from('x')));
    refuses('ENOTSUP', () => filesystem.allocate(handle, 0, 1, 'extend'));
    for (const kind of ['fifo', 'socket', 'character', 'block'] as const)
      refuses('EPERM', () => filesystem.mknod(top, kind, root, kind, 1));
    assert.equal((filesystem.mknod(top, 'node', { ...root, mode: 0o600 }, 'file', 0) as Attributes).kind, 'file');
    refuses('ENOTSUP', () => filesystem.setxattr(top, 'user.a', Buffer.from('x'), 'any'));
    refuses('ENOTSUP', () => filesystem.getxattr(top, 'user.a'));
    refuses('ENOTSUP', () => filesystem.removexattr(top, 'user.a'));
    refuses('ENOTSUP', () => filesystem.watch(() => undefined));
    refuses('EBADF', () => filesystem.read(handle + 1000, 0, 1));
    assert.deepEqual(filesystem.listxattr(top), []);
    const space = filesystem.statfs() as { blocks: number; freeBlocks: number; nameBytes: number };
    assert.ok(space.blocks >= space.freeBlocks && space.freeBlocks > 0 && space.nameBytes === 255);
    filesystem.unlink(top, 'file');
    assert.equal((filesystem.getattr(attributes.inode) as Attributes).links, 0, 'it is open');
    filesystem.release(handle);
    refuses('ESTALE', () => filesystem.getattr(attributes.inode));
    refuses('EBADF', () => filesystem.release(handle));
    await filesystem.close();
  });
});

describe('what a server answers', () => {
  it('is an error of ours, for each status of WebDAV', () => {
    const client = new WebdavClient({ url: new URL('http://127.0.0.1:1/'), limit: 1 }, 'webdav:x');
    const codes = {
      401: 'EACCES',
      403: 'EACCES',
      404: 'ENOENT',
      409: 'ENOENT',
      412: 'ESTALE',
      423: 'EBUSY',
      507: 'ENOSPC',
      500: 'EIO',
      302: 'EIO',
      0: 'EIO',
    };
    for (const [status, code] of Object.entries(codes)) {
      assert.equal(
        client.refused({ status: Number(status), headers: {}, body: Buffer.alloc(0) }, 'read').code,
        code,
        status,
      );
    }
    client.close();
  });

  it('is an error of ours, for each name and status of a bucket', () => {
    const code = (error: unknown) => s3Failure(error, 'read', 's3://x', 1000).code;
    const status = (httpStatusCode: number, name = 'X') => ({ name, $metadata: { httpStatusCode } });
    for (const [expected, ...errors] of [
      ['ETIMEDOUT', { name: 'AbortError' }, { name: 'TimeoutError' }, { name: 'RequestAborted' }],
      ['ENOENT', { name: 'NoSuchBucket' }, status(404, 'NoSuchBucket')],
      [
        'EACCES',
        ...[
          'AccessDenied',
          'CredentialsProviderError',
          'ExpiredToken',
          'Forbidden',
          'InvalidAccessKeyId',
          'SignatureDoesNotMatch',
        ].map((name) => ({ name })),
        status(401),
        status(403),
      ],
      [
        'ESTALE',
        status(412),
        { name: 'PreconditionFailed' },
        { name: 'ConditionalRequestConflict' },
        { name: 'NotFound' },
        { name: 'NoSuchKey' },
        status(404),
      ],
      ['EINVAL', { name: 'Error', message: 'Region is missing' }],
      ['EDQUOT', status(403, 'QuotaExceeded')],
      ['ENOSPC', status(507), status(507, 'XMinioStorageFull')],
      ['EFBIG', status(400, 'EntityTooLarge')],
      [
        'EIO',
        ...['ECONNREFUSED', 'ECONNRESET', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN', 'EPIPE'].map(
          (each) => ({ code: each }),
        ),
        status(500),
        {},
        undefined,
        null,
      ],
    ] as const) {
      for (const error of errors) assert.equal(code(error), expected, JSON.stringify(error));
    }
    const own = new ErrnoError('EBUSY', { operation: 'x', reason: 'y' });
    assert.equal(s3Failure(own, 'read', 's3://x', 1000), own);
    assert.deepEqual(
      [
        { name: 'NotFound' },
        { name: 'NoSuchKey' },
        status(404),
        status(404, 'NoSuchBucket'),
        status(403),
        undefined,
      ].map(saysMissing),
      [true, true, true, false, false, false],
    );
  });
});
