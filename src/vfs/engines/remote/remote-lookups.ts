/** What is at a path of a remote store: asked for, or known since a short time. */
import { monotonic } from '../../../base/clock.js';
import { hasCode } from '../../../base/errno.js';
import { remoteAttributeMilliseconds } from '../../../base/limits/trees.js';
import { failure } from '../../failure.js';
import type { Name } from '../../names.js';
import { childPath, nameOfText, type RemoteNode, type RemoteNodes } from './remote-nodes.js';
import type { RemoteEntry, RemotePath, RemoteStore } from './remote-store.js';

/** Names of one directory that are asked for one by one within a second, before it is listed anew instead. */
const askedOneByOne = 3;
/** Of a directory that is listed anew: what a store answers at once. */
const relistedEntries = 1_000;

const directoryOf = (path: RemotePath): RemotePath => path.slice(0, Math.max(0, path.lastIndexOf('/')));

export class RemoteLookups {
  readonly #store: RemoteStore;
  readonly #nodes: RemoteNodes;
  /** Directories that were listed and are small: how many of their names were asked for lately. */
  readonly #walks = new Map<RemotePath, { since: number; asked: number }>();
  readonly #listing = new Map<RemotePath, Promise<void>>();
  /** When the store last took too long, and what was said. */
  #late: { readonly at: number; readonly error: unknown } | undefined;

  constructor(store: RemoteStore, nodes: RemoteNodes) {
    this.#store = store;
    this.#nodes = nodes;
  }

  /** What the store has at a path, or what is known of it since a short time. */
  async look(path: RemotePath): Promise<RemoteNode | undefined> {
    const known = this.#nodes.known(path);
    if (known !== undefined) {
      const isFresh = monotonic() - known.heard < remoteAttributeMilliseconds;
      if (isFresh || known.staged !== undefined || known === this.#nodes.root) return known;
    }
    const asked = monotonic();
    if (known !== undefined && this.#isWalked(path)) {
      await this.#listAgain(directoryOf(path));
      const listed = this.#nodes.known(path);
      if (listed !== undefined && listed.heard >= asked) return listed;
    }
    const entry = await this.#stat(path);
    if (entry !== undefined) return this.#nodes.found(path, entry, asked);
    const since = this.#nodes.known(path);
    // What was made here meanwhile is there, whatever the store said before.
    if (since !== undefined && since.heard >= asked) return since;
    if (since !== undefined) this.#nodes.gone(since);
    return undefined;
  }

  /** A directory was listed, and had so many entries. */
  listed(path: RemotePath, entries: number): void {
    if (entries <= relistedEntries) this.#walks.set(path, { since: Number.NEGATIVE_INFINITY, asked: 0 });
    else this.#walks.delete(path);
  }

  /** One name of a directory after another is asked for anew, as by a program that goes through it: one listing answers them all. */
  #isWalked(path: RemotePath): boolean {
    const walk = this.#walks.get(directoryOf(path));
    if (walk === undefined) return false;
    const now = monotonic();
    if (now - walk.since > remoteAttributeMilliseconds) Object.assign(walk, { since: now, asked: 0 });
    walk.asked += 1;
    return walk.asked > askedOneByOne;
  }

  async #listAgain(path: RemotePath): Promise<void> {
    const under = this.#listing.get(path);
    if (under !== undefined) return under;
    const asked = monotonic();
    const listing = (async () => {
      const entries = await this.#store.list(path);
      for (const entry of entries) {
        if (nameOfText(entry.name) !== undefined) this.#nodes.found(childPath(path, entry.name), entry, asked);
      }
      if (entries.length > relistedEntries) this.#walks.delete(path);
    })().finally(() => this.#listing.delete(path));
    this.#listing.set(path, listing);
    return listing;
  }

  /**
   * The kernel asks twice where a lookup fails: the process that has waited for the limit once does not wait for it
   * again.
   */
  async #stat(path: RemotePath): Promise<RemoteEntry | undefined> {
    if (this.#late !== undefined && monotonic() - this.#late.at < remoteAttributeMilliseconds) throw this.#late.error;
    try {
      return await this.#store.stat(path);
    } catch (error) {
      if (hasCode(error, 'ETIMEDOUT')) this.#late = { at: monotonic(), error };
      throw error;
    }
  }

  async child(operation: string, directory: RemoteNode, name: Name): Promise<RemoteNode> {
    const text = textOrNothing(name);
    const node =
      directory.removed || nameOfText(text) === undefined
        ? undefined
        : await this.look(childPath(directory.path, text));
    if (node === undefined) throw failure('ENOENT', operation, name);
    return node;
  }

  room(operation: string, directory: RemoteNode, text: string, name: Name): RemotePath {
    if (directory.removed) throw failure('ENOENT', operation, name, 'its directory was removed');
    const path = childPath(directory.path, text);
    if (Buffer.byteLength(path) <= this.#store.pathBytes) return path;
    throw failure('ENAMETOOLONG', operation, name, `expected a path of at most ${this.#store.pathBytes} bytes`);
  }

  async refuseExisting(operation: string, path: RemotePath, name: Name): Promise<void> {
    if ((await this.look(path)) !== undefined) throw failure('EEXIST', operation, name);
  }

  /** A directory that is there only because of what is in it is made one before its last entry may go. */
  async keep(directory: RemoteNode): Promise<void> {
    if (directory.kept) return;
    await this.#store.keepDirectory(directory.path);
    directory.kept = true;
  }
}

/** Names that are not UTF-8 are never found. */
export function textOrNothing(name: Name): string {
  const text = Buffer.from(name, 'latin1').toString('utf8');
  return text.includes('\ufffd') ? '' : text;
}
