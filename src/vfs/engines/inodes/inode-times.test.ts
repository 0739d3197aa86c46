/** Which times each operation moves, of which entries: in an engine of inodes and in a directory of the kernel's they are the same ones. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { Attributes, FileSystem, Inode, Opened, OpenMode } from '../../filesystem.js';
import { hostFileSystem } from '../host/host.js';
import { memoryFileSystem } from '../memory/memory.js';

const directory = mkdtempSync(join(tmpdir(), 'ctx-inode-times-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const made = { mode: 0o755, uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 };
const both: OpenMode = { read: true, write: true };

interface Tree {
  readonly fs: FileSystem;
  readonly at: (path: string) => Inode;
}
type Act = (tree: Tree) => unknown;

/** Directories and files by path; a file has a byte, and the last one a second name. */
const places = ['d/', 'd/f', 'd/g', 'd/sub/', 'e/', 'e/i', 'e/h', 'e/other/'];

function withHandle(path: string, act: (fs: FileSystem, handle: number) => unknown): Act {
  return ({ fs, at }) => {
    const handle = fs.open(at(path), both) as number;
    act(fs, handle);
    fs.release(handle);
  };
}

const acts: Readonly<Record<string, Act>> = {
  'makes a file': ({ fs, at }) => fs.release((fs.create(at('d'), 'new', made, both) as Opened).handle),
  'makes a directory': ({ fs, at }) => fs.mkdir(at('d'), 'new', made),
  'makes a symbolic link': ({ fs, at }) => fs.symlink(at('d'), 'new', 'target', made),
  'gives a file a second name': ({ fs, at }) => fs.link(at('d/f'), at('e'), 'new'),
  'removes one of two names': ({ fs, at }) => fs.unlink(at('e'), 'also'),
  'removes a file': ({ fs, at }) => fs.unlink(at('d'), 'f'),
  'removes a directory': ({ fs, at }) => fs.rmdir(at('d'), 'sub'),
  'renames a file': ({ fs, at }) => fs.rename(at('d'), 'f', at('d'), 'new', 'replace'),
  'renames a file to itself': ({ fs, at }) => fs.rename(at('d'), 'f', at('d'), 'f', 'replace'),
  'moves a file': ({ fs, at }) => fs.rename(at('d'), 'f', at('e'), 'new', 'keep'),
  'moves a directory': ({ fs, at }) => fs.rename(at('d'), 'sub', at('e'), 'new', 'replace'),
  'moves a file onto another': ({ fs, at }) => fs.rename(at('d'), 'f', at('e'), 'i', 'replace'),
  'moves a directory onto another': ({ fs, at }) => fs.rename(at('d'), 'sub', at('e'), 'other', 'replace'),
  writes: withHandle('d/f', (fs, handle) => fs.write(handle, 3, Buffer.from('more'))),
  'writes no byte': withHandle('d/f', (fs, handle) => fs.write(handle, 0, Buffer.alloc(0))),
  reads: withHandle('d/f', (fs, handle) => fs.read(handle, 0, 1)),
  'makes a file longer': ({ fs, at }) => fs.setattr(at('d/f'), { size: 9 }),
  'makes a file shorter': ({ fs, at }) => fs.setattr(at('d/f'), { size: 0 }),
  'sets a mode': ({ fs, at }) => fs.setattr(at('d/f'), { mode: 0o600 }),
  'sets a mode of a directory': ({ fs, at }) => fs.setattr(at('d'), { mode: 0o700 }),
  'looks up and lists': ({ fs, at }) => [fs.lookup(at('d'), 'f'), fs.readdir(at('d'))],
};

/** The kernel dates by a clock that stands still for some milliseconds. */
function untilLater(): void {
  const file = join(directory, 'clock');
  const time = () => {
    writeFileSync(file, 'x');
    return statSync(file, { bigint: true }).mtimeNs;
  };
  for (const before = time(); time() === before; );
  for (const before = Date.now(); Date.now() < before + 2; );
}

/** What moved: of each entry that was there, and whether it is there still. */
async function moved(fs: FileSystem, act: Act): Promise<readonly string[]> {
  const at = (path: string): Inode =>
    path.split('/').reduce((inode, name) => (fs.lookup(inode, name) as Attributes).inode, fs.root);
  const above = (path: string) => (path.includes('/') ? at(path.slice(0, path.lastIndexOf('/'))) : fs.root);
  for (const place of places) {
    const path = place.replace(/\/$/, '');
    const name = path.split('/').at(-1) ?? '';
    if (place.endsWith('/')) fs.mkdir(above(path), name, made);
    else {
      const { handle } = fs.create(above(path), name, made, both) as Opened;
      fs.write(handle, 0, Buffer.from('x'));
      fs.release(handle);
    }
  }
  fs.link(at('e/h'), at('e'), 'also');
  const inodes = new Map(places.map((place) => [place, at(place.replace(/\/$/, ''))]));
  const seen = (inode: Inode) => {
    try {
      return fs.getattr(inode) as Attributes;
    } catch {
      return undefined;
    }
  };
  const before = [...inodes].map(([place, inode]) => [place, inode, seen(inode)] as const);
  untilLater();
  act({ fs, at });
  const changes = before.map(([place, inode, old]) => {
    const now = seen(inode);
    if (now === undefined) return `${place} is gone`;
    const times = (['modified', 'changed'] as const).filter((each) => now[each] !== old?.[each]);
    return `${place} ${times.join(' ')}${now.kind === 'file' ? `, ${now.links} names, ${now.size} bytes` : ''}`;
  });
  await fs.close();
  return changes;
}

describe('times of an engine of inodes', () => {
  for (const [name, act] of Object.entries(acts)) {
    it(`are those that the kernel moves where somebody ${name}`, async () => {
      const place = join(directory, name);
      mkdirSync(place);
      const host = hostFileSystem({ path: place, writable: true });
      const [ours, kernels] = [await moved(memoryFileSystem({ root: made }), act), await moved(host, act)];
      assert.deepEqual(ours, kernels);
    });
  }

  it('are those of both directories and both entries where two are exchanged, which a host tree cannot do', async () => {
    const exchanged = await moved(memoryFileSystem({ root: made }), ({ fs, at }) =>
      fs.rename(at('d'), 'sub', at('e'), 'h', 'exchange'),
    );
    assert.deepEqual(
      exchanged.filter((each) => each.includes('changed')),
      ['d/ modified changed', 'd/sub/ changed', 'e/ modified changed', 'e/h changed, 2 names, 1 bytes'],
    );
  });
});
