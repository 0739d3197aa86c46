/** Numbers of a host tree: which entry each is, as long as that is there. */
import assert from 'node:assert/strict';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { ErrnoError } from '../../../base/errno.js';
import type { Attributes, Opened } from '../../filesystem.js';
import { HostCalls } from './anchored.js';
import { hostFileSystem } from './host.js';
import { HostNodes } from './host-nodes.js';

const scratch = mkdtempSync(join(tmpdir(), 'ctx-host-nodes-'));
after(() => rmSync(scratch, { recursive: true, force: true }));
const root = { mode: 0o755, uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 };

const asRoot = { skip: process.geteuid?.() === 0 ? false : 'only root gives owners' };

describe('an entry of a host tree', () => {
  it('has one number, wherever it is found again, and the root is the root', () => {
    const place = mkdtempSync(join(scratch, 'one-'));
    mkdirSync(join(place, 'd'));
    const calls = new HostCalls();
    const descriptor = openSync(place, 'r');
    const below = openSync(join(place, 'd'), 'r');
    const nodes = new HostNodes(calls, descriptor, false);
    const d = nodes.number(1, 'd', calls.stat('x', below));
    assert.equal(d, 2);
    assert.equal(nodes.number(1, 'e', calls.stat('x', below)), d, 'it was moved');
    assert.equal(nodes.number(d, 'again', calls.stat('x', descriptor)), 1, 'a bind mount of the root');
    assert.equal(nodes.number(d, 'itself', calls.stat('x', below)), d, 'a bind mount of itself');
    assert.throws(
      () => nodes.on(d, 'look', () => undefined),
      { code: 'ESTALE' },
      'it is called e now, and that is not there',
    );
    nodes.number(1, 'd', calls.stat('x', below));
    assert.equal(
      nodes.on(d, 'look', () => 'there'),
      'there',
    );
    nodes.forget(1);
    nodes.forget(d);
    assert.equal(
      nodes.on(1, 'look', () => 'there'),
      'there',
      'the root is never forgotten',
    );
    assert.throws(() => nodes.on(d, 'look', () => undefined), { code: 'ESTALE' });
    assert.equal(nodes.number(1, 'd', calls.stat('x', below)), 3);
    for (const each of [descriptor, below]) closeSync(each);
  });

  it('is gone where its name leads to another one, to a link or nowhere', async () => {
    const place = mkdtempSync(join(scratch, 'two-'));
    const filesystem = hostFileSystem({ path: place, writable: true });
    const inode = (name: string) => (filesystem.lookup(filesystem.root, name) as Attributes).inode;
    const changes: Readonly<Record<string, (path: string) => void>> = {
      another: (path) => {
        rmSync(path, { recursive: true });
        mkdirSync(path);
      },
      link: (path) => {
        renameSync(path, `${path}.moved`);
        symlinkSync(`${path}.moved`, path);
      },
      file: (path) => {
        rmSync(path, { recursive: true });
        writeFileSync(path, '');
      },
      nothing: (path) => rmSync(path, { recursive: true }),
    };
    for (const [name, change] of Object.entries(changes)) {
      mkdirSync(join(place, name));
      writeFileSync(join(place, name, 'below'), 'text');
      const directory = inode(name);
      const below = (filesystem.lookup(directory, 'below') as Attributes).inode;
      change(join(place, name));
      assert.throws(() => filesystem.getattr(directory), { code: 'ESTALE' }, name);
      assert.throws(() => filesystem.getattr(below), { code: 'ESTALE' }, name);
      assert.throws(() => filesystem.mkdir(directory, 'x', root), { code: 'ESTALE' }, name);
    }
    await filesystem.close();
  });

  it('is reached where its path is longer than the kernel takes', async () => {
    const place = mkdtempSync(join(scratch, 'deep-'));
    const filesystem = hostFileSystem({ path: place, writable: true });
    const name = 'd'.repeat(200);
    const line = [filesystem.root];
    const last = () => line.at(-1) as number;
    while (line.length < 50) line.push((filesystem.mkdir(last(), name, root) as Attributes).inode);
    const at = last();
    const { handle, attributes } = filesystem.create(at, 'file', root, { read: true, write: true }) as Opened;
    filesystem.write(handle, 0, Buffer.from('deep'));
    filesystem.release(handle);
    assert.equal((filesystem.getattr(attributes.inode) as Attributes).size, 4);
    assert.deepEqual(
      (filesystem.readdir(at) as readonly { name: string }[]).map(({ name }) => name),
      ['file'],
    );
    filesystem.unlink(at, 'file');
    assert.throws(() => filesystem.getattr(attributes.inode), { code: 'ESTALE' });
    for (const above of line.slice(0, -1).reverse()) filesystem.rmdir(above, name);
    await filesystem.close();
  });

  it('is opened again by who has it open where it has no name any more, and not where others moved it', () => {
    const place = mkdtempSync(join(scratch, 'again-'));
    const filesystem = hostFileSystem({ path: place, writable: true });
    const both = { read: true, write: true };
    for (const [name, act] of Object.entries({
      deleted: (path: string) => rmSync(path),
      moved: (path: string) => renameSync(path, `${path}-elsewhere`),
    })) {
      const { handle, attributes } = filesystem.create(1, name, root, both) as Opened;
      act(join(place, name));
      const open = () => filesystem.open(attributes.inode, both) as number;
      if (name === 'moved') assert.throws(open, { code: 'ESTALE' });
      else {
        const again = open();
        filesystem.write(again, 0, Buffer.from('text'));
        assert.equal((filesystem.read(handle, 0, 9) as Buffer).toString(), 'text');
        filesystem.release(again);
      }
      filesystem.release(handle);
      assert.throws(open, { code: 'ESTALE' });
    }
    filesystem.close();
  });

  it('is not left behind where it cannot be given its owner, and what came in its place is', asRoot, () => {
    const place = mkdtempSync(join(scratch, 'owner-'));
    const filesystem = hostFileSystem({ path: place, writable: true });
    const { owner } = HostCalls.prototype;
    const refuse = () => {
      throw new ErrnoError('EPERM', { operation: 'chown', reason: 'as the test has it' });
    };
    HostCalls.prototype.owner = refuse;
    const other = { mode: 0o700, uid: 12_345, gid: 12_345 };
    const makings = [
      () => filesystem.create(1, 'made', other, { read: true, write: true }),
      () => filesystem.mkdir(1, 'made', other),
      () => filesystem.symlink(1, 'made', 'x', other),
    ];
    try {
      for (const make of makings) {
        assert.throws(make, { code: 'EPERM' });
        assert.deepEqual(readdirSync(place), []);
      }
      HostCalls.prototype.owner = () => {
        renameSync(join(place, 'made'), join(place, 'moved'));
        writeFileSync(join(place, 'made'), 'of somebody else');
        refuse();
      };
      assert.throws(() => filesystem.mkdir(1, 'made', other), { code: 'EPERM' });
      assert.deepEqual(readdirSync(place), ['made', 'moved']);
    } finally {
      HostCalls.prototype.owner = owner;
    }
    filesystem.close();
  });
});
