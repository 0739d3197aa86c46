/** What a report says beside the facts, for every state that it may be in. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AskedTree, TreeOutcome } from '../asked-tree.js';
import { denialsOf } from './denials.js';
import type { Refusal } from './envelope.js';
import { heldCachesText } from './held-caches.js';
import { mountReports, mountWarnings } from './mount-reports.js';
import { nestingHint } from './nesting-hint.js';
import { refusalsOf } from './refusals.js';

const outcome = (given: Partial<TreeOutcome> = {}): TreeOutcome =>
  ({ changes: [], more: 0, undo: [], undoable: true, ...given }) as TreeOutcome;
function tree(given: Partial<AskedTree> & { ended?: TreeOutcome | undefined; said?: string } = {}): AskedTree {
  const { ended, said, ...rest } = given;
  return {
    ...{ specification: 'memory:', target: '/m', writable: true, backings: [], lasts: false },
    ...{ start: () => assert.fail(), problem: () => said, outcome: () => ended, ...rest },
  };
}
const changed = [{ kind: 'added', path: 'a' }] as unknown as TreeOutcome['changes'];
const own = { isKept: false, hasCheckpoint: true };

describe('trees in a report', () => {
  it('are those that may be written, with what was changed, and whether that can be undone', () => {
    const undo = outcome({ changes: changed, more: 2 });
    const row = { specification: 'memory:', target: '/m' };
    for (const [given, how, expected] of [
      [tree({ ended: undo }), own, [{ ...row, changes: changed, more: 2, undoable: true }]],
      [
        tree({ ended: undo }),
        { ...own, hasCheckpoint: false },
        [{ ...row, changes: changed, more: 2, undoable: false }],
      ],
      [tree({ ended: outcome({ undoable: false }) }), own, [{ ...row, changes: [], more: 0, undoable: false }]],
      [tree({ ended: undo }), { ...own, isKept: true }, [{ ...row, changes: null, more: 0, undoable: false }]],
      [tree(), own, [{ ...row, changes: null, more: 0, undoable: false }]],
      [tree({ ended: undo, writable: false }), own, []],
    ] as const) {
      assert.deepEqual(mountReports([given], how), expected);
    }
  });

  it('are spoken of where what was written is gone, cannot be undone, or a server did not end well', () => {
    const said = (given: AskedTree, how = own) => mountWarnings([given], how);
    const undo = outcome({ changes: changed });
    assert.deepEqual(said(tree({ ended: outcome() })), []);
    assert.deepEqual(said(tree({ writable: false, ended: undo })), []);
    assert.deepEqual(said(tree({ writable: false, said: 'broken' })), ['broken']);
    assert.deepEqual(said(tree({ ended: outcome(), said: 'broken' })), ['broken']);
    assert.match(said(tree({ ended: undo })).join(), /wrote to \/m \(memory:\) was lost/);
    assert.match(said(tree({ ended: outcome({ more: 1 }) })).join(), /was lost/);
    assert.match(said(tree({ ended: undo }), { ...own, isKept: true }).join(), /will be lost when the kept jail ends/);
    assert.deepEqual(said(tree({ ended: undo, lasts: true })), []);
    const [stays, ...more] = said(tree({ ended: undo, lasts: true, said: 'broken' }), { ...own, hasCheckpoint: false });
    assert.deepEqual([stays, more.length], ['broken', 1]);
    assert.match(more[0] ?? '', /changed in \/m .* is not undone by ctx rollback or ctx drop$/);
    const ways = [
      { file: '/f', before: 'one' },
      { file: '/g', before: 'two' },
    ] as unknown as TreeOutcome['undo'];
    const [text] = said(tree({ ended: { ...undo, undoable: false, undo: ways }, lasts: true }));
    assert.match(text ?? '', /; ctx vfs restore chunked:\/f one and ctx vfs restore chunked:\/g two does$/);
  });
});

describe('what a command was refused', () => {
  const refusal = (call: string): Refusal => ({ call, count: 3, firstAt: '', lastAt: '', why: '' });

  it('is told by its name, its times and why, and is in the record by its count', () => {
    const [found] = refusalsOf([{ number: 165, count: 2, first: 0, last: 1_000 }] as never, 'x64');
    assert.deepEqual(
      [found?.call, found?.count, found?.firstAt, found?.lastAt],
      ['mount', 2, '1970-01-01T00:00:00.000Z', '1970-01-01T00:00:01.000Z'],
    );
    assert.ok((found?.why ?? '').length > 0);
    const whose = { object: 'fork/x', agent: 'ada', parent: undefined };
    assert.deepEqual(denialsOf(whose, [refusal('mount')]), [
      { ...whose, type: 'call', status: 'denied', layer: 'jail', count: 3, facts: { call: 'mount' } },
    ]);
    assert.deepEqual(denialsOf(whose, []), []);
  });

  it('is explained where it failed for want of a namespace', () => {
    for (const call of ['clone', 'unshare', 'setns']) {
      assert.equal(nestingHint({ exitCode: 1, refusals: [refusal('mount'), refusal(call)] }).length, 1, call);
      assert.deepEqual(nestingHint({ exitCode: 0, refusals: [refusal(call)] }), [], call);
    }
    assert.deepEqual(nestingHint({ exitCode: 1, refusals: [refusal('mount')] }), []);
    assert.equal(nestingHint({ exitCode: null, refusals: [refusal('clone')] }).length, 1);
  });
});

it('caches that another one writes are told in one line, with who that is where it is known', () => {
  assert.deepEqual(heldCachesText([]), []);
  const [unknown] = heldCachesText([{ path: '/a' }, { path: '/b' }]);
  assert.match(unknown ?? '', /since another command uses them.*: \/a, \/b; /);
  const [known] = heldCachesText([{ path: '/a' }, { path: '/b', holder: { pid: 7, directory: '/w' } }] as never);
  assert.match(known ?? '', /since process 7 in \/w uses/);
});
