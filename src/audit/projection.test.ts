/** Events near their objects: to the first tier that has the object, to its session, and nowhere else. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { objectLogBytes } from '../base/limits/objects.js';
import { agentIn, eventText, type ProjectionPlaces, parentIn, projectEvents } from './projection.js';
import type { RecordEntry } from './record.js';

let base = '';
let places: ProjectionPlaces;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'ctx-projection-'));
  places = { root: join(base, 'root'), uid: 7, system: join(base, 'system') };
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const ts = '2026-01-02T03:04:05.678Z';
const entry: RecordEntry = {
  type: 'exec',
  object: 'fork/1',
  status: 'ok',
  agent: 'coder',
  facts: { secret: 'left out' },
};

/** In the order they are searched. */
const tiers = (kind: string) => [`root/${kind}`, `root/home/7/${kind}`, `system/${kind}`];
const made = (...names: readonly string[]) => {
  for (const name of names) mkdirSync(join(base, name), { recursive: true });
};
const text = (path: string) => (existsSync(join(base, path)) ? readFileSync(join(base, path), 'utf8') : undefined);
const files = () =>
  readdirSync(base, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath, each.name).slice(base.length + 1))
    .sort();

describe('an event', () => {
  it('says when, what, whom it was about and how it ended, and no more', () => {
    const all = { ts, type: 'exec', agent: 'coder', session: 's', object: 'fork/1', status: 'ok' };
    assert.equal(eventText({ ...entry, session: 's' }, ts), `${JSON.stringify(all)}\n`);
    const { agent: _agent, ...without } = entry;
    assert.equal(eventText(without, ts), `${JSON.stringify({ ...all, agent: null, session: null })}\n`);
  });

  it('is in the log of the first tier that has the agent', () => {
    for (const [index, tier] of tiers('agent').entries()) {
      made(
        ...tiers('agent')
          .slice(index)
          .map((each) => `${each}/coder.d`),
      );
      projectEvents(places)(entry, ts);
      projectEvents(places)(entry, ts);
      assert.deepEqual(files(), [`${tier}/coder.d/log`]);
      assert.equal(text(`${tier}/coder.d/log`), eventText(entry, ts).repeat(2));
      for (const each of ['root', 'system']) rmSync(join(base, each), { recursive: true, force: true });
    }
    made('system/agent/coder.d');
    const { system: _system, ...without } = places;
    projectEvents(without)(entry, ts);
    assert.deepEqual(files(), []);
  });

  it('is in its session, which the agent reads in a home that no one else gets into, whatever the umask is', () => {
    const session = { ...entry, session: 's1' };
    const home = 'root/home/7/agent/coder';
    const events = `${home}/session/s1/events.jsonl`;
    const before = process.umask();
    try {
      for (const mask of [0o000, 0o022, 0o077]) {
        process.umask(mask);
        made('root/agent/coder.d');
        projectEvents(places)(session, ts);
        assert.deepEqual(files(), ['root/agent/coder.d/log', events]);
        assert.equal(text(events), eventText(session, ts));
        const modes = [home, `${home}/session`, `${home}/session/s1`, events, 'root/agent/coder.d/log'];
        const found = modes.map((path) => (statSync(join(base, path)).mode & 0o777).toString(8));
        assert.deepEqual(found, ['700', '755', '755', '644', '644'], `${mask}`);
        rmSync(join(base, 'root'), { recursive: true });
      }
    } finally {
      process.umask(before);
    }
  });

  it('follows no link that the agent made in its home, and waits for no pipe', () => {
    const session = { ...entry, session: 's1' };
    const own = 'root/home/7/agent/coder';
    made('outside/session/s1');
    const file = 'outside/session/s1/events.jsonl';
    writeFileSync(join(base, file), '');
    const plants: readonly (readonly [target: string, at: string])[] = [
      ['outside/session', `${own}/session`],
      ['outside/session/s1', `${own}/session/s1`],
      [file, `${own}/session/s1/events.jsonl`],
      ['outside/none', `${own}/session/s1/events.jsonl`],
    ];
    for (const [target, at] of plants) {
      made(dirname(at));
      symlinkSync(join(base, target), join(base, at));
      projectEvents(places)(session, ts);
      assert.deepEqual([text(file), existsSync(join(base, 'outside/none'))], ['', false], at);
      rmSync(join(base, 'root'), { recursive: true });
    }
    made(`${own}/session/s1`);
    execFileSync('mkfifo', [join(base, own, 'session/s1/events.jsonl')]);
    projectEvents(places)(session, ts);
    rmSync(join(base, 'outside'), { recursive: true });
  });

  it('is nowhere where an agent or a session has a name that is none', () => {
    made('root/agent/coder.d', 'root/agent/a', 'root/tool/ls.d', 'outside.d', 'root/outside.d');
    for (const name of ['', '.', '..', '../outside', 'a/../../outside', null, undefined]) {
      projectEvents(places)({ ...entry, agent: name }, ts);
      projectEvents(places)({ ...entry, type: 'tool.call', object: `tool/${name}`, agent: null }, ts);
    }
    assert.deepEqual(files(), []);
    for (const session of ['', '..', '../../x', null]) projectEvents(places)({ ...entry, session }, ts);
    assert.deepEqual(files(), ['root/agent/coder.d/log']);
  });

  it('of a call is in the log of the first tier that has the tool, and of nothing else that names one', () => {
    const called: RecordEntry = { ...entry, type: 'tool.call', object: 'tool/ls', agent: null };
    for (const [index, tier] of tiers('tool').slice(0, 2).entries()) {
      made(
        ...tiers('tool')
          .slice(index)
          .map((each) => `${each}/ls.d`),
      );
      projectEvents(places)(called, ts);
      for (const other of [{ type: 'tool' }, { object: 'tool/ls/x' }, { object: 'tools/ls' }, { object: 'xtool/ls' }])
        projectEvents(places)({ ...called, ...other }, ts);
      assert.deepEqual(files(), [`${tier}/ls.d/log`]);
      assert.equal(text(`${tier}/ls.d/log`), eventText(called, ts));
      for (const each of ['root', 'system']) rmSync(join(base, each), { recursive: true, force: true });
    }
  });

  it('begins another log where one is past its limit, and keeps the one before', () => {
    const session = { ...entry, session: 's' };
    for (const [log, size, isKept] of [
      ['root/agent/coder.d/log', objectLogBytes, false],
      ['root/agent/coder.d/log', objectLogBytes + 1, true],
      ['root/home/7/agent/coder/session/s/events.jsonl', objectLogBytes, false],
      ['root/home/7/agent/coder/session/s/events.jsonl', objectLogBytes + 1, true],
    ] as const) {
      made(dirname(log));
      writeFileSync(join(base, log), Buffer.alloc(size, 'x'));
      projectEvents(places)(session, ts);
      assert.equal(text(`${log}.old`)?.length, isKept ? size : undefined);
      assert.equal(text(log)?.length, (isKept ? 0 : size) + eventText(session, ts).length);
    }
  });

  it('that cannot be written is not a failure: the chain has it', () => {
    for (const place of ['root/agent/coder.d/log', 'root/tool/ls.d/log']) made(place);
    projectEvents(places)({ ...entry, type: 'tool.call', object: 'tool/ls', session: 's' }, ts);
    assert.deepEqual(files(), ['root/home/7/agent/coder/session/s/events.jsonl'], 'what can be is');
  });
});

describe('an agent of the record', () => {
  it('is one that a tier has', () => {
    assert.equal(agentIn(places)('coder'), false);
    for (const tier of tiers('agent')) {
      made(`${tier}/coder.d`);
      assert.equal(agentIn(places)('coder'), true, tier);
      assert.equal(agentIn(places)('code'), false, tier);
      rmSync(join(base, tier), { recursive: true });
    }
    made('system/agent/coder.d');
    assert.equal(agentIn({ root: places.root, uid: 7 })('coder'), false);
    assert.equal(agentIn({ ...places, uid: 8 })('coder'), true);
  });

  it('has the parent that the first file says that there is', () => {
    assert.equal(parentIn(places)('coder'), undefined);
    const told: string[] = [];
    for (const tier of tiers('agent').reverse()) {
      made(`${tier}/coder.d`);
      assert.equal(parentIn(places)('coder'), told.at(-1));
      told.push(`of-${tier.replaceAll('/', '-')}`);
      writeFileSync(join(base, tier, 'coder.d/parent'), `agent:${told.at(-1)}\n`);
      assert.equal(parentIn(places)('coder'), told.at(-1));
    }
    const file = join(base, 'root/agent/coder.d/parent');
    for (const none of ['', 'user:x', ' agent:x', 'agent:']) {
      writeFileSync(file, none);
      assert.equal(parentIn(places)('coder'), undefined, none);
    }
    rmSync(file);
    mkdirSync(file);
    assert.throws(() => parentIn(places)('coder'), { operation: 'read' });
  });
});
