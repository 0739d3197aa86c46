import assert from 'node:assert/strict';
import { appendFileSync, cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileAnchor } from './anchor/file-anchor.js';
import { type Anchor, type AnchorState, nothingExtended } from './anchor.js';
import { isTornName, segmentName } from './layout.js';
import { directoryReader } from './reader.js';
import { layers } from './record.js';
import { library, recordPlace } from './record-fixture.js';
import { ChainRecorder } from './recorder.js';
import { makeKeyPair } from './signature.js';
import { editLines, forgeChain, type SealedRecord, sealedRecord, segmentsOf } from './tamper-fixture.js';
import { type Verification, verify } from './verify.js';

it('what a crash left and was set aside is told of where it was changed since', () => {
  const place = recordPlace();
  try {
    const directory = join(place.directory, 'person');
    const append = () => place.recorder().append({ type: 'exec', object: 'x', status: 'ok' });
    append();
    appendFileSync(join(directory, segmentName(1)), 'half a rec');
    append();
    const torn = readdirSync(directory).filter(isTornName);
    assert.equal(torn.length, 1);
    const told = () =>
      verify({ reader: directoryReader(place.directory), anchors: [] })
        .warnings.filter(({ fault }) => fault === 'torn')
        .map(({ text }) => text);
    assert.deepEqual(
      told().filter((text) => /differs from what was set aside/.test(text)),
      [],
    );
    writeFileSync(join(directory, torn[0] ?? ''), 'half a red');
    assert.match(told().join(), /differs from what was set aside/);
    rmSync(join(directory, torn[0] ?? ''));
    assert.match(told().join(), /was set aside and is missing/);
  } finally {
    place.remove();
  }
});

it('a counter that a power cut left empty is told from one that was changed, and counted again by the next record', () => {
  const place = recordPlace();
  try {
    const denials = join(place.directory, 'person', 'denials.json');
    const append = (status: 'ok' | 'denied') =>
      place
        .recorder()
        .append({ type: 'exec', object: 'x', status, ...(status === 'denied' ? { layer: 'proxy' as const } : {}) });
    const problems = () =>
      verify({ reader: directoryReader(place.directory), anchors: [] })
        .problems.filter(({ fault }) => fault === 'counters')
        .map(({ text }) => text);
    append('denied');
    assert.deepEqual(problems(), []);
    writeFileSync(denials, '');
    assert.match(problems().join(), /^denials\.json is empty, as a power cut may leave it: the next command/);
    append('ok');
    assert.deepEqual(problems(), []);
    writeFileSync(denials, '{');
    assert.deepEqual(problems(), ['denials.json cannot be read']);
  } finally {
    place.remove();
  }
});

const original = sealedRecord({ segmentBytes: 1 << 20, commands: 2, agents: ['coder'] });
after(() => original.remove());
const chains = ['agent/coder', 'host', 'person'];
/** On the day of the record, whose segments are not full then. */
const later = () => new Date('2026-01-02T05:00:00.000Z');

interface Look {
  readonly anchors?: readonly Pick<Anchor, 'name' | 'read'>[];
  readonly retired?: readonly string[];
  readonly trusted?: readonly string[];
}

/** After `tamper`, in a copy. */
function verified(tamper: (copy: SealedRecord) => void = () => undefined, look: Look = {}) {
  const copy = original.copy();
  try {
    tamper(copy);
    const given = { anchors: [fileAnchor(copy.root, 'root')], trusted: [copy.publicKey], ...look };
    return verify({ reader: directoryReader(copy.record), ...given });
  } finally {
    copy.remove();
  }
}

const faults = ({ problems }: Verification) => problems.map(({ fault, chain }) => `${fault} ${chain}`);
const warned = ({ warnings }: Verification) => warnings.map(({ fault, chain, text }) => `${fault} ${chain}: ${text}`);

describe('a record that is whole', () => {
  it('is good, without a warning, and every number of it is told', () => {
    const found = verified();
    assert.deepEqual([found.ok, found.problems, found.warnings], [true, [], []]);
    assert.deepEqual(found.chains.map(({ chain }) => chain).sort(), chains);
    for (const { chain, records, sealed, bytes, head, denials } of found.chains) {
      const lines = segmentsOf(original, chain).flatMap((path) => readFileSync(path, 'utf8').split('\n').slice(0, -1));
      assert.deepEqual([records, bytes], [lines.length, lines.reduce((sum, line) => sum + line.length + 1, 0)], chain);
      assert.equal(head, lines.at(-1)?.slice(2, 66));
      // The host's own seal is its last record, which says so of the one before it.
      assert.equal(sealed, records, chain);
      assert.deepEqual(denials, chain === 'host' ? {} : { hook: 2 });
    }
    assert.deepEqual(
      [found.anchors, found.keys.map(({ publicKey, state }) => [publicKey, state])],
      [['root'], [[original.publicKey, 'in use']]],
    );
    const total = found.chains.reduce((sum, { records }) => sum + records, 0);
    assert.ok(found.proves.includes(`${total} records are as they were when they were signed, by the trusted key`));
    assert.ok(found.proves.some((text) => /anchored.*\(root\)/.test(text)));
    assert.ok(!found.cannot.some((text) => /not signed|whose key/.test(text)));
  });

  it('says what it cannot prove without a trusted key, without an anchor, and of what was not sealed yet', () => {
    const { ok, cannot, proves, ...untrusted } = verified(undefined, { trusted: [] });
    assert.ok(ok && cannot.some((text) => /^whose key/.test(text)) && !proves.join().includes('trusted'));
    assert.match(warned({ ok, cannot, proves, ...untrusted }).join(), /^key host: no trusted key was given/);
    const alone = verified(undefined, { anchors: [] });
    assert.ok(alone.ok && !alone.proves.some((text) => text.includes('anchored')));
    const more = verified((copy) => {
      const recorder = new ChainRecorder({ record: copy.record, library, now: later });
      for (const agent of ['coder', 'coder', null]) recorder.append({ type: 'exec', object: 'x', status: 'ok', agent });
      recorder.close();
    });
    assert.ok(more.ok);
    const unsealed = more.chains.map(({ chain, records, sealed }) => [chain, records - sealed]);
    assert.deepEqual(Object.fromEntries(unsealed), { 'agent/coder': 2, host: 0, person: 1 });
    assert.ok(more.cannot.some((text) => text.startsWith('3 records since the last seals')));
  });

  it('that was never sealed says so', () => {
    const place = recordPlace();
    place.recorder().append({ type: 'exec', object: 'x', status: 'ok' });
    const found = verify({ reader: directoryReader(place.directory), anchors: [] });
    const made = verify({ reader: directoryReader(place.directory), anchors: [], trusted: [original.publicKey] });
    place.remove();
    assert.deepEqual([made.ok, faults(made)], [false, ['key host']], 'it does not begin with that key');
    assert.equal(found.ok, true);
    assert.deepEqual(warned(found), ['key host: nothing is sealed yet: ctx audit seal']);
    assert.ok(!found.proves.some((text) => text.includes('signed')));
  });
});

describe('an anchor of a record', () => {
  it('that is not there was retired, or is missed where it is known which there are', () => {
    const told = (retired?: readonly string[]) => {
      const found = verified(undefined, retired === undefined ? { anchors: [] } : { anchors: [], retired });
      return [found.ok, faults(found), warned(found).map((text) => /not available|retired/.exec(text)?.[0])];
    };
    assert.deepEqual(told(), [true, [], ['not available']]);
    assert.deepEqual(told(['root']), [true, [], ['retired']]);
    assert.deepEqual(told(['other']), [false, ['anchor host'], []]);
  });

  it('that cannot be read is a warning, and one that holds another record a problem', () => {
    const failing = { name: 'root', read: () => assert.fail('no such device') };
    const unread = verified(undefined, { anchors: [failing] });
    assert.deepEqual([unread.ok, warned(unread)], [true, ['anchor host: anchor root cannot be read: no such device']]);
    assert.deepEqual([unread.anchors, unread.proves.filter((text) => text.includes('anchored'))], [[], []]);
    assert.ok(unread.cannot.some((text) => /^that the record is the one that was anchored.*\(root\)$/.test(text)));
    const emptied: AnchorState = {
      kind: 'points',
      points: [{ counter: 1, seq: 99, head: '', root: original.publicKey }],
    };
    const other = verified(undefined, { anchors: [{ name: 'root', read: () => emptied }] });
    assert.deepEqual([other.ok, faults(other)], [false, ['anchor host']]);
    assert.equal(other.problems[0]?.seq, 99);
    const behind = verified(undefined, { anchors: [{ name: 'root', read: () => ({ kind: 'empty' }) }] });
    assert.deepEqual([behind.ok, behind.warnings.map(({ fault }) => fault)], [true, ['anchor']]);
  });

  it('proves something where it holds a head of this record, and only there', () => {
    const nothing: Readonly<Record<string, Anchor['read']>> = {
      empty: () => ({ kind: 'empty' }),
      'no points': () => ({ kind: 'points', points: [] }),
      'not extended': () => ({ kind: 'extended', counter: 0, value: nothingExtended }),
      'not to be read': () => assert.fail('no such device'),
    };
    for (const [what, read] of Object.entries(nothing)) {
      // One that seals name, and one that was set up and never given anything.
      for (const name of ['root', 'new']) {
        const real = fileAnchor(original.root, 'root');
        const { ok, anchors, proves, cannot } = verified(undefined, {
          anchors: name === 'root' ? [{ name, read }] : [real, { name, read }],
        });
        if (!ok) continue; // Of points and of a value nothing may be missing.
        const named = (texts: readonly string[]) => texts.filter((text) => /anchored/.test(text));
        assert.deepEqual(anchors, name === 'root' ? [] : ['root'], `${what}, ${name}`);
        assert.equal(named(proves).length, anchors.length, `${what}, ${name}`);
        assert.ok(!named([...proves, ...cannot]).some((text) => text.includes('new')), `${what}, ${name}`);
        assert.equal(named(cannot).length, name === 'root' ? 1 : 0, `${what}, ${name}`);
      }
    }
  });
});

describe('a record that was tampered with', () => {
  const stranger = makeKeyPair().publicKey;

  it('does not begin with the trusted key, or with one of several', () => {
    assert.deepEqual(faults(verified(undefined, { trusted: [stranger] })), ['key host']);
    assert.ok(verified(undefined, { trusted: [stranger, original.publicKey] }).ok);
  });

  it('has its refusals counted as they are recorded, in each layer', () => {
    for (const chain of ['agent/coder', 'person']) {
      const denials = (copy: SealedRecord) => join(copy.record, chain, 'denials.json');
      const counted = (change: (totals: Map<string, number>) => unknown) =>
        faults(
          verified((copy) => {
            const state = JSON.parse(readFileSync(denials(copy), 'utf8'));
            const totals = new Map<string, number>(Object.entries(state.totals));
            change(totals);
            writeFileSync(denials(copy), JSON.stringify({ ...state, totals: Object.fromEntries(totals) }));
          }),
        );
      assert.deepEqual(
        counted(() => undefined),
        [],
      );
      for (const layer of layers) {
        const more = counted((totals) => totals.set(layer, (totals.get(layer) ?? 0) + 1));
        assert.deepEqual(more, [`counters ${chain}`], layer);
      }
      assert.deepEqual(
        counted((totals) => totals.delete('hook')),
        [`counters ${chain}`],
      );
      assert.deepEqual(faults(verified((copy) => rmSync(denials(copy)))), [`counters ${chain}`]);
      assert.deepEqual(faults(verified((copy) => writeFileSync(denials(copy), '{'))), [`counters ${chain}`]);
    }
  });

  it('lacks records that were sealed, of each chain, and says from which on', () => {
    for (const chain of ['agent/coder', 'person']) {
      const found = verified((copy) => {
        editLines(segmentsOf(copy, chain)[0] ?? '', (lines) => lines.slice(0, 2));
        rmSync(join(copy.record, chain, 'denials.json'));
      });
      assert.deepEqual(
        found.problems.map(({ fault, seq }) => [fault, seq]),
        [['seal', 3]],
      );
      assert.equal(found.chains.find((each) => each.chain === chain)?.sealed, 0);
      assert.deepEqual(found.proves, ['that something is wrong: see the first problem']);
    }
  });

  it('has other records than those that were sealed, however well they are chained', () => {
    for (const chain of ['agent/coder', 'person']) {
      const found = verified((copy) =>
        forgeChain(copy, chain, (type, facts) => {
          if (type === 'exec') facts['argv'] = ['true'];
        }),
      );
      assert.deepEqual(faults(found), [`seal ${chain}`]);
    }
    const begun = verified((copy) => forgeChain(copy, 'person', (type, facts) => Object.assign(facts, { was: type })));
    assert.deepEqual(faults(begun), ['seal person', 'chain person'], 'and another beginning');
  });

  it('lacks a chain that the host chain tells of, or has one that it does not', () => {
    assert.deepEqual(faults(verified((copy) => rmSync(join(copy.record, 'person'), { recursive: true }))), [
      'missing person',
    ]);
    const added = verified((copy) =>
      cpSync(join(copy.record, 'agent/coder'), join(copy.record, 'agent/other'), { recursive: true }),
    );
    assert.deepEqual(faults(added), ['fields agent/other']);
  });

  it('is not asked for what its host chain would say, where that is broken', () => {
    const found = verified((copy) => editLines(segmentsOf(copy, 'host')[0] ?? '', (lines) => ['x', ...lines]));
    assert.deepEqual(faults(found), ['malformed host']);
  });

  it('has whole lines at its end that are not records, however many', () => {
    for (const lines of [0, 1, 2]) {
      const found = verified((copy) => {
        appendFileSync(segmentsOf(copy, 'person')[0] ?? '', `${'a line\n'.repeat(lines)}half`);
        const recorder = new ChainRecorder({ record: copy.record, library, now: later });
        recorder.append({ type: 'exec', object: 'x', status: 'ok' });
        recorder.close();
      });
      assert.deepEqual(faults(found), lines === 0 ? [] : ['torn person']);
      const said = new RegExp(`^before it were ${lines} whole lines`);
      assert.equal(said.test(found.problems[0]?.text ?? ''), lines > 0);
      const told = warned(found).map((text) => /^torn person: \d+ bytes of a torn end were set aside/.test(text));
      assert.deepEqual(told, [true]);
    }
  });
});
