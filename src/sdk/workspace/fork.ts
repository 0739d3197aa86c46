/**
 * The fork of a directory, and what a person does with it: look, keep, take back, forget, go to other checkpoints, make
 * others. Every method is what the verb of its name calls, so both lock, record and refuse alike. What a method needs
 * is loaded when it is called: the process that asks for the status does not pay for the rest.
 */
import { resolve } from 'node:path';
import { ErrnoError } from '../../base/errno.js';
import { type Host, type Place, placeOf } from '../../proxy/host.js';
import type { ApplyRequest } from '../../vault/apply/apply.js';
import type { ConflictChoice } from '../../vault/apply/apply-plan.js';
import type { ApplyReport } from '../../vault/apply/apply-report.js';
import type { Undone } from '../../vault/apply/undo-apply.js';
import type { DiffStyle } from '../../vault/forks/diff-text.js';
import type { ForkSummary, MadeFork } from '../../vault/forks/forks.js';
import { countSteps } from '../../vault/tree/steps.js';
import type { Change, Problem } from '../../vault/tree/tree.js';
import type { ForkStatus } from '../../workspace/fork-status.js';
import type { Dropped } from '../../workspace/fork-verbs.js';
import type { CheckpointSummary, RolledBack } from '../../workspace/history-verbs.js';
import { shownFrom } from '../../workspace/shown-from.js';
import type { InspectedRun } from './runs.js';

export type {
  ApplyReport,
  Change,
  CheckpointSummary,
  ConflictChoice,
  ForkStatus,
  ForkSummary,
  InspectedRun,
  MadeFork,
  Problem,
  RolledBack,
};

const forkVerbs = () => import('../../workspace/fork-verbs.js');
const forkDiff = () => import('../../workspace/fork-diff.js');
const historyVerbs = () => import('../../workspace/history-verbs.js');
const vaultVerbs = () => import('../../workspace/vault-verbs.js');

export interface ForkOptions {
  /** By its name; without one, the one in use. */
  readonly fork?: string | undefined;
  /** Wait while another process uses the fork, instead of EBUSY. */
  readonly wait?: boolean | undefined;
}

export interface ChangeOptions {
  /** Files or directories; without any, everything. */
  readonly paths?: readonly string[];
  /** A checkpoint: only what changed after it. */
  readonly since?: string | undefined;
}

export interface DiffOptions extends ChangeOptions {
  /** For a terminal; without it the text is as `git apply` takes it. */
  readonly style?: DiffStyle | undefined;
  /** All changes, and larger files line by line. */
  readonly full?: boolean | undefined;
  /** Given the text of each change as it is made, instead of all of it at the end. */
  readonly onText?: ((text: string) => void | Promise<void>) | undefined;
}

export interface Diff extends ForkStatus {
  /** A unified diff. */
  readonly text: string;
  /** Changes that are not in the text: there are too many, or they are git's own bookkeeping and no one named it. */
  readonly left: number;
  readonly repository: number;
}

export type OnProgress = (done: number, of: number) => void;

/** As the verbs tell it. */
function told(onProgress: OnProgress | undefined): Pick<ApplyRequest, 'onPlan' | 'onStep'> {
  if (onProgress === undefined) return {};
  let [done, of, fails] = [0, 0, false];
  const tell = () => {
    if (fails) return;
    try {
      onProgress(done, of);
    } catch {
      fails = true; // Half of the changes are written: the process that only looks on must not end it here.
    }
  };
  return {
    onPlan(steps) {
      [done, of] = [0, countSteps(steps)];
      if (of > 0) tell();
    },
    onStep() {
      done += 1;
      tell();
    },
  };
}

export interface ApplyOptions {
  /** Only these, and what is below them. */
  readonly paths?: readonly string[] | undefined;
  /** Paths that both sides changed: nothing is written (the default), the directory's stay, or the fork's are taken. */
  readonly conflicts?: ConflictChoice | undefined;
  readonly ours?: readonly string[];
  readonly theirs?: readonly string[];
  /** Write files that programs outside run or obey, too. */
  readonly allowSensitive?: boolean;
  readonly dryRun?: boolean;
  /** Told how many changes of how many are written: none when it begins, and each time one more is. */
  readonly onProgress?: OnProgress | undefined;
  /** Stops it, also between two files: ECANCELED. What is written stays; the next apply goes on, an undo takes it back. */
  readonly signal?: AbortSignal | undefined;
  /** Another directory to write onto; the fork stays as it is, and nothing of it can be undone. */
  readonly to?: string | undefined;
}

export interface UndoOptions extends Pick<ApplyOptions, 'onProgress' | 'signal'> {
  readonly conflicts?: Exclude<ConflictChoice, 'theirs'> | undefined;
}

const plainText: DiffStyle = { paint: (_colour, text) => text, escaped: false };

export class Fork {
  readonly #host: Host;
  readonly #place: Place;
  readonly #options: ForkOptions;

  /** `at` is a directory, or the place that it was found to be. */
  constructor(host: Host, at: string | Place, { fork, wait }: ForkOptions = {}) {
    this.#host = host;
    this.#place = typeof at === 'string' ? placeOf(host, at) : at;
    this.#options = { fork, wait };
  }

  /** Where it was opened. */
  get directory(): string {
    return this.#place.directory;
  }

  /** The directory that has the fork: the repository it was opened in, or where it was opened. */
  get origin(): string {
    return this.#place.origin;
  }

  get #request() {
    const { fork, wait = false } = this.#options;
    return { cwd: this.directory, fork, wait };
  }

  #shown(paths: readonly string[]): readonly string[] {
    return shownFrom(this.#place, paths);
  }

  /** A workspace, whose commands use the fork too, gives every method its turn. */
  protected inTurn<T>(work: () => Promise<T>): Promise<T> {
    return work();
  }

  /** What only looks waits for no command: of one that runs it shows what it has written so far. */
  protected atOnce<T>(work: () => Promise<T>): Promise<T> {
    return work();
  }

  /** What is pending. ENOENT before the first command. */
  status({ paths = [], since }: ChangeOptions = {}): Promise<ForkStatus> {
    return this.atOnce(async () => (await forkDiff()).statusOfFork(this.#host, { ...this.#request, since, paths }));
  }

  diff({ paths = [], since, style = plainText, full, onText }: DiffOptions = {}): Promise<Diff> {
    return this.atOnce(async () => {
      const [{ diffOfFork }, { diffText }] = [await forkDiff(), await import('../../vault/forks/diff-text.js')];
      const parts: string[] = [];
      const take = onText ?? ((text: string) => void parts.push(text));
      const asked = { ...this.#request, since, paths, full };
      const found = await diffOfFork(this.#host, asked, (text) => take(diffText(text, style)));
      return { ...found.status, text: parts.join(''), left: found.left, repository: found.repository };
    });
  }

  /** Writes the fork's changes into the directory itself: for a program that speaks for the person. */
  apply(options: ApplyOptions = {}): Promise<ApplyReport> {
    const { paths, conflicts = 'refuse', ours = [], theirs = [], allowSensitive = false, dryRun = false } = options;
    const { to } = options;
    const choices = {
      conflicts,
      ours: this.#shown(ours),
      theirs: this.#shown(theirs),
      only: paths === undefined ? undefined : this.#shown(paths),
      allowSensitive,
      dryRun,
      signal: options.signal,
      ...told(options.onProgress),
    };
    return this.inTurn(async () => {
      if (to === undefined) return (await forkVerbs()).applyFork(this.#host, this.#request, choices);
      // Resolved it would be this directory.
      if (to === '')
        throw new ErrnoError('EINVAL', { operation: 'apply --to', reason: 'expected a directory, got an empty word' });
      const { applyForkTo } = await import('../../workspace/apply-to.js');
      return applyForkTo(this.#host, this.#request, resolve(this.directory, to), choices);
    });
  }

  /**
   * Takes back the last apply: the directory as it was, the changes pending again. With paths that the person has changed since nothing is
   * written, unless `conflicts` is `ours`: these stay as they are (`left`), the rest is undone.
   */
  undoApply({
    onProgress,
    signal,
    conflicts = 'refuse',
  }: UndoOptions = {}): Promise<Omit<Undone, 'fork'> & { readonly pending: number }> {
    const asked = { leaves: conflicts === 'ours', signal, ...told(onProgress) };
    return this.inTurn(async () => (await vaultVerbs()).undoApply(this.#host, this.#request, asked));
  }

  /** Forgets the fork's changes, its checkpoints and its home. Of very many changes only some are counted: `more` then. */
  drop(): Promise<Dropped> {
    return this.inTurn(async () => (await forkVerbs()).dropFork(this.#host, this.#request));
  }

  /** Saves a checkpoint of the fork; there is one before every command anyway. */
  checkpoint(name?: string): Promise<CheckpointSummary> {
    return this.inTurn(async () => (await historyVerbs()).saveCheckpoint(this.#host, this.#request, name));
  }

  checkpoints(): Promise<readonly CheckpointSummary[]> {
    return this.atOnce(async () => (await historyVerbs()).listCheckpoints(this.#host, this.#request));
  }

  /** One of them, by number or name, and what the fork changed since. */
  lookAtCheckpoint(
    wanted: string,
  ): Promise<{ readonly checkpoint: CheckpointSummary; readonly changes: readonly Change[] }> {
    return this.atOnce(async () => (await historyVerbs()).lookAtCheckpoint(this.#host, this.#request, wanted));
  }

  deleteCheckpoint(wanted: string): Promise<CheckpointSummary> {
    return this.inTurn(async () => (await historyVerbs()).deleteCheckpoint(this.#host, this.#request, wanted));
  }

  /** To a checkpoint by number or name; without one, to before the last command that changed anything. */
  rollback(
    options: { readonly checkpoint?: string | undefined; readonly paths?: readonly string[] } = {},
  ): Promise<RolledBack> {
    const { checkpoint, paths = [] } = options;
    const request = { ...this.#request, checkpoint, paths: this.#shown(paths) };
    return this.inTurn(async () => (await historyVerbs()).rollBackFork(this.#host, request));
  }

  forks(): Promise<readonly ForkSummary[]> {
    return this.atOnce(async () => (await historyVerbs()).listForks(this.#host, this.directory));
  }

  /** Another fork, of this one unless `from` says otherwise: `FORK`, `FORK@CHECKPOINT` or `origin`. `open` it by its name. */
  createFork(name?: string, options: { readonly from?: string | undefined } = {}): Promise<MadeFork> {
    const from = options.from ?? this.#options.fork;
    return this.inTurn(async () => (await historyVerbs()).createFork(this.#host, this.directory, name, from));
  }

  /** Anyone who names no fork of this directory means that one from here on. */
  useFork(name: string): Promise<void> {
    return this.inTurn(async () => (await historyVerbs()).useFork(this.#host, this.directory, name));
  }

  deleteFork(name: string): Promise<void> {
    return this.inTurn(async () => (await historyVerbs()).deleteFork(this.#host, this.directory, name));
  }

  /** The commands that ran on a fork of this directory, the oldest first; undefined where it has no fork of that name. */
  async runs(fork: string): Promise<readonly InspectedRun[] | undefined> {
    return (await import('./runs.js')).runsOfFork(this.#host, this.directory, fork);
  }

  /** One of them by its name, wherever it ran; without one, the last of this fork. */
  async findRun(name?: string): Promise<InspectedRun> {
    return (await import('./runs.js')).findRun(this.#host, this.directory, this.#options.fork, name);
  }

  /** Takes over what the person edited in the directory, as a command does first. */
  sync(): Promise<{
    readonly entered: readonly string[];
    readonly clashes: readonly string[];
    readonly problems: readonly Problem[];
  }> {
    return this.inTurn(async () => (await vaultVerbs()).syncFork(this.#host, this.#request));
  }

  /** What the fork shows, written out: to a directory that is made for it, or to a file that ends in `.tar`. */
  exportTo(path: string): Promise<{ readonly problems: readonly Problem[] }> {
    const to = resolve(this.directory, path);
    return this.inTurn(async () => (await vaultVerbs()).exportFork(this.#host, this.#request, to));
  }

  /** Merges its layers into few. */
  flatten(): Promise<{ readonly before: number; readonly after: number }> {
    return this.inTurn(async () => (await vaultVerbs()).flattenFork(this.#host, this.#request));
  }
}
