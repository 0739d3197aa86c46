/** An overlay whose lower tree answers later: what happens between a question and its answer. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Attributes, Capabilities, FileSystem, Handle, Opened } from '../../filesystem.js';
import { memoryFileSystem } from '../memory/memory.js';
import { overlayFileSystem } from './overlay.js';

const root = { mode: 0o755, uid: 0, gid: 0 };
const both = { read: true, write: true };
const reading = { read: true, write: false };

interface Held {
  method: string;
  until: Promise<void>;
}

/** The next answer to a method waits until it is let go. */
function later(inner: FileSystem, held: Held): FileSystem {
  return new Proxy(inner, {
    get: (target, key) => {
      if (key === 'capabilities') return { ...target.capabilities, immediate: false };
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function' || key === 'forget') return value;
      return async (...given: readonly unknown[]) => {
        const answer: unknown = value.apply(target, given);
        if (key === held.method) {
          held.method = '';
          await held.until;
        }
        return answer;
      };
    },
  });
}

function waiting() {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

function overlaid() {
  const lower = memoryFileSystem({ root });
  const { handle } = lower.create(lower.root, 'f', root, both) as Opened;
  lower.write(handle, 0, Buffer.from('lower'));
  lower.release(handle);
  const held: Held = { method: '', until: Promise.resolve() };
  const tree = overlayFileSystem({ upper: memoryFileSystem({ root }), lower: later(lower, held) });
  const hold = (method: string): (() => void) => {
    const { promise, resolve } = waiting();
    Object.assign(held, { method, until: promise });
    return resolve;
  };
  const find = async () => (await tree.lookup(tree.root, 'f')) as Attributes;
  const write = async (inode: number, text: string) => {
    const opened = (await tree.open(inode, both)) as Handle;
    await tree.write(opened, 0, Buffer.from(text));
    await tree.release(opened);
  };
  const read = async (opened: Handle) => String(await tree.read(opened, 0, 100));
  return { tree, hold, find, write, read };
}

describe('a file that is copied up', () => {
  it('while its name is looked for keeps what was written to it since', async () => {
    const { tree, hold, find, write, read } = overlaid();
    const { inode } = await find();
    const go = hold('lookup');
    const late = find();
    await write(inode, 'first');
    go();
    await write((await late).inode, 'L');
    assert.equal(await read((await tree.open((await find()).inode, reading)) as Handle), 'Lirst');
  });

  it('while it is opened to be read shows what is written to it', async () => {
    const { tree, hold, find, write, read } = overlaid();
    const { inode } = await find();
    const go = hold('open');
    const opened = tree.open(inode, reading) as Promise<Handle>;
    await write(inode, 'first');
    go();
    assert.equal(await read(await opened), 'first');
  });
});

describe('an upper tree that keeps no modes and times', () => {
  it('takes what is changed all the same', async () => {
    const lower = memoryFileSystem({ root });
    const d = lower.mkdir(lower.root, 'd', root) as Attributes;
    lower.release((lower.create(d.inode, 'f', root, both) as Opened).handle);
    const inner = memoryFileSystem({ root });
    const capabilities: Capabilities = { ...inner.capabilities, modes: false };
    const plain = new Proxy(inner, {
      get: (_, key) => {
        if (key === 'capabilities') return capabilities;
        const value: unknown = Reflect.get(inner, key, inner);
        if (key !== 'setattr' || typeof value !== 'function')
          return typeof value === 'function' ? value.bind(inner) : value;
        return (inode: number, changes: Readonly<Record<string, unknown>>) => {
          for (const name of ['mode', 'accessed', 'modified'])
            assert.ok(changes[name] === undefined || changes[name] === 'now', name);
          return value.call(inner, inode, changes);
        };
      },
    });
    const tree = overlayFileSystem({ upper: plain, lower });
    const found = tree.lookup(tree.root, 'd') as Attributes;
    const { inode } = tree.lookup(found.inode, 'f') as Attributes;
    const handle = tree.open(inode, both) as Handle;
    tree.write(handle, 0, Buffer.from('text'));
    assert.equal((tree.getattr(inode) as Attributes).size, 4);
    await tree.close();
  });
});
