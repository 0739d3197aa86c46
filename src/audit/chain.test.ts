/** A chain on a full or slow disk, and beside others who append: a filesystem in this process says so. */
import assert from 'node:assert/strict';
import fs, { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { loadFileLock } from '../base/file-lock.js';
import { denialsUnsynced } from '../base/limits/decisions.js';
import { Chain, type ChainOptions } from './chain.js';
import { Hasher } from './format.js';
import { agentChain, segmentName, tornName } from './layout.js';
import { directoryReader } from './reader.js';
import type { RecordEntry } from './record.js';
import { bodiesOf, library, type RecordPlace, recordPlace } from './record-fixture.js';
import { replay } from './replay.js';
import { Reserve } from './reserve.js';

const name = agentChain('coder');
let place: RecordPlace;
let reserve: Reserve;
const opened: Chain[] = [];
beforeEach(() => {
  place = recordPlace();
  reserve = new Reserve(join(place.directory, 'reserve'), 100);
});
afterEach(() => {
  mock.restoreAll();
  syncBuiltinESMExports();
  for (const chain of opened.splice(0)) chain.close();
  place.remove();
});

function chainOf(more: Partial<ChainOptions> = {}): Chain {
  const lock = loadFileLock(library);
  const options = { record: place.directory, chain: name, lock, hasher: new Hasher(), reserve, now: () => new Date(0) };
  const chain = new Chain({ ...options, ...more });
  opened.push(chain);
  return chain;
}

const entry = (type: string, more: Partial<RecordEntry> = {}): RecordEntry => ({
  type,
  object: 'y',
  status: 'ok',
  ...more,
});
const endOf = (chain: Chain) => chain.appendAll([], { durable: true }).end;
const bodies = () => bodiesOf(place.directory, name);
const typesOf = () => bodies().map(({ type }) => type);
const segments = () => readdirSync(chainOf().paths.directory).filter((file) => file.endsWith('.jsonl'));
/** What a verifier says: undefined where all is well. */
const problem = () => replay(directoryReader(place.directory), name, new Hasher(), () => undefined).problem;

/** The calls of a function of the filesystem; the first so many fail. */
function failing(what: 'writeSync' | 'fdatasyncSync' | 'fsyncSync' | 'ftruncateSync', times = 0, code = 'ENOSPC') {
  const real = fs[what] as (...given: readonly unknown[]) => unknown;
  let left = times;
  const calls: unknown[][] = [];
  mock.method(fs, what, (...given: unknown[]) => {
    calls.push(given);
    if (left-- > 0) throw Object.assign(new Error(code), { code, syscall: what });
    return real(...given);
  });
  syncBuiltinESMExports();
  return calls;
}

describe('a chain on a full disk', () => {
  it('uses the reserve up for how something ended, and for what makes room, and for nothing else', () => {
    const cases: readonly (readonly [what: string, entries: readonly RecordEntry[], mayUse: boolean])[] = [
      ['ok', [entry('a')], true],
      ['refused', [entry('a', { status: 'denied', layer: 'jail' })], true],
      ['begins', [entry('a', { status: 'begin' })], false],
      ['begins, and makes room', [entry('a', { status: 'begin', makesRoom: true })], true],
      ['begins beside another', [entry('a'), entry('b', { status: 'begin' })], false],
    ];
    for (const [what, entries, mayUse] of cases) {
      for (const code of ['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO']) {
        const isFull = ['ENOSPC', 'EDQUOT'].includes(code);
        const chain = chainOf();
        chain.appendAll([entry('first')]);
        reserve.demand();
        const before = bodies().length;
        failing('writeSync', 1, code);
        // Each a refusal of its own: the same again would be counted only.
        const act = () => chain.appendAll(entries.map((each) => ({ ...each, object: `${each.object} ${code}` })));
        if (mayUse && isFull) act();
        else assert.throws(act, { code: isFull ? 'ENOSPC' : code });
        mock.restoreAll();
        syncBuiltinESMExports();
        const isUsed = mayUse && isFull;
        assert.equal(existsSync(join(place.directory, 'reserve')), !isUsed, `${what} ${code}`);
        assert.equal(bodies().length, before + (isUsed ? entries.length : 0), `${what} ${code}`);
        assert.equal(problem(), undefined);
      }
    }
  });

  it('asks for the reserve before anything begins that makes no room', () => {
    const chain = chainOf();
    const held = () => existsSync(join(place.directory, 'reserve'));
    for (const more of [{}, { status: 'failed' }, { status: 'begin', makesRoom: true }] as const) {
      chain.appendAll([entry('x', more)]);
      assert.equal(held(), false, JSON.stringify(more));
    }
    chain.appendAll([entry('x'), entry('x', { status: 'begin' })]);
    assert.equal(held(), true);
  });

  it('has failed where the reserve does not make room enough, or there is none', () => {
    const chain = chainOf();
    chain.appendAll([entry('first')]);
    for (const [hasReserve, times] of [
      [true, 2],
      [false, 1],
    ] as const) {
      if (hasReserve) reserve.demand();
      failing('writeSync', times);
      assert.throws(() => chain.appendAll([entry('a')]), { code: 'ENOSPC' });
      mock.restoreAll();
      syncBuiltinESMExports();
      chain.appendAll([entry('b')]);
    }
    assert.deepEqual(typesOf(), ['audit.open', 'first', 'b', 'b']);
    assert.equal(problem(), undefined);
  });

  it('says so where a part that was written could not be taken away again', () => {
    const chain = chainOf();
    chain.appendAll([entry('first')]);
    failing('fdatasyncSync', 1, 'EIO');
    failing('ftruncateSync', 1, 'EROFS');
    assert.throws(() => chain.appendAll([entry('a')], { durable: true }), { code: 'EIO', reason: /partly written/ });
  });
});

describe('a chain on a slow disk', () => {
  it('waits for it where an entry asks for that, where a segment begins or ends, and where a torn end was told', () => {
    const synced = (act: () => unknown, what: 'fdatasyncSync' | 'fsyncSync' = 'fdatasyncSync') => {
      const calls = failing(what);
      act();
      mock.restoreAll();
      syncBuiltinESMExports();
      return calls.length;
    };
    const chain = chainOf();
    assert.equal(
      synced(() => chain.appendAll([entry('a')]), 'fsyncSync'),
      1,
      'the directory of a new segment',
    );
    assert.equal(
      synced(() => chain.appendAll([entry('a')])),
      0,
    );
    assert.equal(
      synced(() => chain.appendAll([entry('a')], { durable: false })),
      0,
    );
    assert.equal(
      synced(() => chain.appendAll([entry('a')], { durable: true })),
      1,
    );
    appendFileSync(chain.paths.file(segmentName(1)), 'torn');
    assert.equal(
      synced(() => endOf(chain)),
      1,
    );
    assert.equal(
      synced(() => chainOf({ segmentBytes: 1 }).appendAll([entry('b')])),
      1,
      'the end of a segment',
    );
    assert.equal(problem(), undefined);
  });

  it('is counted in one file that waits for nothing', () => {
    const calls = failing('fsyncSync');
    const chain = chainOf();
    chain.appendAll([entry('first')]);
    const before = calls.length;
    chain.appendAll([entry('x', { status: 'denied', layer: 'hook' })]);
    assert.equal(calls.length, before);
  });
});

describe('where a chain ends', () => {
  it('is asked without adding to it', () => {
    const chain = chainOf();
    const { end } = chain.appendAll([entry('a'), entry('b')]);
    assert.equal(end.seq, 3);
    for (const each of [chain, chainOf()]) assert.deepEqual(endOf(each), end);
    assert.deepEqual(typesOf(), ['audit.open', 'a', 'b']);
    appendFileSync(chain.paths.file(segmentName(1)), 'torn');
    assert.equal(endOf(chain).seq, 4);
    assert.deepEqual(typesOf(), ['audit.open', 'a', 'b', 'audit.torn']);
  });

  it('is its last segment, in whatever order a directory names them', () => {
    const chain = chainOf({ segmentBytes: 1 });
    for (let count = 0; count < 4; count += 1) chain.appendAll([entry('x')]);
    const { end } = chain.appendAll([entry('last')], {});
    assert.ok(segments().length > 3);
    const real = fs.readdirSync;
    for (const order of [1, -1]) {
      mock.method(fs, 'readdirSync', (path: string) => {
        const names = real(path).sort();
        return order > 0 ? names : names.reverse();
      });
      syncBuiltinESMExports();
      assert.deepEqual(endOf(chainOf()), end);
      mock.restoreAll();
      syncBuiltinESMExports();
    }
  });

  it('is found by everyone, whoever appended last and ended the segment of another', () => {
    const [one, other] = [chainOf(), chainOf({ segmentBytes: 1 })];
    for (let count = 0; count < 3; count += 1) {
      one.appendAll([entry('one')]);
      other.appendAll([entry('other')]);
      other.appendAll([entry('other')]);
    }
    one.appendAll([entry('one')]);
    assert.equal(problem(), undefined);
    const own = typesOf().filter((type) => !type.startsWith('audit.'));
    assert.deepEqual(own, [
      ...['one', 'other', 'other'],
      ...['one', 'other', 'other'],
      ...['one', 'other', 'other'],
      'one',
    ]);
  });

  it('goes on with the time, where the clock was set back as a segment ended', () => {
    chainOf({ now: () => new Date(5000) }).appendAll([entry('a')]);
    chainOf({ now: () => new Date(0), segmentBytes: 1 }).appendAll([entry('b')]);
    assert.equal(problem(), undefined);
    assert.deepEqual(
      bodies().map(({ type, ts }) => [type, Date.parse(ts)]),
      [
        ['audit.open', 5000],
        ['a', 5000],
        ['audit.close', 5000],
        ['audit.open', 5000],
        ['audit.clock', 0],
        ['b', 0],
      ],
    );
    assert.deepEqual(bodies()[4]?.facts, { was: new Date(5000).toISOString() });
  });
});

describe('what a crash left in a chain', () => {
  it('is kept under the number that it was to have, or the next that is free, and told with all that it was', () => {
    const torn = ['["half', 'a line\nand half', '\n\n\n'];
    for (const [index, text] of torn.entries()) {
      const chain = chainOf();
      const { end } = chain.appendAll([entry('a')]);
      writeFileSync(chain.paths.file(tornName(end.seq + 1)), 'of an older crash');
      appendFileSync(chain.paths.file(segmentName(1)), text);
      chain.appendAll([entry('b')]);
      const file = tornName(end.seq + 2);
      assert.equal(readFileSync(chain.paths.file(file), 'utf8'), text);
      const told = bodies().at(-2);
      assert.deepEqual([told?.type, told?.status, told?.seq], ['audit.torn', 'failed', end.seq + 1], String(index));
      assert.deepEqual(told?.facts, {
        file,
        bytes: text.length,
        digest: new Hasher().of(Buffer.from(text)),
        lines: text.split('\n').length - 1,
      });
    }
    assert.equal(problem(), undefined);
  });

  it('is told by the next who looks, where it was kept aside and no record says so', () => {
    const { end } = chainOf().appendAll([entry('a')]);
    const { file } = chainOf().paths;
    writeFileSync(file(tornName(end.seq)), 'of a record that is there');
    writeFileSync(file(tornName(end.seq + 2)), 'of one that is not next');
    chainOf().appendAll([entry('b')]);
    assert.deepEqual(typesOf(), ['audit.open', 'a', 'b']);
    writeFileSync(file(tornName(end.seq + 3)), 'later still');
    chainOf().appendAll([entry('c')]);
    assert.deepEqual(typesOf(), ['audit.open', 'a', 'b', 'audit.torn', 'c']);
    assert.equal(bodies()[3]?.facts?.['file'], tornName(end.seq + 2));
  });

  it('is told behind the clock that was set back since', () => {
    const chain = chainOf({ now: () => new Date(5000) });
    chain.appendAll([entry('a')]);
    appendFileSync(chain.paths.file(segmentName(1)), 'torn');
    chainOf().appendAll([entry('b')]);
    assert.deepEqual(typesOf(), ['audit.open', 'a', 'audit.clock', 'audit.torn', 'b']);
    assert.equal(problem(), undefined);
  });

  it('of refusals is made up for before a segment ends, also where a power cut took more than the last', () => {
    const refused = (object: string) => entry('x', { object, status: 'denied', layer: 'hook' });
    chainOf().appendAll([entry('a')]);
    const segment = chainOf().paths.file(segmentName(1));
    const before = readFileSync(segment);
    for (const object of ['one', 'two', 'three']) chainOf().appendAll([refused(object)]);
    writeFileSync(segment, before);
    chainOf({ segmentBytes: 1 }).appendAll([entry('b')]);
    chainOf({ segmentBytes: 1 }).appendAll([entry('c')]);
    const made = Array.from({ length: 3 }, () => 'audit.recovered');
    assert.deepEqual(typesOf(), ['audit.open', 'a', ...made, 'b', 'audit.close', 'audit.open', 'c']);
  });

  it('of refusals are counts without a byte, which are made again from what is recorded', () => {
    const chain = chainOf();
    for (const [object, layer, count] of [
      ['a', 'hook', 1],
      ['b', 'guard', 5],
      ['c', 'hook', 2],
    ] as const)
      chain.appendAll([entry('x', { object, status: 'denied', layer, count })]);
    const totals = () => JSON.parse(readFileSync(chain.paths.denials, 'utf8')).totals;
    assert.deepEqual(totals(), { hook: 3, guard: 5 });
    writeFileSync(chain.paths.denials, '');
    chain.appendAll([entry('y')]);
    assert.deepEqual(totals(), { hook: 3, guard: 5 });
    writeFileSync(chain.paths.denials, '{');
    chain.appendAll([entry('y')]);
    assert.equal(readFileSync(chain.paths.denials, 'utf8'), '{', 'what somebody wrote there is for verify to find');
  });

  it('of refusals is bounded: the disk is waited for where many could be lost', () => {
    const chain = chainOf();
    const calls = failing('fdatasyncSync');
    for (let count = 0; count < 3 * denialsUnsynced; count += 1) {
      chain.appendAll([entry('x', { object: `o${count}`, status: 'denied', layer: 'hook' }), entry('y')]);
      const { intents } = JSON.parse(readFileSync(chain.paths.denials, 'utf8')) as { intents: readonly unknown[] };
      assert.ok(intents.length <= denialsUnsynced + 2, String(intents.length));
    }
    assert.equal(calls.length, 2);
  });

  it('begins the chain again where nothing of it is whole, and says so to who has to know it first', () => {
    const heads: string[] = [];
    const announce = (head: string) => void heads.push(head);
    const chain = chainOf({ announce });
    chain.appendAll([entry('a')]);
    assert.equal(heads.length, 1);
    writeFileSync(chain.paths.file(segmentName(1)), 'nothing whole');
    chainOf({ announce }).appendAll([entry('b')]);
    assert.equal(heads.length, 2);
    assert.deepEqual(typesOf(), ['audit.open', 'audit.torn', 'b']);
    chainOf({ announce, segmentBytes: 1 }).appendAll([entry('c')]);
    assert.equal(heads.length, 2, 'not for each segment');
    assert.equal(problem(), undefined);
  });
});

it('a record that was moved away and made again is appended to with its own lock', () => {
  const ours = chainOf({ lock: loadFileLock(library, 0) });
  ours.appendAll([entry('a')]);
  fs.renameSync(ours.paths.directory, `${ours.paths.directory}.moved`);
  const other = chainOf();
  other.appendAll([entry('b')]);
  const descriptor = fs.openSync(other.paths.lock, 'a');
  loadFileLock(library).hold(descriptor, other.paths.lock);
  assert.throws(() => ours.appendAll([entry('c')]), { code: 'EAGAIN' });
  fs.closeSync(descriptor);
  ours.appendAll([entry('c')]);
  assert.deepEqual([typesOf(), problem()], [['audit.open', 'b', 'c'], undefined]);
});
