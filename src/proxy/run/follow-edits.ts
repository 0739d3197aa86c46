/**
 * While a command runs, what the person edits enters its fork: a server reloads what they save, an agent sees what they
 * correct. Of a group the one that came first looks; without the fork's lock, which is taken only where something changed.
 */
import { closeSync } from 'node:fs';
import {
  followFirstMilliseconds,
  followMilliseconds,
  followMostMilliseconds,
  followPatience,
} from '../../base/limits/store.js';
import { isStopped } from '../../base/process-table.js';
import { readForkMeta } from '../../vault/store/fork-meta.js';
import { readGroup } from '../../vault/store/group.js';
import { knowRoots } from '../../vault/store/known-roots.js';
import { workspaceRoot } from '../../vault/store/layout.js';
import { takeLock } from '../../vault/store/locks.js';
import type { Member } from '../../vault/store/member.js';
import { lookAtRoot } from '../../vault/store/trunk-look.js';
import { readVaultMeta } from '../../vault/store/vault-meta.js';
import type { Worker } from '../../vault/store/worker-file.js';
import type { Tree } from '../../vault/tree/tree.js';
import type { OpenFork } from '../../vault/vault.js';
import { enterBeside } from './join-fork.js';

/** Two may have come in the same millisecond. */
const turnOf = ({ since, name }: Worker) => `${since} ${name}`;

export class EditsFollowed {
  /** Paths that entered since the command began. */
  readonly entered = new Set<string>();
  readonly #fork: OpenFork;
  readonly #member: Member;
  readonly #ending = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();

  /** With a tree of its own: the command's may be at work. */
  constructor(fork: OpenFork, tree: Tree, member: Member) {
    knowRoots(tree, fork.vault.roots, fork.vault.known);
    this.#fork = { ...fork, tree };
    this.#member = member;
    this.#lookIn(followFirstMilliseconds);
  }

  async stop(): Promise<void> {
    this.#ending.abort();
    clearTimeout(this.#timer);
    await this.#looking;
    this.#fork.tree.release();
  }

  #lookIn(milliseconds: number): void {
    if (this.#ending.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#looking = this.#look();
      // A fault of ours is told at the end, and does not end the command.
      this.#looking.catch(() => undefined);
    }, milliseconds).unref();
  }

  async #look(): Promise<void> {
    let took = 0;
    try {
      const own = turnOf(this.#member.worker);
      // One that is stopped looks at nothing.
      const isFirst = (await this.#member.others()).every((other) => turnOf(other) > own || isStopped(other.pid));
      const begun = performance.now();
      if (isFirst && (this.#isBehind() || (await this.#hasEdits()))) await this.#enter();
      took = performance.now() - begun;
    } catch (error) {
      // A full disk, a directory that is gone: the command goes on, and the next one is told.
      if (!(error instanceof Error && 'code' in error)) throw error;
    }
    this.#lookIn(Math.min(Math.max(followMilliseconds, took * followPatience), followMostMilliseconds));
  }

  /** What another fork applied, or found edited first, is in the trunk: a look at the directory finds nothing new. */
  #isBehind(): boolean {
    const { place, paths, vault, meta } = this.#fork;
    const trunk = readVaultMeta(paths.meta) ?? vault;
    return trunk.uncopied !== true && trunk.position !== (readForkMeta(place.directory) ?? meta).position;
  }

  async #hasEdits(): Promise<boolean> {
    const path = this.#fork.vault.roots[workspaceRoot];
    if (path === undefined) return false;
    const { signal } = this.#ending;
    return (await lookAtRoot({ access: this.#fork, key: workspaceRoot, path, signal })).length > 0;
  }

  async #enter(): Promise<void> {
    const { tree, place, paths, vault, meta } = this.#fork;
    const { signal } = this.#ending;
    const lock = { wait: true, purpose: 'taking over edits', what: vault.origin, signal, again: true };
    const descriptor = await takeLock(tree, place.lock, lock);
    try {
      const fork = {
        ...this.#fork,
        drift: undefined,
        meta: readForkMeta(place.directory) ?? meta,
        vault: readVaultMeta(paths.meta) ?? vault,
        others: (await readGroup(tree, place)).live,
      };
      // What has begun to enter does so whole, also where the command ends meanwhile: its report would take it for a change.
      const { entered } = await enterBeside(fork, [workspaceRoot], undefined);
      for (const path of entered) this.entered.add(path);
    } finally {
      closeSync(descriptor);
    }
  }
}
