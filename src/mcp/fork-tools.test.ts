/** Tools about the fork: what they ask of the workspace, and what a model is told of each answer. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forkTools } from './fork-tools.js';
import { ToolInput } from './input.js';
import type { Context } from './tool.js';

async function called(name: string, given: Record<string, unknown>, found: unknown, approval?: unknown) {
  const tool = forkTools.find((each) => each.name === name);
  assert.ok(tool);
  const calls: unknown[][] = [];
  const asks: unknown[] = [];
  const workspace = new Proxy(
    {},
    {
      get:
        (_, method) =>
        async (...words: readonly Record<string, unknown>[]) => {
          calls.push([method, ...words]);
          const { onApproval } = (words[0] ?? {}) as { onApproval?: (request: unknown) => Promise<unknown> };
          if (approval !== undefined) assert.equal(await onApproval?.(approval), undefined, 'no client answers it');
          return found;
        },
    },
  );
  const { signal } = new AbortController();
  const context = { workspace, signal, asked: (request: unknown) => asks.push(request) } as unknown as Context;
  const answer = await tool.run(new ToolInput(name, tool.input, given), context);
  return { ...answer, call: calls[0] as [string, Record<string, unknown>], asks, signal };
}

describe('diff', () => {
  it('asks for the paths and the checkpoint that it is given, without colours, and as escaped text', async () => {
    for (const [given, paths, since] of [
      [{}, [], undefined],
      [{ paths: ['a', 'b'], since: '3' }, ['a', 'b'], '3'],
    ] as const) {
      const { call } = await called('diff', given, { changes: [], text: '', left: 0 });
      const { style, ...rest } = call[1] as {
        style: { paint(colour: string, text: string): string; escaped: boolean };
      };
      assert.deepEqual([call[0], rest, style.escaped, style.paint('red', 'x')], ['diff', { paths, since }, true, 'x']);
    }
  });

  it('is told with what is left out of it, and says so where there is nothing or no text', async () => {
    const change = { kind: 'modified', path: 'f' };
    for (const [found, text] of [
      [{ changes: [], text: '', left: 0 }, '[no changes]'],
      [{ changes: [change], text: '+x\n', left: 0 }, '+x'],
      [{ changes: [change], text: '+x\n', left: 1 }, '+x\n[and 1 more file: name paths]'],
      [{ changes: [change], text: '+x\n', left: 2 }, '+x\n[and 2 more files: name paths]'],
      [{ changes: [change], text: '', left: 0 }, '[1 change, none of text]'],
      [{ changes: [change, change], text: '\n', left: 0 }, '[2 changes, none of text]'],
    ] as const) {
      assert.equal((await called('diff', {}, found)).text, text);
    }
  });
});

describe('checkpoint and rollback', () => {
  it('name what they made and where they went back to', async () => {
    const named = await called('checkpoint', { name: 'n' }, { id: 4, name: 'n' });
    assert.deepEqual(
      [named.call, named.text, named.facts],
      [['checkpoint', 'n'], 'checkpoint 4 n', { id: 4, name: 'n' }],
    );
    const plain = await called('checkpoint', {}, { id: 5, name: undefined });
    assert.deepEqual([plain.call, plain.text], [['checkpoint', undefined], 'checkpoint 5']);
    for (const count of [0, 1, 40, 41]) {
      const undone = Array.from({ length: count }, (_, at) => ({ kind: 'added', path: `f${at}`, more: 1 }));
      const found = { to: { id: 2 }, undone, unmatched: [], trees: [], pending: 7 };
      const { call, text, facts } = await called('rollback', { checkpoint: '2', paths: ['p'] }, found);
      assert.deepEqual(call, ['rollback', { checkpoint: '2', paths: ['p'] }]);
      const [head, ...rest] = text.split('\n');
      assert.equal(head, `back to checkpoint 2, ${count} change${count === 1 ? '' : 's'} undone`);
      assert.deepEqual(
        rest,
        undone.slice(0, 40).map(({ path }) => `undone: added ${path}`),
      );
      const told = undone.map(({ kind, path }) => ({ kind, path }));
      assert.deepEqual(facts, { checkpoint: 2, undone: told, unmatched: [], trees: [], pending: 7 });
    }
    const deep = {
      to: { id: 1 },
      undone: [{ kind: 'added', path: 'd', unlisted: 3 }],
      unmatched: [],
      trees: [],
      pending: 0,
    };
    assert.match((await called('rollback', {}, deep)).text, /^back to checkpoint 1, 4 changes undone\n/);
    const nothing = { to: { id: 1 }, undone: [], unmatched: [], trees: [], pending: 0 };
    assert.deepEqual((await called('rollback', {}, nothing)).call, ['rollback', { checkpoint: undefined, paths: [] }]);
  });

  it('say what was undone with it, what did not change, and what could not be taken back', async () => {
    const trees = [
      { file: '/a', problem: null },
      { file: '/b', problem: 'it is in use' },
    ];
    const to = { id: 3, reason: 'make', beside: ['npm test'] };
    const found = { to, undone: [], unmatched: ['typo'], trees, pending: 1 };
    const last = [
      'nothing has changed since then at typo',
      'also took back /a',
      'could not take back /b: it is in use',
    ];
    const lines = async (given: object) => (await called('rollback', { ...given }, found)).text.split('\n').slice(1);
    assert.deepEqual(await lines({}), ['these ran at the same time and were undone together: make; npm test', ...last]);
    assert.deepEqual(await lines({ paths: ['typo'] }), last);
  });
});

describe('apply', () => {
  const nothing = {
    ...{ done: false, steps: [], undecided: [], heldBack: [], withheld: [], heldUnits: [], complete: true },
    ...{ unmatched: [], problems: [], written: [], aside: [] },
  };
  const step = { action: 'write', path: 'f', kind: 'file' };

  it('asks for the paths that it is given, or for all; the person is told, and no client answers', async () => {
    for (const [given, asked] of [
      [{}, {}],
      [{ paths: [] }, { paths: [] }],
      [{ paths: ['a'] }, { paths: ['a'] }],
    ] as const) {
      const { call, asks, signal } = await called('apply', given, nothing, { id: 'one' });
      const { onApproval, ...rest } = call[1];
      assert.deepEqual(
        [call[0], typeof onApproval, rest, asks],
        ['askToApply', 'function', { ...asked, signal }, [{ id: 'one' }]],
      );
    }
  });

  it('fails with what the person changed too, and writes nothing of it into the answer', async () => {
    for (const undecided of [['a'], ['a', 'b']]) {
      await assert.rejects(
        called('apply', {}, { ...nothing, done: true, undecided }),
        (error: Error & { code?: string; reason?: string }) => {
          assert.deepEqual([error.code, error.reason?.endsWith(`: ${undecided.join(', ')}`)], ['EBUSY', true]);
          return true;
        },
      );
    }
  });

  it('fails with what stays of a save that came while it was writing, and with what is written all the same', async () => {
    const found = { ...nothing, undecided: ['a'], written: [step], aside: ['a.mine'] };
    await assert.rejects(called('apply', {}, found), {
      code: 'EBUSY',
      reason:
        'the person saved these meanwhile, and their versions stay: a; 1 other change applied; ' +
        'earlier saves of theirs are in a.mine',
    });
  });

  it('says what was left out, and where nothing is pending', async () => {
    const problems = [{ path: 'x', reason: 'it cannot be read' }];
    const { text, facts } = await called('apply', {}, { ...nothing, unmatched: ['typo'], problems });
    assert.equal(text, 'nothing to apply\nleft out: x (it cannot be read)\nnothing is pending at typo');
    assert.deepEqual([facts?.['unmatched'], facts?.['problems']], [['typo'], problems]);
  });

  it('says what was written, what the person alone may apply, and what was not asked for', async () => {
    const lines = async (found: object) => (await called('apply', {}, { ...nothing, ...found })).text.split('\n');
    assert.deepEqual(await lines({}), ['nothing to apply']);
    assert.deepEqual(await lines({ steps: [step] }), ['nothing to apply']);
    const [head, first] = await lines({ done: true, steps: [step] });
    assert.deepEqual([head, first?.startsWith('write ')], ['applied 1 change', true]);
    const held = 'held back, for the person alone to apply (ctx apply --allow-sensitive): s';
    assert.deepEqual(await lines({ heldBack: ['s'], withheld: ['s'] }), ['nothing to apply', held]);
    const rest = (count: string) => `still in the fork, not asked for: ${count}`;
    assert.deepEqual(await lines({ heldBack: ['s', 'a'], withheld: ['s'] }), [
      'nothing to apply',
      held,
      rest('1 change'),
    ]);
    assert.deepEqual(await lines({ heldBack: ['a', 'b'] }), ['nothing to apply', rest('2 changes')]);
    const found = { ...nothing, heldBack: ['s', 'a'], withheld: ['s'], heldUnits: ['u'], complete: false };
    const { done: _, undecided: __, steps: ___, written: ____, aside: _____, ...told } = found;
    assert.deepEqual((await called('apply', {}, { ...found, steps: [step] })).facts, {
      ...told,
      done: false,
      steps: [],
    });
    assert.deepEqual((await called('apply', {}, { ...found, done: true, steps: [step] })).facts?.['steps'], [step]);
  });
});
