/** The real store and the map side by side: whatever is done is done to both, and then they are compared. */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { appliesKept } from '../../../src/base/limits/store.js';
import { applyFork } from '../../../src/vault/apply/apply.js';
import { undoApply } from '../../../src/vault/apply/undo-apply.js';
import { reportOf } from '../../../src/vault/forks/changes.js';
import { deleteCheckpoint, findCheckpoint, rollBackFork, saveCheckpoint } from '../../../src/vault/forks/checkpoint.js';
import { flattenDeltas, flattenTrunk } from '../../../src/vault/forks/flatten.js';
import { createFork, deleteFork, dropFork } from '../../../src/vault/forks/forks.js';
import { restorePaths } from '../../../src/vault/forks/restore.js';
import { syncFork } from '../../../src/vault/forks/sync.js';
import { isSameStack } from '../../../src/vault/store/fork-meta.js';
import { openStore } from '../../../src/vault/store/store.js';
import type { Tree } from '../../../src/vault/tree/tree.js';
import { inspectVault } from '../../../src/vault/upkeep/fsck.js';
import { collectGarbage } from '../../../src/vault/upkeep/gc.js';
import { closeFork, type OpenFork, type Owner, openFork, vaultAccess } from '../../../src/vault/vault.js';
import {
  adopted,
  applyOutcome,
  type Choices,
  clashesOf,
  difference,
  isAtOrBelow,
  isBelow,
  type Model,
  parentOf,
  possibleClashes,
  shape,
  shapes,
  withBelow,
  withPaths,
} from './model.js';
import { insideFork, lookAt, shellIn } from './mount.js';
import { type Choice, work } from './work.js';

interface Moment {
  readonly tree: Model;
  /** The trunk it is on, and which of its steps was the last. */
  readonly base: Model;
  readonly position: number;
}

interface Apply {
  readonly checkpoint: number;
  readonly written: readonly string[];
  readonly before: Model;
}

interface ForkModel extends Moment {
  readonly moments: ReadonlyMap<number, Moment>;
  readonly applies: readonly Apply[];
}

/** One change of the trunk: what the person edited, or what a fork applied. */
interface TrunkStep {
  readonly by?: string | undefined;
  readonly paths: readonly string[];
}

const mostForks = 5;
const momentOf = ({ tree, base, position }: Moment): Moment => ({ tree, base, position });

export class World {
  readonly #request;
  readonly #forks = new Map<string, ForkModel>();
  readonly #steps: TrunkStep[] = [];
  #origin: Model = new Map();
  #trunk: Model = new Map();
  #count = 0;
  /** What was done, for anyone who has to read a failure. */
  readonly done: string[] = [];

  constructor(directory: string, tree: Tree, owner: Owner) {
    const origin = join(directory, 'project');
    mkdirSync(origin, { mode: 0o755 });
    shellIn(origin, 'chmod 755 .; mkdir -p a/x; echo 0 > a/x/y; echo 1 > a/y; echo 2 > b');
    this.#origin = lookAt(origin);
    this.#trunk = this.#origin;
    this.#request = { store: openStore(join(directory, 'store')), tree, origin, owner, wait: true, purpose: 'model' };
    this.#forks.set('main', this.#fresh());
  }

  get #access() {
    return vaultAccess(this.#request);
  }

  #fresh(): ForkModel {
    return { ...this.#onTrunk(this.#trunk), moments: new Map(), applies: [] };
  }

  #onTrunk(tree: Model): Moment {
    return { tree, base: this.#trunk, position: this.#steps.length };
  }

  #named(by: number): [string, ForkModel] {
    const names = [...this.#forks.keys()];
    const name = names[by % names.length] ?? 'main';
    return [name, this.#forks.get(name) as ForkModel];
  }

  async #with<T>(name: string, use: (fork: OpenFork) => Promise<T>): Promise<T> {
    const fork = await openFork({ ...this.#request, fork: name });
    try {
      return await use(fork);
    } finally {
      closeFork(fork);
    }
  }

  #advance(by?: string): void {
    const paths = difference(this.#trunk, this.#origin);
    if (paths.length > 0) this.#steps.push({ by, paths });
    this.#trunk = this.#origin;
  }

  #pathsSince(position: number, counts: (step: TrunkStep) => boolean): string[] {
    return [
      ...new Set(
        this.#steps
          .slice(position)
          .filter(counts)
          .flatMap(({ paths }) => paths),
      ),
    ];
  }

  /** The map on the trunk of now. */
  #moved(name: string, model: ForkModel, fork: OpenFork): ForkModel {
    const entered = this.#pathsSince(model.position, ({ by }) => by !== name);
    const now = this.#onTrunk(adopted(model.tree, model.base, this.#trunk));
    const known = new Set(fork.meta.clashes);
    const missed = clashesOf(entered, now.tree, now.base).filter((path) => !known.has(path));
    assert.deepEqual(missed, [], 'clashes that nobody was told of');
    return this.#standing({ ...model, ...now }, fork);
  }

  /** Checkpoints of the same layers are the same state. */
  #standing(model: ForkModel, { meta }: OpenFork): ForkModel {
    const moments = new Map(model.moments);
    for (const each of meta.checkpoints) {
      if (isSameStack(each, meta)) moments.set(each.id, momentOf(model));
    }
    return { ...model, moments };
  }

  async work(choices: readonly Choice[], by: number, child: boolean): Promise<void> {
    const [name, before] = this.#named(by);
    await this.#with(name, async (opened) => {
      const saved = saveCheckpoint(opened, { automatic: true, reason: 'work' });
      const { fork } = await syncFork(saved.fork);
      this.#advance();
      const model = this.#moved(name, before, fork);
      const entered = this.#pathsSince(before.position, (step) => step.by !== name);
      const founded = new Set([...opened.meta.clashes, ...possibleClashes(entered, model.tree, model.base)]);
      const unfounded = fork.meta.clashes.filter((path) => !founded.has(path));
      assert.deepEqual(unfounded, [], 'clashes of what does not meet');
      let now: Model = model.tree;
      const lines: string[] = [];
      for (const choice of choices) {
        const step = work(now, choice);
        if (step === undefined) continue;
        lines.push(step.line);
        now = step.model;
      }
      this.done.push(`in ${name}: ${lines.join('; ')}`);
      const moments = new Map(model.moments).set(saved.checkpoint.id, momentOf(model));
      const after = { ...model, tree: now, moments };
      const seen = await insideFork(fork, lines, async () => {
        // The parent is mounted, and its lock is held: its live layer is copied.
        if (child) await this.#makeFork(`${name}, in use`, { fork: name }, after);
      });
      assert.deepEqual(shapes(seen), shapes(now));
      const { changes, pending } = await reportOf(fork);
      assert.deepEqual(changes.map(({ path }) => path).sort(), difference(model.tree, now));
      assert.deepEqual(pending.map(({ path }) => path).sort(), difference(model.base, now));
      this.#forks.set(name, after);
    });
  }

  edit(choices: readonly Choice[]): void {
    for (const choice of choices) {
      const step = work(this.#origin, choice);
      if (step === undefined) continue;
      this.done.push(`person: ${step.line}`);
      shellIn(this.#request.origin, step.line);
      this.#origin = step.model;
    }
  }

  async checkpoint(by: number): Promise<void> {
    const [name, model] = this.#named(by);
    await this.#with(name, async (fork) => {
      const { checkpoint } = saveCheckpoint(fork, { automatic: false, reason: 'model' });
      this.#forks.set(name, { ...model, moments: new Map(model.moments).set(checkpoint.id, momentOf(model)) });
      this.done.push(`checkpoint ${checkpoint.id} of ${name}`);
    });
  }

  #moment(model: ForkModel, which: number): [number, Moment] | undefined {
    return [...model.moments][which % Math.max(1, model.moments.size)];
  }

  async forget(by: number, which: number): Promise<void> {
    const [name, model] = this.#named(by);
    const [id] = this.#moment(model, which) ?? [];
    if (id === undefined || model.applies.some(({ checkpoint }) => checkpoint === id)) return;
    this.done.push(`delete checkpoint ${id} of ${name}`);
    await this.#with(name, async (fork) => deleteCheckpoint(fork, findCheckpoint(fork, String(id))));
    this.#forks.set(name, { ...model, moments: new Map([...model.moments].filter(([each]) => each !== id)) });
  }

  /** On a trunk; what the fork itself applied since then is as it was at that time, but for what others put into it. */
  #backAt(name: string, moment: Moment, trunk: Model, position: number): Model {
    const view = adopted(moment.tree, moment.base, trunk);
    const since = this.#steps.slice(moment.position, position);
    const applied = since.filter(({ by }) => by === name).flatMap(({ paths }) => paths);
    const entered = since.filter(({ by }) => by !== name).flatMap(({ paths }) => paths);
    const back = withBelow(applied, view, moment.tree).filter(
      (path) => applied.includes(path) || !entered.some((top) => isAtOrBelow(path, top)),
    );
    return withPaths(view, moment.tree, back);
  }

  #rolledBack(name: string, model: ForkModel, moment: Moment, fork: OpenFork): ForkModel {
    const now = this.#onTrunk(this.#backAt(name, moment, this.#trunk, this.#steps.length));
    return this.#standing({ ...model, ...now }, fork);
  }

  async rollBack(by: number, which: number): Promise<void> {
    const [name, model] = this.#named(by);
    const [id, moment] = this.#moment(model, which) ?? [];
    if (id === undefined || moment === undefined) return;
    this.done.push(`roll ${name} back to ${id}`);
    await this.#with(name, async (fork) => {
      const back = await rollBackFork(fork, findCheckpoint(fork, String(id)));
      this.#forks.set(name, this.#rolledBack(name, model, moment, back));
    });
  }

  /** Single paths go back; everything else, and the trunk that it is on, stays. */
  async restore(by: number, which: number, { a, b }: Choice): Promise<void> {
    const [name, model] = this.#named(by);
    const [id, moment] = this.#moment(model, which) ?? [];
    if (id === undefined || moment === undefined) return;
    const known = [...new Set([...moment.tree.keys(), ...model.tree.keys()])].sort();
    const paths = [...new Set([a, b].flatMap((at) => known[at % Math.max(1, known.length)] ?? []))];
    if (paths.length === 0) return;
    this.done.push(`roll ${paths.join(' ')} of ${name} back to ${id}`);
    await this.#with(name, async (fork) => restorePaths(fork, findCheckpoint(fork, String(id)), paths));
    const back = this.#backAt(name, moment, model.base, model.position);
    const view = withPaths(model.tree, back, withBelow(paths, back, model.tree));
    this.#forks.set(name, { ...model, tree: view });
  }

  async #makeFork(what: string, source: Parameters<typeof createFork>[2], from: Moment): Promise<void> {
    if (this.#forks.size >= mostForks) return;
    const child = `fork${this.#count++}`;
    this.done.push(`fork ${child} of ${what}`);
    await createFork(this.#access, child, source);
    this.#forks.set(child, { ...momentOf(from), moments: new Map(), applies: [] });
  }

  async fork(by: number, which: number): Promise<void> {
    const [name, model] = this.#named(by);
    const [id, moment] = this.#moment(model, which) ?? [];
    if (which % 5 === 0) await this.#makeFork('the trunk', 'trunk', this.#onTrunk(this.#trunk));
    else if (which % 5 > 2 || id === undefined || moment === undefined)
      await this.#makeFork(name, { fork: name }, model);
    else await this.#makeFork(`${name}@${id}`, { fork: name, checkpoint: String(id) }, moment);
  }

  async drop(by: number): Promise<void> {
    const [name] = this.#named(by);
    this.done.push(name === 'main' ? 'drop main' : `delete ${name}`);
    if (name === 'main') {
      await this.#with(name, dropFork);
      this.#forks.set(name, this.#fresh());
    } else {
      await deleteFork(this.#access, name);
      this.#forks.delete(name);
    }
  }

  async apply(by: number, pick: Choice): Promise<void> {
    const [name, before] = this.#named(by);
    this.#advance();
    const known = [...new Set([...before.tree.keys(), ...this.#origin.keys()])].sort();
    const some = (at: number) => (at % 3 === 0 ? [known[at % Math.max(1, known.length)] ?? 'a'] : []);
    const choices: Choices = {
      conflicts: (['refuse', 'ours', 'theirs'] as const)[pick.kind % 3] ?? 'refuse',
      ours: some(pick.a),
      theirs: some(pick.b),
      ...(pick.c % 4 === 0 ? { only: [known[pick.c % Math.max(1, known.length)] ?? 'a'] } : {}),
      allowSensitive: pick.c % 3 !== 0,
    };
    // A directory that is new, or gone, as a whole is one step, or a step an entry: nobody can tell from the outcome.
    const treesFrom = pick.kind % 4 === 0 ? Number.POSITIVE_INFINITY : 1;
    this.done.push(`apply ${name} ${JSON.stringify(choices)}`);
    const planned = await this.#with(name, (fork) => applyFork(fork, { ...choices, treesFrom, dryRun: true }));
    assert.deepEqual(shapes(lookAt(this.#request.origin)), shapes(this.#origin), 'a dry run wrote something');
    const model = this.#moved(name, before, planned.fork);
    const applied = await this.#with(name, (fork) => applyFork(fork, { ...choices, treesFrom }));
    const checkpoint = applied.fork.meta.checkpoints.findLast(({ reason }) => reason === 'ctx apply')?.id ?? 0;
    const outcome = applyOutcome(model.tree, this.#origin, planned.fork.meta.clashes, choices);
    assert.deepEqual([applied.done, applied.problems], [outcome.done, []], JSON.stringify(applied.undecided));
    assert.deepEqual(shapes(lookAt(this.#request.origin)), shapes(outcome.origin));
    const moments = new Map(model.moments).set(checkpoint, momentOf(model));
    const apply = { checkpoint, written: outcome.written, before: this.#origin };
    this.#origin = outcome.origin;
    this.#advance(name);
    const now = outcome.done ? this.#onTrunk(outcome.fork) : momentOf(model);
    const applies = outcome.written.length === 0 ? model.applies : [...model.applies, apply].slice(-appliesKept);
    this.#forks.set(name, { ...model, ...now, moments, applies });
  }

  /** Whether the person's directory still is as the apply left it, as far as going back needs it. */
  #canUndo({ written, before }: Apply, after: Model): boolean {
    const isNews = (path: string) => shape(this.#origin.get(path)) !== shape(after.get(path));
    const ends = written.filter((path) => before.get(path)?.type !== 'd');
    const isStranger = (path: string) => !written.includes(path) && ends.some((top) => isBelow(path, top));
    const lacksParent = (path: string) => {
      const parent = parentOf(path);
      return before.has(path) && parent !== '' && !written.includes(parent) && this.#origin.get(parent)?.type !== 'd';
    };
    return !written.some(isNews) && !written.some(lacksParent) && ![...this.#origin.keys()].some(isStranger);
  }

  async undo(by: number): Promise<void> {
    const [name, model] = this.#named(by);
    const last = model.applies.at(-1);
    const moment = last === undefined ? undefined : model.moments.get(last.checkpoint);
    if (last === undefined || moment === undefined) return;
    this.done.push(`undo the last apply of ${name}`);
    this.#advance();
    const possible = this.#canUndo(last, moment.tree);
    const undone = await this.#with(name, undoApply);
    assert.equal(undone.done, possible, undone.conflicts.join(' '));
    if (possible) this.#origin = withPaths(this.#origin, last.before, last.written);
    assert.deepEqual(shapes(lookAt(this.#request.origin)), shapes(this.#origin));
    if (!possible) return;
    this.#advance(name);
    const back = this.#rolledBack(name, model, moment, undone.fork);
    this.#forks.set(name, { ...back, applies: model.applies.slice(0, -1) });
  }

  async flatten(by: number): Promise<void> {
    const [name] = this.#named(by);
    this.done.push(`flatten ${name}${by % 2 === 0 ? ' and the whole trunk' : ''}`);
    await this.#with(name, (fork) => flattenDeltas(fork, true));
    await flattenTrunk(this.#access, by % 2 === 0);
  }

  async collect(): Promise<void> {
    this.done.push('gc');
    await collectGarbage(this.#access);
    assert.deepEqual(await inspectVault(this.#access), []);
  }

  async start(): Promise<void> {
    await this.#with('main', async () => undefined);
  }

  async checkAll(): Promise<void> {
    for (let at = 0; at < this.#forks.size; at++) await this.work([], at, false);
    await this.collect();
  }
}
