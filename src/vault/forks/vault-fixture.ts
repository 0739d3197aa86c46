/**
 * A vault in this process, for tests of what is done with it: a command of a fork is a function that changes what the fork shows, written
 * out as a plain directory, and what it changed becomes the live layer as the mount of a jail would have left it.
 */
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { copyTop, treesOf } from '../store/layer-pool.js';
import { workspaceRoot } from '../store/layout.js';
import { openStore } from '../store/store.js';
import { Tree } from '../tree/tree.js';
import { freshPlace, program } from '../tree/tree-fixture.js';
import type { Interference, MergeOptions, MirrorOptions, Problem, TreeApplyOptions } from '../tree/tree-jobs.js';
import { closeFork, type OpenFork, openFork, type VaultAccess, type VaultRequest, vaultAccess } from '../vault.js';
import { saveCheckpoint } from './checkpoint.js';
import { syncFork } from './sync.js';

type Job = 'sync' | 'mirror' | 'apply' | 'merge';

/**
 * Nothing is waited for, since what is on the disk takes long to delete again. What was done is known in its order, and something else can
 * happen just before, or be thrown.
 */
class SeenTree extends Tree {
  readonly done: string[] = [];
  before: ((job: Job, directory: string) => void) | undefined;

  #sees(job: Job, directory: string): void {
    this.done.push(`${job} ${directory}`);
    this.before?.(job, directory);
  }

  override async sync(directory: string): Promise<void> {
    this.#sees('sync', directory);
  }

  override async mirror(options: MirrorOptions): Promise<Problem[]> {
    this.#sees('mirror', options.root);
    return super.mirror(options);
  }

  override async apply(options: TreeApplyOptions): Promise<Interference> {
    this.#sees('apply', options.root);
    return super.apply(options);
  }

  override async merge(options: MergeOptions): Promise<Problem[]> {
    this.#sees('merge', options.into);
    return super.merge(options);
  }
}

export const tree = new SeenTree({ program });

export const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0, shift: 0 };

/** Path to what is there: text of a file, `-> target` of a link, `/` of a directory. */
export type Shown = Readonly<Record<string, string>>;

export function lookAt(directory: string, below = ''): Shown {
  const found: Record<string, string> = {};
  for (const name of readdirSync(join(directory, below)).sort()) {
    const path = join(below, name);
    const whole = join(directory, path);
    const about = lstatSync(whole);
    if (about.isSymbolicLink()) found[path] = `-> ${readlinkSync(whole)}`;
    else if (about.isDirectory()) Object.assign(found, { [path]: '/' }, lookAt(directory, path));
    else found[path] = readFileSync(whole, 'utf8');
  }
  return found;
}

export interface VaultPlace {
  /** A path inside the test's own directory; `project` is the person's. */
  at(...names: string[]): string;
  write(path: string, text?: string): void;
  request(more?: Partial<VaultRequest>): VaultRequest;
  access(): VaultAccess;
  withFork<T>(use: (fork: OpenFork) => Promise<T> | T, more?: Partial<VaultRequest>): Promise<T>;
  /** What a command of the fork would see: a directory of its own. */
  showing(fork: OpenFork, root?: string): Promise<string>;
  shown(fork: OpenFork, root?: string): Promise<Shown>;
  /** A command of a fork that is open: nothing is saved or entered before it. */
  writeLive(fork: OpenFork, act: (directory: string) => void | Promise<void>, root?: string): Promise<void>;
  /** A command as `ctx exec` runs it: a checkpoint, the person's edits, then what it does. The fork as it was before. */
  command(act: (directory: string) => void | Promise<void>, more?: Partial<VaultRequest>): Promise<OpenFork>;
}

export function freshVault(): VaultPlace {
  const { at, write } = freshPlace();
  let count = 0;
  const request = (more: Partial<VaultRequest> = {}): VaultRequest => {
    mkdirSync(at('project'), { recursive: true });
    return { store: openStore(at('store')), tree, origin: at('project'), owner, wait: true, purpose: 'test', ...more };
  };
  const withFork = async <T>(use: (fork: OpenFork) => Promise<T> | T, more: Partial<VaultRequest> = {}) => {
    const fork = await openFork(request(more));
    try {
      return await use(fork);
    } finally {
      closeFork(fork);
    }
  };
  const stackOf = ({ paths, meta }: OpenFork, root: string) =>
    treesOf(paths, [...meta.base, ...meta.deltas, meta.live], root);
  const showing = async (fork: OpenFork, root = workspaceRoot) => {
    const directory = at(`shown-${count++}`);
    mkdirSync(directory);
    const uppers = stackOf(fork, root);
    const entries = await tree.diff({ uppers, lowers: [], pastClosed: true });
    await tree.apply({
      uppers,
      root: directory,
      plan: entries.map(({ path }) => ({ action: 'put', path })),
      whole: true,
    });
    return directory;
  };
  const writeLive: VaultPlace['writeLive'] = async (fork, act, root = workspaceRoot) => {
    const { paths, meta } = fork;
    const directory = await showing(fork, root);
    await act(directory);
    const layers = treesOf(paths, [...meta.base, ...meta.deltas], root);
    const changes = await tree.diff({ uppers: [directory], lowers: layers, whole: true });
    const into = paths.tree(meta.live, root);
    await tree.mirror({ root: directory, into, layers, paths: changes.map(({ path }) => path) });
    copyTop(layers[0], into);
    // At once: what was synced meanwhile takes a disk that discards its blocks long to delete.
    await tree.remove(directory);
  };
  return {
    at,
    write,
    request,
    access: () => vaultAccess(request()),
    withFork,
    showing,
    async shown(fork, root) {
      const directory = await showing(fork, root);
      const found = lookAt(directory);
      await tree.remove(directory);
      return found;
    },
    writeLive,
    command: (act, more) =>
      withFork(async (opened) => {
        const { fork } = await syncFork(saveCheckpoint(opened, { automatic: true, reason: 'command' }).fork);
        await writeLive(fork, act);
        return fork;
      }, more),
  };
}
