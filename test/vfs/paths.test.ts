/** The one walker, mounts and the guard: what a path leads to, and what it never leads to. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { createVfs, type ErrnoError, type Vfs, type VfsRefusal } from 'ctxfs';
import { scratch } from './engines.js';

const refused = (code: string) => (error: ErrnoError) => {
  assert.equal(error.code, code, error.message);
  return true;
};

async function treeOf(files: Readonly<Record<string, string>>, mounts = {}): Promise<Vfs> {
  const vfs = await createVfs({ mounts });
  for (const [path, text] of Object.entries(files)) {
    await vfs.mkdir(path.slice(0, path.lastIndexOf('/')) || '/', { recursive: true });
    await vfs.writeFile(path, text);
  }
  return vfs;
}

describe('a path', () => {
  test('goes through names, dots and links as in the kernel', async () => {
    const vfs = await treeOf({ '/a/b/f': 'text' });
    await vfs.symlink('b', '/a/l');
    await vfs.symlink('/a/l/f', '/abs');
    await vfs.symlink('../a/./b/../b/f', '/a/rel');
    for (const path of ['/a/b/f', 'a/b/f', '/a//b/./f', '/a/l/f', '/abs', '/a/rel', '/../../a/b/f', '/a/l/../b/f']) {
      assert.equal(await vfs.readFile(path, 'utf8'), 'text', path);
    }
    assert.equal(await vfs.realpath('/abs'), '/a/b/f');
    await assert.rejects(vfs.readFile('/a/b/f/'), refused('ENOTDIR'));
    await assert.rejects(vfs.readFile('/a/b/f/.'), refused('ENOTDIR'));
    await assert.rejects(vfs.readFile('/a/nothing/f'), refused('ENOENT'));
    await assert.rejects(vfs.readFile(''), refused('ENOENT'));
    await assert.rejects(vfs.readFile(`/${'x'.repeat(256)}`), refused('ENAMETOOLONG'));
    await assert.rejects(vfs.readFile(`/${'x/'.repeat(2_100)}`), refused('ENAMETOOLONG'));
    await vfs.close();
  });

  test('ends where links lead in a circle, or are too many', async () => {
    const vfs = await treeOf({ '/end': 'x' });
    await vfs.symlink('two', '/one');
    await vfs.symlink('one', '/two');
    await assert.rejects(vfs.readFile('/one'), refused('ELOOP'));
    await vfs.symlink('end', '/l0');
    for (let index = 1; index <= 40; index += 1) await vfs.symlink(`l${index - 1}`, `/l${index}`);
    assert.equal(await vfs.readFile('/l39', 'utf8'), 'x');
    await assert.rejects(vfs.readFile('/l40'), refused('ELOOP'));
    await vfs.close();
  });

  test('makes what a dangling link names, and nothing where it must be new', async () => {
    const vfs = await treeOf({ '/d/x': '' });
    await vfs.symlink('d/made', '/l');
    await assert.rejects(vfs.writeFile('/l', 'no', { flag: 'wx' }), refused('EEXIST'));
    await vfs.writeFile('/l', 'yes');
    assert.equal(await vfs.readFile('/d/made', 'utf8'), 'yes');
    await vfs.close();
  });
});

describe('mounts', () => {
  test('have the longest prefix, nested, and a link leads within its mount or nowhere', async () => {
    const vfs = await treeOf(
      { '/etc/secret': 'secret', '/mnt/inner/f': 'inner', '/mnt/f': 'outer' },
      { '/mnt': 'memory:', '/mnt/inner': 'memory:' },
    );
    assert.equal(await vfs.readFile('/mnt/inner/f', 'utf8'), 'inner');
    assert.equal(await vfs.readFile('/mnt/inner/../f', 'utf8'), 'outer');
    assert.equal(await vfs.readFile('/mnt/../etc/secret', 'utf8'), 'secret');
    for (const target of ['/etc/secret', '/etc/f', '../etc/secret', '../../../etc/secret', 'up/../etc/secret']) {
      await vfs.rm('/mnt/l', { force: true });
      await vfs.rm('/mnt/up', { force: true });
      await vfs.symlink('.', '/mnt/up');
      await vfs.symlink(target, '/mnt/l');
      await assert.rejects(vfs.readFile('/mnt/l'), refused('ENOENT'), target);
    }
    await vfs.symlink('/mnt/f', '/mnt/own');
    await vfs.symlink('inner/f', '/mnt/down');
    assert.equal(await vfs.readFile('/mnt/own', 'utf8'), 'outer');
    assert.equal(await vfs.readFile('/mnt/down', 'utf8'), 'inner');
    await vfs.symlink('../f', '/mnt/inner/up');
    await assert.rejects(vfs.readFile('/mnt/inner/up'), refused('ENOENT'));
    await assert.rejects(vfs.rename('/mnt/f', '/mnt/inner/f2'), refused('EXDEV'));
    await assert.rejects(vfs.rmdir('/mnt/inner'), refused('EBUSY'));
    await assert.rejects(vfs.rename('/mnt', '/moved'), refused('EBUSY'));
    await vfs.close();
  });

  test('of one engine inside itself, twice at one place, or without a directory are refused', async () => {
    const { path, remove } = scratch();
    await assert.rejects(createVfs({ mounts: { '/a': 'memory:', '/a/': 'memory:' } }), refused('EINVAL'));
    await assert.rejects(createVfs({ mounts: { '/': `host:${path}`, '/x': 'memory:' } }), refused('ENOENT'));
    await assert.rejects(createVfs({ mounts: { '/x': 'gopher:hole' } }), refused('EINVAL'));
    await assert.rejects(createVfs({ mounts: { x: 'memory:' } }), refused('EINVAL'));
    remove();
  });
});

describe('a host directory', () => {
  test('is read-only unless it was opened as writable', async () => {
    const { path, remove } = scratch();
    writeFileSync(join(path, 'f'), 'host');
    const vfs = await createVfs({ mounts: { '/h': `host:${path}`, '/w': { spec: `host:${path}`, writable: true } } });
    assert.equal(await vfs.readFile('/h/f', 'utf8'), 'host');
    await assert.rejects(vfs.writeFile('/h/f', 'x'), refused('EROFS'));
    await assert.rejects(vfs.rm('/h/f'), refused('EROFS'));
    await vfs.writeFile('/w/g', 'written');
    assert.equal(readFileSync(join(path, 'g'), 'utf8'), 'written');
    await vfs.close();
    remove();
  });

  test('never leads out of itself, also while somebody swaps its directories for links', async () => {
    const { path, remove } = scratch();
    mkdirSync(join(path, 'root', 'd'), { recursive: true });
    mkdirSync(join(path, 'out'));
    writeFileSync(join(path, 'root', 'd', 'f'), 'inside');
    writeFileSync(join(path, 'out', 'f'), 'OUTSIDE');
    symlinkSync(join(path, 'out'), join(path, 'root', 'abs'));
    symlinkSync('../out', join(path, 'root', 'rel'));
    symlinkSync('/proc/self/root', join(path, 'root', 'magic'));
    const vfs = await createVfs({ mounts: { '/h': { spec: `host:${path}/root`, writable: true } } });
    for (const attack of ['/h/abs/f', '/h/rel/f', '/h/magic/etc/passwd', '/h/d/../../out/f', '/h/../out/f']) {
      await assert.rejects(vfs.readFile(attack), refused('ENOENT'), attack);
    }
    const seen = new Set<string>();
    for (let round = 0; round < 200; round += 1) {
      const reading = vfs.readFile('/h/d/f', 'utf8').then(
        (text) => seen.add(String(text)),
        (error: ErrnoError) => assert.match(error.code, /^(ENOENT|ESTALE|ENOTDIR)$/),
      );
      renameSync(join(path, 'root', 'd'), join(path, 'root', 'e'));
      symlinkSync(join(path, 'out'), join(path, 'root', 'd'));
      await reading;
      await vfs.writeFile('/h/d/f', 'inside').catch((error: ErrnoError) => assert.notEqual(error.code, undefined));
      rmSync(join(path, 'root', 'd'));
      renameSync(join(path, 'root', 'e'), join(path, 'root', 'd'));
    }
    assert.ok(!seen.has('OUTSIDE'));
    assert.equal(readFileSync(join(path, 'out', 'f'), 'utf8'), 'OUTSIDE');
    await vfs.close();
    remove();
  });
});

describe('a guest', () => {
  test('has nothing but its grants, on the resolved path, and every refusal is reported', async () => {
    const vfs = await treeOf({ '/in/f': 'in', '/out/f': 'out', '/secret/f': 'secret' });
    await vfs.symlink('/secret/f', '/in/way');
    const refusals: VfsRefusal[] = [];
    const guest = vfs.restricted(
      { 'fs.read': ['/in', '/out'], 'fs.write': ['/out'], 'fs.create': ['/out'] },
      (refusal) => refusals.push(refusal),
    );
    assert.equal(await guest.readFile('/in/f', 'utf8'), 'in');
    assert.deepEqual(await guest.readdir('/'), ['in', 'out']);
    await assert.rejects(guest.readFile('/secret/f'), refused('ENOENT'));
    await assert.rejects(guest.readFile('/in/way'), refused('ENOENT'));
    await assert.rejects(guest.readFile('/in/../secret/f'), refused('ENOENT'));
    await assert.rejects(guest.writeFile('/in/f', 'x'), refused('EACCES'));
    await assert.rejects(guest.writeFile('/in/new', 'x'), refused('EACCES'));
    await guest.writeFile('/out/new', 'x');
    await assert.rejects(guest.rm('/out/new'), refused('EACCES'));
    await assert.rejects(guest.chmod('/out/new', 0o777), refused('EACCES'));
    await assert.rejects(guest.rename('/out/new', '/in/new'), refused('EACCES'));
    assert.equal(refusals.length, 8);
    assert.deepEqual(refusals[0], { scope: 'fs.read', operation: 'open', path: '/secret/f', code: 'ENOENT' });
    assert.throws(() => guest.restricted({ 'fs.read': ['/'] }), refused('EPERM'));
    const nothing = vfs.restricted({});
    await assert.rejects(nothing.readdir('/'), refused('EACCES'));
    await assert.rejects(nothing.stat('/in/f'), refused('EACCES'));
    await vfs.close();
  });

  test('may look at the directories above what it was granted, and do nothing else to them', async () => {
    const vfs = await treeOf({ '/a/b/c/f': 'f', '/a/other': 'other' });
    const below = ['/a/b/c'];
    const guest = vfs.restricted({
      ...{ 'fs.read': below, 'fs.write': below, 'fs.create': ['/a/b/c', '/a/d'], 'fs.delete': below },
      'fs.metadata': below,
    });
    assert.deepEqual(await guest.readdir('/a'), ['b']);
    await guest.chmod('/a/b/c/f', 0o600);
    for (const above of ['/a', '/a/b']) await assert.rejects(guest.chmod(above, 0o700), refused('EACCES'), above);
    await assert.rejects(guest.rename('/a/b', '/a/d'), refused('EACCES'));
    await guest.rm('/a/b/c/f');
    await assert.rejects(guest.rm('/a/b', { recursive: true }), refused('EACCES'));
    assert.deepEqual(await vfs.readdir('/a'), ['b', 'other']);
    await vfs.close();
  });

  test('is held to its quota by an error that names the setting, and hears of four fifths', async () => {
    const events: string[] = [];
    const vfs = await createVfs({
      quota: { bytes: 100_000, inodes: 5, fileBytes: 50_000, openFiles: 2 },
      onQuota: ({ setting }) => events.push(setting),
    });
    await vfs.writeFile('/a', Buffer.alloc(40_000));
    await assert.rejects(vfs.writeFile('/b', Buffer.alloc(60_000)), /fileBytes/);
    await vfs.writeFile('/c', Buffer.alloc(30_000));
    await assert.rejects(vfs.appendFile('/a', Buffer.alloc(20_000)), /fileBytes/);
    await assert.rejects(vfs.writeFile('/d', Buffer.alloc(45_000)), /quota.*allows/);
    await assert.rejects(vfs.writeFile('/e', 'x'), /inodes/);
    const one = await vfs.open('/a');
    const two = await vfs.open('/a');
    await assert.rejects(vfs.open('/a'), refused('EDQUOT'));
    await one.close();
    await two.close();
    assert.deepEqual([...new Set(events)].sort(), ['bytes', 'fileBytes', 'inodes', 'openFiles']);
    await vfs.close();
  });
});
