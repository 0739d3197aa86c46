/** A view as a filesystem: every operation on every kind of node, and what changes while it is looked at. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { Attributes, FileSystem } from '../../vfs/filesystem.js';
import { agentTexts } from '../spec.js';
import { agentViewer } from './agent-viewer.js';
import { projection } from './projection.js';
import { wholeCatalogue } from './whole-catalogue.js';

const root = mkdtempSync(join(tmpdir(), 'ctx-projection-'));
after(() => rmSync(root, { recursive: true, force: true }));
const [uid, gid] = [process.geteuid?.() ?? 0, process.getegid?.() ?? 0];
function put(path: string, text = '', mode = 0o644): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text, { mode });
}
put('tool/lint', '', 0o755);
put('tool/lint.d/name', 'lint\n');
put('tool/gone', '', 0o755);
put('shared/team/docs/x');
for (const [file, text] of agentTexts('ada', {}, { uid, gid })) put(`agent/ada.d/${file}`, text);

const client = { size: 6, modified: 5n, read: () => Buffer.from('client') };
const owner = { uid: 7, gid: 8 };
const view: FileSystem = projection({
  label: 'view',
  owner,
  catalogue: wholeCatalogue({ root, uid }),
  viewer: () => undefined,
  uid,
  client,
});

const code = (expected: string) => ({ code: expected });
/** What the engine answers at once. */
const find = (within: number, name: string) => view.lookup(within, name) as Attributes | undefined;
function at(path: string): Attributes {
  let found = view.getattr(view.root) as Attributes;
  for (const name of path.split('/').filter(Boolean)) found = find(found.inode, name) ?? assert.fail(path);
  return found;
}
const read = { read: true, write: false } as const;
const nodes = {
  '/tool': 'directory',
  '/tool/lint': 'file',
  '/tool/lint.d/name': 'file',
  '/shared/team/docs': 'symlink',
} as const;

describe('a view as a filesystem', () => {
  it('says what can be done with it: it is read, its names are bytes, its links are followed, and no more', () => {
    const can = Object.entries(view.capabilities).flatMap(([name, value]) => (value ? [name] : []));
    assert.deepEqual(can.sort(), ['byteNames', 'immediate', 'symlinks']);
  });

  it('shows each node with its kind, mode, size, owner and time; programs are all the same file', () => {
    const shown = Object.keys(nodes).map((path) => {
      const { kind, mode, size, links, uid: user, gid: group, device } = at(path);
      return [kind, mode, size, links, user, group, device];
    });
    const target = `${root}/shared/team/docs`;
    assert.deepEqual(shown, [
      ['directory', 0o555, 0, 2, 7, 8, 0],
      ['file', 0o555, 6, 1, 7, 8, 0],
      ['file', 0o444, 5, 1, 7, 8, 0],
      ['symlink', 0o777, Buffer.byteLength(target), 1, 7, 8, 0],
    ]);
    assert.equal(at('/tool/lint').inode, at('/tool/gone').inode);
    assert.deepEqual(at('/tool/lint').modified, 5n);
    assert.equal(at('/tool').inode, at('/tool').inode);
    assert.deepEqual(view.getattr(at('/tool/lint.d/name').inode), at('/tool/lint.d/name'));
    assert.equal(find(view.root, 'none'), undefined);
    for (const name of ['', 'a/b', 'x'.repeat(256)]) assert.throws(() => find(view.root, name), name);
    assert.deepEqual((view.statfs() as { nameBytes: number }).nameBytes, 255);
    assert.deepEqual(
      [view.lasting?.(view.root), view.lasting?.(at('/tool').inode), view.lasting?.(at('/tool/lint').inode)],
      ['name', 'name', 'inode'],
    );
    assert.deepEqual(
      [view.lasting?.(at('/tool/lint.d').inode), view.lasting?.(at('/tool/lint.d/name').inode)],
      ['inode', undefined],
    );
  });

  it('lists directories, reads files and links, and each refuses what it is not', () => {
    for (const [path, kind] of Object.entries(nodes)) {
      const { inode } = at(path);
      if (kind === 'directory')
        assert.ok(
          (view.readdir(inode) as readonly { name: string; inode: number }[]).some(({ name }) => name === 'lint'),
        );
      else assert.throws(() => view.readdir(inode), code('ENOTDIR'), path);
      if (kind !== 'directory') assert.throws(() => find(inode, 'x'), code('ENOTDIR'), path);
      if (kind === 'symlink') assert.equal(view.readlink(inode), `${root}/shared/team/docs`);
      else assert.throws(() => view.readlink(inode), code('EINVAL'), path);
      for (const mode of [
        { read: true, write: true },
        { read: false, write: true },
        { ...read, truncate: true },
      ])
        assert.throws(() => view.open(inode, mode), code(kind === 'directory' ? 'EISDIR' : 'EROFS'), path);
      if (kind === 'symlink') assert.throws(() => view.open(inode, read), code('ELOOP'));
    }
    const entries = view.readdir(at('/tool').inode) as readonly { name: string; inode: number; kind: string }[];
    for (const { name, inode, kind } of entries)
      assert.deepEqual([inode, kind], [at(`/tool/${name}`).inode, at(`/tool/${name}`).kind]);
  });

  it('reads what was there when it was opened, in any part, until it is closed', () => {
    const handle = view.open(at('/tool/lint.d/name').inode, read) as number;
    put('tool/lint.d/name', 'changed\n');
    const text = (offset: number, length: number) => String(view.read(handle, offset, length));
    assert.deepEqual([text(0, 99), text(1, 2), text(5, 1), text(9, 1), text(0, 0)], ['lint\n', 'in', '', '', '']);
    assert.throws(() => view.read(handle, -1, 1), code('EINVAL'));
    assert.deepEqual(
      [view.seek(handle, 0, 'data'), view.seek(handle, 4, 'data'), view.seek(handle, 4, 'hole')],
      [0, 4, 5],
    );
    assert.throws(() => view.seek(handle, -1, 'data'), code('EINVAL'));
    for (const wanted of ['data', 'hole'] as const) assert.throws(() => view.seek(handle, 5, wanted), code('ENXIO'));
    view.fsync(handle);
    const other = view.open(at('/tool/lint.d/name').inode, read) as number;
    assert.notEqual(other, handle);
    view.release(handle);
    assert.equal(String(view.read(other, 0, 99)), 'changed\n');
    view.release(other);
    for (const act of [
      () => view.read(handle, 0, 1),
      () => view.seek(handle, 0, 'data'),
      () => view.fsync(handle),
      () => view.release(handle),
      () => view.write(handle, 0, Buffer.from('x')),
    ])
      assert.throws(act, code('EBADF'));
    put('tool/lint.d/name', 'lint\n');
  });

  it('changes nothing, by no operation that there is', () => {
    const { inode } = at('/tool');
    const operations = view as unknown as Readonly<Record<string, (...given: unknown[]) => unknown>>;
    for (const name of [
      'create',
      'mkdir',
      'mknod',
      'allocate',
      'unlink',
      'rmdir',
      'rename',
      'link',
      'symlink',
      'setxattr',
      'removexattr',
    ])
      assert.throws(() => operations[name]?.(inode, 'x'), code('EROFS'), name);
    for (const name of ['getxattr', 'lock', 'watch'])
      assert.throws(() => operations[name]?.(inode, 'x'), code('ENOTSUP'), name);
    for (const path of Object.keys(nodes))
      for (const changes of [{}, { mode: 0o777 }, { size: 0 }])
        assert.throws(() => view.setattr(at(path).inode, changes), code('EROFS'));
    assert.deepEqual(view.listxattr(inode), []);
    const handle = view.open(at('/tool/lint.d/name').inode, read) as number;
    assert.throws(() => view.write(handle, 0, Buffer.from('x')), code('EBADF'));
    view.release(handle);
  });

  it('says of what is gone that it is not there any more, and finds it again when it is', () => {
    const inode = at('/agent/ada.d').inode;
    renameSync(join(root, 'agent/ada.d'), join(root, 'away'));
    for (const act of [
      () => view.getattr(inode),
      () => view.readdir(inode),
      () => view.open(inode, read),
      () => view.readlink(inode),
    ])
      assert.throws(act, code('ESTALE'));
    assert.equal(find(at('/agent').inode, 'ada.d'), undefined);
    renameSync(join(root, 'away'), join(root, 'agent/ada.d'));
    assert.equal(at('/agent/ada.d').inode, inode);
  });

  it('takes a whole text for a file that its viewer may write, and says what is wrong with any other', async () => {
    const policy = ['allow boss_t agent:kid read', 'allow boss_t agent:kid write'];
    for (const [name, spec, parent] of [
      ['boss', { policy }, ''],
      ['kid', {}, 'agent:boss\n'],
    ] as const) {
      for (const [file, text] of agentTexts(name, spec, { uid, gid }))
        put(`agent/${name}.d/${file}`, file === 'parent' ? parent : text);
    }
    const written: unknown[] = [];
    const { viewer } = agentViewer({ root, uid }, 'boss', () => 0);
    const writable = projection({
      ...{ label: 'view', owner, catalogue: wholeCatalogue({ root, uid }), viewer, uid, client },
      home: { agent: 'boss', target: '/h' },
      writes: async (...given) => {
        if (given[2] === 'wrong') throw new Error('wrong');
        written.push(given);
      },
    });
    const below = (within: number, name: string) => (writable.lookup(within, name) as Attributes).inode;
    const files = below(below(writable.root, 'agent'), 'kid.d');
    const [env, status] = [below(files, 'env'), below(files, 'status')];
    assert.deepEqual(
      [env, status].map((inode) => (writable.getattr(inode) as Attributes).mode),
      [0o644, 0o444],
    );
    const write = { read: false, write: true, truncate: true } as const;
    assert.throws(() => writable.open(status, write), code('EROFS'));
    const handle = writable.open(env, write) as number;
    const other = writable.open(below(files, 'path'), write) as number;
    assert.equal(String(writable.read(other, 0, 99)), '', 'it was emptied for the text to come');
    assert.equal(await writable.write(handle, 0, Buffer.from('A=ä\n')), 5);
    assert.deepEqual(written, [['kid', 'env', 'A=ä\n']]);
    await assert.rejects(async () => writable.write(handle, 0, Buffer.from('wrong')), { message: 'wrong' });
    for (const [offset, bytes] of [
      [1, Buffer.from('x')],
      [0, Buffer.from([0xff])],
      [0, Buffer.alloc(1 << 24)],
    ] as const) {
      assert.throws(() => writable.write(handle, offset, bytes), code('EINVAL'));
    }
    writable.release(handle);
    assert.equal((writable.setattr(env, { size: 0 }) as Attributes).inode, env);
    for (const changes of [{ mode: 0o777 }, { uid: 5 }, { gid: 5 }])
      assert.throws(() => writable.setattr(env, changes), code('EROFS'));
    assert.throws(() => writable.setattr(status, { size: 0 }), code('EROFS'));
    assert.equal(written.length, 1);
  });
});
