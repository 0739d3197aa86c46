/**
 * The store against a plain map. Random sequences of work in forks through real overlay mounts, forks of forks, checkpoints,
 * rollbacks, edits of the person, applies, merges and collections: whatever was done, every fork shows what the map says.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import fc from 'fast-check';
import { overlayOf } from '../../src/proxy/fork-mounts.js';
import { applyFork } from '../../src/vault/apply.js';
import { reportOf } from '../../src/vault/changes.js';
import { findCheckpoint, rollBack, saveCheckpoint } from '../../src/vault/checkpoint.js';
import { flattenDeltas, flattenTrunk } from '../../src/vault/flatten.js';
import { createFork, deleteFork, dropFork } from '../../src/vault/forks.js';
import { inspectVault } from '../../src/vault/fsck.js';
import { collectGarbage } from '../../src/vault/gc.js';
import { workspaceRoot } from '../../src/vault/layout.js';
import { openStore } from '../../src/vault/store.js';
import { syncFork } from '../../src/vault/sync.js';
import { Tree } from '../../src/vault/tree.js';
import { closeFork, type OpenFork, openFork, prepareRoot, vaultAccess } from '../../src/vault/vault.js';
import { checkout } from '../support/program.js';
import { seeded } from './seeded.js';

type Entry =
  | { readonly type: 'd'; readonly mode: number }
  | { readonly type: 'f'; readonly mode: number; readonly text: string; readonly linked: boolean }
  | { readonly type: 'l'; readonly to: string };
type Model = ReadonlyMap<string, Entry>;

const isRoot = process.geteuid?.() === 0;
const tree = new Tree({ program: join(checkout, 'dist/native/tree') });
const ids = { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0, shift: 0 };

const shape = (entry: Entry | undefined) => {
  if (entry === undefined) return 'nothing';
  if (entry.type === 'd') return `d ${entry.mode.toString(8)}`;
  return entry.type === 'l' ? `l ${entry.to}` : `f ${entry.mode.toString(8)} ${entry.text}`;
};
const shapes = (model: Model) =>
  Object.fromEntries([...model].map(([path, entry]) => [path, shape(entry)] as const).sort());
const isBelow = (path: string, top: string) => path === top || path.startsWith(`${top}/`);

/** What differs, as a fork's report would name it. */
function difference(before: Model, later: Model): string[] {
  const changed = [...new Set([...before.keys(), ...later.keys()])].filter(
    (path) => shape(before.get(path)) !== shape(later.get(path)),
  );
  return changed.sort();
}

/** Names that the person and every fork write; directories are each fork's own, so that only files ever meet. */
const shared = ['o1', 'o2', 'o3'];

/** The fork's version where the fork changed it, else the person's: only for what is no directory. */
function adopted(fork: Model, base: Model, trunk: Model): Model {
  const view = new Map(trunk);
  for (const path of new Set([...fork.keys(), ...base.keys()])) {
    const entry = fork.get(path);
    if (shape(entry) === shape(base.get(path))) continue;
    if (entry === undefined) view.delete(path);
    else view.set(path, entry);
  }
  return view;
}

interface Work {
  readonly line: string;
  readonly model: Model;
}

interface Choice {
  readonly kind: number;
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

/** One thing a shell does in `home` or to a shared name, and what the map is after it; nothing where it makes no sense. */
function work(model: Model, home: string, { kind, a, b, c }: Choice): Work | undefined {
  const own = [...model.keys()].filter((path) => isBelow(path, home) && path !== home).sort();
  const pick = (list: readonly string[], by: number) => list[by % Math.max(1, list.length)];
  const directories = [home, ...own.filter((path) => model.get(path)?.type === 'd')];
  const fresh = `${pick(directories, a)}/${['x', 'y', 'z'][b % 3]}`;
  const any = pick([...own, ...shared.filter((path) => model.has(path))], a);
  const next = new Map(model);
  const put = (path: string, entry: Entry, line: string): Work => ({ line, model: next.set(path, entry) });
  const file = (mode = 0o644): Entry => ({ type: 'f', mode, text: String(c % 5), linked: false });
  const gone = (path: string) => {
    for (const each of [...next.keys()]) if (isBelow(each, path)) next.delete(each);
  };
  switch (kind % 11) {
    case 0:
    case 1: {
      const path = c % 3 === 0 ? (pick(shared, b) ?? 'o1') : fresh;
      if (model.get(path)?.type === 'd') return undefined;
      return put(path, file(), `rm -f ${path}; echo ${c % 5} > ${path}`);
    }
    case 2: {
      const entry = any === undefined ? undefined : model.get(any);
      if (any === undefined || entry?.type !== 'f' || entry.linked) return undefined;
      return put(any, { ...entry, text: String(c % 5) }, `echo ${c % 5} > ${any}`);
    }
    case 3:
      return model.has(fresh) ? undefined : put(fresh, { type: 'd', mode: 0o755 }, `mkdir ${fresh}`);
    case 4: {
      if (any === undefined) return undefined;
      gone(any);
      return { line: `rm -rf ${any}`, model: next };
    }
    case 5: {
      const entry = any === undefined ? undefined : model.get(any);
      if (any === undefined || entry === undefined || entry.type === 'l') return undefined;
      if (entry.type === 'f' && entry.linked) return undefined;
      const mode = [0o700, 0o755, 0o750][c % 3] ?? 0o700;
      return put(any, { ...entry, mode }, `chmod ${mode.toString(8)} ${any}`);
    }
    case 6:
      if (model.get(fresh)?.type === 'd') return undefined;
      return put(fresh, { type: 'l', to: `to-${c % 3}` }, `ln -sfn to-${c % 3} ${fresh}`);
    case 7: {
      const from = pick(own, a);
      if (from === undefined || model.has(fresh) || isBelow(fresh, from)) return undefined;
      for (const [path, entry] of model) {
        if (isBelow(path, from)) next.set(`${fresh}${path.slice(from.length)}`, entry);
      }
      gone(from);
      return { line: `mv -T ${from} ${fresh}`, model: next };
    }
    case 8: {
      const from = own.find((path) => model.get(path)?.type === 'f');
      const entry = from === undefined ? undefined : model.get(from);
      if (from === undefined || entry?.type !== 'f' || model.has(fresh)) return undefined;
      next.set(from, { ...entry, linked: true });
      return put(fresh, { ...entry, linked: true }, `ln ${from} ${fresh}`);
    }
    case 9: {
      const directory = own.find((path) => model.get(path)?.type === 'd');
      if (directory === undefined) return undefined;
      gone(directory);
      next.set(directory, { type: 'd', mode: 0o755 });
      const line = `rm -rf ${directory}; mkdir ${directory}; echo ${c % 5} > ${directory}/x`;
      return put(`${directory}/x`, file(), line);
    }
    default: {
      const entry = any === undefined ? undefined : model.get(any);
      if (any === undefined || entry?.type !== 'f' || entry.linked) return undefined;
      return { line: `touch ${any}; cp -p ${any} ${any}.same; mv ${any}.same ${any}`, model: next };
    }
  }
}

const lookScript = "find . -mindepth 1 -printf '%P\\t%y\\t%m\\t%l\\n'; echo ====; find . -type f -exec md5sum {} +";
const sums = new Map(
  Array.from({ length: 5 }, (_, text) => [
    execFileSync('sh', ['-c', `echo ${text} | md5sum`])
      .toString()
      .slice(0, 32),
    String(text),
  ]),
);

function parsed(text: string): Model {
  const [entries = '', digests = ''] = text.split('====\n');
  const contents = new Map(digests.split('\n').map((line) => [line.slice(36), sums.get(line.slice(0, 32)) ?? line]));
  const lines = entries.split('\n').filter((line) => line !== '');
  return new Map(
    lines.map((line): [string, Entry] => {
      const [path = '', type = '', mode = '', to = ''] = line.split('\t');
      const bits = Number.parseInt(mode, 8);
      if (type === 'd') return [path, { type, mode: bits }];
      if (type === 'l') return [path, { type, to }];
      return [path, { type: 'f', mode: bits, text: contents.get(path) ?? '?', linked: false }];
    }),
  );
}

/** Through the fork's own overlay, in a mount namespace that ends with the script. */
function insideFork(fork: OpenFork, lines: readonly string[]): Model {
  prepareRoot(fork, workspaceRoot);
  const { meta, paths, vault } = fork;
  const root = { target: vault.origin, root: workspaceRoot, frozen: [...meta.base, ...meta.deltas], live: meta.live };
  const { lower, upper, work: scratch } = overlayOf(paths, root);
  const options = `userxattr,index=off,redirect_dir=nofollow,metacopy=off,lowerdir=${lower.join(':')},upperdir=${upper},workdir=${scratch}`;
  const script = [
    'set -e; umask 022',
    `mount -t overlay overlay -o '${options}' '${vault.origin}'; cd '${vault.origin}'`,
    ...lines,
    lookScript,
  ];
  const flags = isRoot ? '-m' : '-Urm';
  return parsed(
    execFileSync('unshare', [flags, 'sh', '-c', script.join('\n')], { cwd: paths.directory, encoding: 'utf8' }),
  );
}

interface ForkModel {
  readonly tree: Model;
  readonly base: Model;
  readonly moments: ReadonlyMap<number, { readonly tree: Model; readonly base: Model; readonly applies: number }>;
  /** What each apply of this fork wrote. */
  readonly applied: readonly (readonly string[])[];
}

class World {
  readonly directory: string;
  readonly #request;
  readonly #forks = new Map<string, ForkModel>();
  #origin: Model = new Map<string, Entry>([['o1', { type: 'f', mode: 0o644, text: '0', linked: false }]]);
  #trunk: Model = this.#origin;
  #count = 0;
  readonly done: string[] = [];

  constructor(base: string) {
    this.directory = base;
    const origin = join(base, 'project');
    mkdirSync(origin);
    execFileSync('sh', ['-c', 'umask 022; chmod 755 .; echo 0 > o1; mkdir main; chmod 755 main'], { cwd: origin });
    this.#origin = new Map([...this.#origin, ['main', { type: 'd', mode: 0o755 }]]);
    this.#trunk = this.#origin;
    this.#request = { store: openStore(join(base, 'store')), tree, origin, owner: ids, wait: true, purpose: 'model' };
    this.#forks.set('main', { tree: this.#origin, base: this.#origin, moments: new Map(), applied: [] });
  }

  get #access() {
    return vaultAccess(this.#request);
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

  async #takeOver(name: string, model: ForkModel): Promise<ForkModel> {
    this.#trunk = this.#origin;
    const view = adopted(model.tree, model.base, this.#trunk);
    const moved = { ...model, tree: view, base: this.#trunk };
    this.#forks.set(name, moved);
    return moved;
  }

  async work(choices: readonly Choice[], by: number): Promise<void> {
    const [name, before] = this.#named(by);
    await this.#with(name, async (opened) => {
      const saved = saveCheckpoint(opened, { automatic: true, reason: 'work' });
      const { fork } = await syncFork(saved.fork);
      const model = await this.#takeOver(name, before);
      const moment = { tree: model.tree, base: model.base, applies: model.applied.length };
      let now: Model = model.tree;
      const lines: string[] = [];
      if (!now.has(name)) {
        now = new Map(now).set(name, { type: 'd', mode: 0o755 });
        lines.push(`mkdir ${name}`);
      }
      for (const choice of choices) {
        const step = work(now, name, choice);
        if (step === undefined) continue;
        lines.push(step.line);
        now = step.model;
      }
      this.done.push(`in ${name}: ${lines.join('; ')}`);
      const seen = insideFork(fork, lines);
      assert.deepEqual(shapes(seen), shapes(now));
      const { changes, pending } = await reportOf(fork);
      assert.deepEqual(changes.map(({ path }) => path).sort(), difference(model.tree, now));
      assert.deepEqual(pending.map(({ path }) => path).sort(), difference(model.base, now));
      const moments = new Map(model.moments).set(saved.checkpoint.id, moment);
      this.#forks.set(name, { ...model, tree: now, moments });
    });
  }

  edit({ a, b, c }: Choice): void {
    const path = shared[a % shared.length] ?? 'o1';
    const next = new Map(this.#origin);
    const mode = [0o600, 0o644][c % 2] ?? 0o600;
    if (b % 3 === 0) next.delete(path);
    else next.set(path, { type: 'f', mode, text: String(c % 5), linked: false });
    const line =
      b % 3 === 0 ? `rm -rf ${path}` : `rm -rf ${path}; echo ${c % 5} > ${path}; chmod ${mode.toString(8)} ${path}`;
    this.done.push(`person: ${line}`);
    execFileSync('sh', ['-c', `umask 022; ${line}`], { cwd: this.#request.origin });
    this.#origin = next;
  }

  async checkpoint(by: number): Promise<void> {
    const [name, model] = this.#named(by);
    await this.#with(name, async (fork) => {
      const { checkpoint } = saveCheckpoint(fork, { automatic: false, reason: 'model' });
      const moment = { tree: model.tree, base: model.base, applies: model.applied.length };
      this.#forks.set(name, { ...model, moments: new Map(model.moments).set(checkpoint.id, moment) });
      this.done.push(`checkpoint ${checkpoint.id} of ${name}`);
    });
  }

  async rollBack(by: number, which: number): Promise<void> {
    const [name, model] = this.#named(by);
    const id = [...model.moments.keys()][which % Math.max(1, model.moments.size)];
    const moment = id === undefined ? undefined : model.moments.get(id);
    if (id === undefined || moment === undefined) return;
    this.done.push(`roll ${name} back to ${id}`);
    await this.#with(name, async (fork) => {
      await rollBack(fork, findCheckpoint(fork, String(id)));
      const view = new Map(adopted(moment.tree, moment.base, this.#trunk));
      // What it applied itself since then is as it was at that moment.
      for (const path of model.applied.slice(moment.applies).flat()) {
        for (const each of [...view.keys()]) if (isBelow(each, path)) view.delete(each);
        for (const [each, entry] of moment.tree) if (isBelow(each, path)) view.set(each, entry);
      }
      const moved = { tree: view, base: this.#trunk, applies: model.applied.length };
      this.#forks.set(name, { ...model, ...moved, moments: new Map(model.moments).set(id, moved) });
    });
  }

  async fork(by: number): Promise<void> {
    const [name, model] = this.#named(by);
    const child = `fork${this.#count++}`;
    if (this.#forks.size > 4) return;
    this.done.push(`fork ${child} of ${name}`);
    await createFork(this.#access, child, { fork: name });
    this.#forks.set(child, { tree: model.tree, base: model.base, moments: new Map(), applied: [] });
  }

  /** A fork whose changes meet what was applied would have to be merged by the map too: it goes. */
  async #forgetMeeting(applied: readonly string[], by: string): Promise<void> {
    for (const [name, { tree: view, base, moments }] of [...this.#forks]) {
      if (name === by) continue;
      const changed = [{ tree: view, base }, ...moments.values()].flatMap((each) => difference(each.base, each.tree));
      const meets = changed.some((path) => applied.some((other) => isBelow(path, other) || isBelow(other, path)));
      if (!meets) continue;
      if (name === 'main') {
        await this.#with(name, dropFork);
        this.#forks.set(name, { tree: this.#trunk, base: this.#trunk, moments: new Map(), applied: [] });
      } else {
        await deleteFork(this.#access, name);
        this.#forks.delete(name);
      }
    }
  }

  async apply(by: number): Promise<void> {
    const [name, before] = this.#named(by);
    const model = await this.#takeOver(name, before);
    this.done.push(`apply ${name}`);
    const written = difference(model.base, model.tree);
    await this.#with(name, async (fork) => {
      const { done, problems } = await applyFork(fork, { conflicts: 'theirs', allowSensitive: true });
      assert.deepEqual([done, problems], [true, []]);
    });
    this.#origin = model.tree;
    this.#trunk = model.tree;
    const seen = parsed(execFileSync('sh', ['-c', lookScript], { cwd: this.#request.origin, encoding: 'utf8' }));
    assert.deepEqual(shapes(seen), shapes(model.tree));
    this.#forks.set(name, { ...model, base: model.tree, applied: [...model.applied, written] });
    await this.#forgetMeeting(written, name);
  }

  async flatten(by: number): Promise<void> {
    const [name] = this.#named(by);
    this.done.push(`flatten ${name}`);
    await this.#with(name, (fork) => flattenDeltas(fork, true));
    await flattenTrunk(this.#access, by % 2 === 0);
  }

  async collect(): Promise<void> {
    this.done.push('gc');
    await collectGarbage(this.#access);
    assert.deepEqual(inspectVault(this.#access), []);
  }

  async start(): Promise<void> {
    await this.#with('main', async () => undefined);
  }

  async checkAll(): Promise<void> {
    for (let at = 0; at < this.#forks.size; at++) await this.work([], at);
    await this.collect();
  }
}

const choice: fc.Arbitrary<Choice> = fc.record({
  kind: fc.nat(1000),
  a: fc.nat(1000),
  b: fc.nat(1000),
  c: fc.nat(1000),
});
const step = fc.record({
  what: fc.nat(99),
  by: fc.nat(1000),
  choices: fc.array(choice, { maxLength: 6 }),
  one: choice,
});

async function play(
  world: World,
  { what, by, choices, one }: { what: number; by: number; choices: Choice[]; one: Choice },
) {
  if (what < 45) return world.work(choices, by);
  if (what < 57) return world.edit(one);
  if (what < 64) return world.checkpoint(by);
  if (what < 76) return world.rollBack(by, one.a);
  if (what < 84) return world.fork(by);
  if (what < 91) return world.apply(by);
  return what < 96 ? world.flatten(by) : world.collect();
}

const base = mkdtempSync(join(tmpdir(), 'ctx-model-'));
after(async () => {
  await tree.remove(base);
});
const noMounts =
  spawnSync('unshare', [isRoot ? '-m' : '-Urm', 'true']).status === 0 ? false : 'this host gives no mount namespace';

describe('the store against a plain map', { skip: noMounts }, () => {
  it('shows in every fork what was done there, whatever was done elsewhere', async () => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30, size: 'max' }), async (steps) => {
        const directory = join(base, String(run++));
        mkdirSync(directory);
        const world = new World(directory);
        try {
          await world.start();
          for (const each of steps) await play(world, each);
          await world.checkAll();
        } catch (error) {
          throw new Error(`${world.done.join('\n')}\n${String(error)}`, { cause: error });
        } finally {
          await tree.remove(directory);
        }
      }),
      { ...seeded(12), endOnFailure: process.env['CTX_SHRINK'] !== '1' },
    );
    rmSync(base, { recursive: true, force: true });
  });
});
