/**
 * Two agents with overlapping tiers, and random operations of both while their policies change: neither sees or calls what is not its own,
 * each refusal is counted and in the record, once, and counters and records are equal. `npm run soak` makes a million of them.
 */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { directoryReader } from '../../src/audit/reader.js';
import type { RecordEntry, Recorder } from '../../src/audit/record.js';
import { recordPlace } from '../../src/audit/record-fixture.js';
import { verify } from '../../src/audit/verify.js';
import { nativeProgram } from '../../src/base/native-program.js';
import { type ObjectView, objectView } from '../../src/objects/projection/object-view.js';
import { agentTexts } from '../../src/objects/spec.js';
import { answerCall } from '../../src/tool/answer-call.js';
import type { FileSystem } from '../../src/vfs/filesystem.js';
import { nameFromText, textFromName } from '../../src/vfs/names.js';
import { hasSoakTime, randomFrom, testSeed } from '../support/random.js';

const operations = process.env['CTX_SOAK'] === '1' ? 1_000_000 : 3_000;
const uid = 1000;
const agents = ['left', 'right'] as const;
type AgentName = (typeof agents)[number];
/** Along both paths; what is in an earlier one hides the same name in a later. */
const places = ['tool', `home/${uid}/tool`] as const;
const placed: Readonly<Record<string, readonly string[]>> = {
  tool: ['fs.stat', 'common', 'first'],
  [`home/${uid}/tool`]: ['common', 'second', 'third'],
};
const names = ['fs.stat', 'common', 'first', 'second', 'third', 'absent', '..', 'common.d'];
const random = randomFrom(testSeed);
const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;

function placeOf(name: string): string | undefined {
  return places.find((place) => placed[place]?.includes(name));
}

/** As `ctx agent set` does: the file is replaced. */
function put(path: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, text, { mode });
  renameSync(`${path}.new`, path);
}

class World {
  readonly root = mkdtempSync(join(tmpdir(), 'ctx-two-'));
  readonly granted: Record<AgentName, Set<string>> = { left: new Set(), right: new Set() };
  /** `AGENT STATUS` -> how often it was handed to the record. */
  readonly #told = new Map<string, number>();
  readonly place = recordPlace();
  /** Turned by each operation, so that repeats of a refusal are recorded together, and after a while apart. */
  clock = 0;
  #recorder = this.#opened();
  readonly denied: Record<AgentName, number> = { left: 0, right: 0 };
  readonly views: Record<AgentName, ObjectView>;

  constructor() {
    chmodSync(this.root, 0o755);
    for (const [place, tools] of Object.entries(placed)) {
      for (const name of tools) {
        if (name !== 'fs.stat') put(join(this.root, place, name), '#!/bin/sh\n', 0o755);
        put(join(this.root, place, `${name}.d/description`), `${name} of ${place}\n`);
      }
    }
    for (const name of agents) {
      const texts = agentTexts(name, { uid, path: places.map((place) => `/ctx/${place}`) }, { uid, gid: 100 });
      for (const [file, text] of texts) put(join(this.root, `agent/${name}.d`, file), text);
    }
    this.views = { left: this.#view('left'), right: this.#view('right') };
  }

  #view(agent: AgentName): ObjectView {
    const roots = { root: this.root, uid };
    return objectView({ roots, agent, client: nativeProgram('object'), owner: { uid, gid: 100 }, now: () => 1 });
  }

  turn(agent: AgentName, name: string): void {
    const own = this.granted[agent];
    if (!own.delete(name)) own.add(name);
    const lines = [...own].map((each) => `allow ${agent}_t tool:${each} execute\n`);
    put(join(this.root, `agent/${agent}.d/policy`), lines.join(''));
  }

  isSeen(agent: AgentName, place: string, name: string): boolean {
    return this.granted[agent].has(name) && placeOf(name) === place;
  }

  directory({ filesystem }: ObjectView, place: string): number {
    let inode = (filesystem as FileSystem).root;
    for (const part of place.split('/')) {
      inode = (filesystem.lookup(inode, nameFromText(part)) as { readonly inode: number }).inode;
    }
    return inode;
  }

  list(agent: AgentName, place: string): void {
    const view = this.views[agent];
    const entries = view.filesystem.readdir(this.directory(view, place)) as readonly { readonly name: string }[];
    const wanted = (placed[place] ?? []).filter((name) => this.isSeen(agent, place, name));
    assert.deepEqual(
      entries.map(({ name }) => textFromName(name)).sort(),
      wanted.flatMap((name) => [name, `${name}.d`]).sort(),
      `${agent} lists ${place}`,
    );
  }

  look(agent: AgentName, place: string, name: string): void {
    if (name === '..') return;
    const view = this.views[agent];
    const found = view.filesystem.lookup(this.directory(view, place), nameFromText(name));
    const object = name.endsWith('.d') ? name.slice(0, -2) : name;
    assert.equal(found !== undefined, this.isSeen(agent, place, object), `${agent} looks for ${place}/${name}`);
  }

  /**
   * `fs.stat` beyond the workspace: refused by itself, so that nothing has to run; a tool of the operator's is not run.
   */
  async call(agent: AgentName, place: string, name: string): Promise<void> {
    const { catalogue, viewing } = this.views[agent];
    if (viewing === undefined) throw new Error('expected an agent');
    const run = async () => ({ exitCode: 0, signal: null, timedOut: false });
    const code = await answerCall(
      {
        agent,
        isCrowded: false,
        catalogue,
        recorder: { append: (entry) => this.#append(entry) },
        roots: [{ path: '/work', source: '/work' }],
        run,
        runTool: run,
        createAgent: undefined,
        later: undefined,
        sources: () => Promise.reject(new Error('there are none')),
        viewer: () => viewing.viewer(),
        diff: async () => undefined,
      },
      {
        call: { path: `/ctx/${place}/${name}`, directory: '/work', input: name === 'fs.stat' ? '{"path":"/x"}' : '{}' },
        print: () => undefined,
        printError: () => undefined,
        reach: () => Promise.reject(new Error('nothing is reached')),
        signal: new AbortController().signal,
      },
    );
    const isThere = placeOf(name) === place;
    const isAllowed = isThere && this.granted[agent].has(name);
    const wanted = !isThere ? 1 : !isAllowed || name === 'fs.stat' ? 13 : 0;
    assert.equal(code, wanted, `${agent} calls ${place}/${name}`);
    if (isThere && !isAllowed) this.denied[agent] += 1;
  }

  #opened(): Recorder {
    return this.place.recorder({ now: () => new Date(this.clock) });
  }

  /** The process ends, and another one goes on with the record. */
  reopen(): void {
    this.#recorder = this.#opened();
  }

  #append(entry: RecordEntry) {
    const key = `${entry.agent} ${entry.status}`;
    this.#told.set(key, (this.#told.get(key) ?? 0) + 1);
    return this.#recorder.append(entry);
  }

  told(agent: AgentName, status: string): number {
    return this.#told.get(`${agent} ${status}`) ?? 0;
  }

  /** Refusals in the records of an agent, each with its count, and those that wait to be recorded together. */
  refusals(agent: AgentName): { readonly recorded: number; readonly counted: number } {
    const { chains, problems } = verify({ reader: directoryReader(this.place.directory), anchors: [] });
    assert.deepEqual(problems, [], 'counters, records and heads agree');
    const recorded = Object.values(chains.find(({ chain }) => chain === `agent/${agent}`)?.denials ?? {});
    const state = JSON.parse(readFileSync(join(this.place.directory, 'agent', agent, 'denials.json'), 'utf8'));
    const sum = (all: readonly number[]) => all.reduce((total, count) => total + count, 0);
    const waiting = (state.watched as readonly { readonly count: number }[]).map(({ count }) => count);
    return { recorded: sum([...recorded, ...waiting]), counted: sum(Object.values(state.totals as object)) };
  }
}

test('two agents see and call what is their own, and every refusal is recorded once', async (t) => {
  const world = new World();
  t.after(() => {
    rmSync(world.root, { recursive: true, force: true });
    world.place.remove();
  });
  let calls = 0;
  let operation = 0;
  for (; operation < operations && hasSoakTime(); operation += 1) {
    world.clock += Math.floor(random() * 20);
    if (operation % 1_000 === 0) world.reopen();
    const [agent, place, name, chance] = [pick(agents), pick(places), pick(names), random()];
    if (chance < 0.1) world.turn(agent, pick(names.slice(0, 5)));
    else if (chance < 0.3) world.list(agent, place);
    else if (chance < 0.6) world.look(agent, place, name);
    else {
      calls += 1;
      await world.call(agent, place, name);
    }
  }
  const denied = agents.map((agent) => world.denied[agent]);
  assert.deepEqual(
    agents.map((agent) => world.told(agent, 'denied')),
    denied,
  );
  for (const agent of agents) {
    const { recorded, counted } = world.refusals(agent);
    assert.deepEqual([recorded, counted], [world.denied[agent], world.denied[agent]], agent);
  }
  assert.ok(denied.every((count) => count > 0));
  for (const agent of agents) {
    assert.equal(world.told(agent, 'begin'), world.told(agent, 'ok') + world.told(agent, 'failed'));
  }
  t.diagnostic(`${operation} operations, ${calls} calls, ${denied.join(' and ')} refused`);
});
