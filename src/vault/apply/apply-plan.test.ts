import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../../test/property/seeded.js';
import { clashing } from '../tree/clashing.js';
import type { Change } from '../tree/tree.js';
import type { OpenFork } from '../vault.js';
import { type ApplyChoices, type ConflictChoice, mayTouch, planApply, refuseBothSides } from './apply-plan.js';
import { planRoots } from './plan-roots.js';

const name = fc.constantFrom('a', 'b', 'a-b', 'ab');
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));

function change(at: string, kind: Change['kind'], more: Partial<Change> = {}): Change {
  return { kind, type: 'file', mode: 0o644, size: 1, content: true, stamp: '', path: at, ...more };
}
const otherMode = (at: string) => change(at, 'modified', { type: 'directory', content: false });

/** As the walker lists them: each path once, a directory before what is in it. */
const changes = fc
  .uniqueArray(
    fc.tuple(path, fc.constantFrom('added' as const, 'modified' as const, 'deleted' as const, 'mode' as const)),
    {
      selector: ([at]) => at,
      maxLength: 8,
    },
  )
  .map((list) =>
    list
      .sort(([a], [b]) => (a.split('/').join('\0') < b.split('/').join('\0') ? -1 : 1))
      .map(([at, kind]) => (kind === 'mode' ? otherMode(at) : change(at, kind))),
  );
const paths = fc.uniqueArray(path, { maxLength: 5 });
const choice = fc.constantFrom<ConflictChoice>('refuse', 'ours', 'theirs');

/** Component by component, without any string prefix. */
function related(one: string, other: string): boolean {
  const [left, right] = [one.split('/'), other.split('/')];
  const shorter = Math.min(left.length, right.length);
  return left.slice(0, shorter).join('\0') === right.slice(0, shorter).join('\0');
}

const isMode = ({ type }: Change) => type === 'directory';
const isHolding = (outer: string, inner: string) => related(outer, inner) && outer.length < inner.length;

describe('clashes of the person and the fork', () => {
  it('are the edits at a change of the fork, or below one that is more than a mode, and no others', () => {
    fc.assert(
      fc.property(paths, changes, (entered, made) => {
        const naive = entered.filter((edit) =>
          made.some((each) => each.path === edit || (!isMode(each) && isHolding(each.path, edit))),
        );
        assert.deepEqual(clashing(entered, made), naive);
      }),
      seeded(1000),
    );
  });

  it('are not found between names that only begin alike', () => {
    assert.deepEqual(clashing(['ab', 'a-b/c', 'a.b'], [change('a', 'added'), change('a/b', 'added')]), []);
  });

  it('are found among many thousands of paths at once', () => {
    const many = Array.from({ length: 50_000 }, (_, index) => `d${index % 100}/f${index}`);
    assert.equal(clashing(many, [change('d7', 'deleted')]).length, 500);
    const all = many.map((at) => change(at, 'deleted'));
    assert.equal(clashing(many, all).length, 50_000);
  });
});

describe('the plan of an apply', () => {
  it('does every change once where nobody else changed anything', () => {
    fc.assert(
      fc.property(changes, choice, (made, chosen) => {
        const { steps, conflicts } = planApply(made, [], new Set(), { conflicts: chosen });
        assert.deepEqual(conflicts, []);
        assert.deepEqual(
          new Set(steps.map(({ action, path: at }) => `${action} ${at}`)),
          new Set(made.map(({ kind, path: at }) => `${kind === 'deleted' ? 'remove' : 'put'} ${at}`)),
        );
        assert.equal(steps.length, made.length);
      }),
      seeded(300),
    );
  });

  it('is what a naive reading of the rules gives', () => {
    fc.assert(
      fc.property(changes, paths, fc.func(fc.boolean()), choice, (made, clashes, agrees, chosen) => {
        const agreed = new Set(clashes.filter((at) => agrees(at)));
        const open = clashes.filter((at) => !agreed.has(at));
        const modes = new Set(made.filter(isMode).map(({ path: at }) => at));
        const inConflict = (at: string) =>
          open.some(
            (clash) =>
              clash === at || (isHolding(clash, at) && !modes.has(clash)) || (isHolding(at, clash) && !modes.has(at)),
          );
        const { steps, conflicts } = planApply(made, clashes, agreed, { conflicts: chosen });
        assert.deepEqual(conflicts, made.map(({ path: at }) => at).filter(inConflict));
        const wanted = made
          .map(({ path: at }) => at)
          .filter((at) => !agreed.has(at) && (chosen === 'theirs' || !inConflict(at)));
        assert.deepEqual(new Set(steps.map(({ path: at }) => at)), new Set(wanted));
      }),
      seeded(1000),
    );
  });

  it("never touches, on the person's side, a path in conflict, what holds it or what it holds, but for modes", () => {
    fc.assert(
      fc.property(changes, paths, (made, clashes) => {
        const modes = new Set(made.filter(isMode).map(({ path: at }) => at));
        for (const { path: at } of planApply(made, clashes, new Set(), { conflicts: 'ours' }).steps) {
          assert.ok(!clashes.includes(at), at);
          const near = clashes.filter((clash) => related(clash, at));
          assert.ok(
            near.every((clash) => modes.has(clash.length < at.length ? clash : at)),
            at,
          );
        }
      }),
      seeded(500),
    );
  });

  it('removes from the deepest up, then puts from the top down', () => {
    fc.assert(
      fc.property(changes, paths, choice, (made, clashes, chosen) => {
        const { steps } = planApply(made, clashes, new Set(), { conflicts: chosen });
        const firstPut = steps.findIndex(({ action }) => action === 'put');
        if (firstPut >= 0) assert.ok(steps.slice(firstPut).every(({ action }) => action === 'put'));
        steps.forEach((earlier, index) => {
          for (const later of steps.slice(index + 1)) {
            if (earlier.action !== later.action || earlier.path === later.path) continue;
            const [deeper, upper] = earlier.action === 'remove' ? [later, earlier] : [earlier, later];
            assert.ok(!deeper.path.startsWith(`${upper.path}/`), `${earlier.path} before ${later.path}`);
          }
        });
      }),
      seeded(500),
    );
  });

  it('is made at once for many changes and many clashes', () => {
    const made = Array.from({ length: 20_000 }, (_, index) => change(`d/f${index}`, 'modified'));
    const clashes = Array.from({ length: 5_000 }, (_, index) => `d/f${index * 4}`);
    assert.equal(planApply(made, clashes, new Set(), { conflicts: 'refuse' }).conflicts.length, 5_000);
  });
});

describe('what stays takes with it what cannot be done without it', () => {
  const at = (path: string, kind: Change['kind'], type: Change['type'] = 'file', content = true): Change => ({
    ...change(path, kind),
    type,
    content,
  });
  const planned = (list: readonly Change[], clashes: readonly string[], more: Partial<ApplyChoices>) =>
    planApply(list, clashes, new Set(), { conflicts: 'refuse', ...more });
  const removed = [at('d', 'deleted', 'directory'), at('d/a', 'deleted'), at('d/b', 'deleted')];

  it('a directory stays for a file in it that is kept, and the rest of it goes', () => {
    const { steps, undecided } = planned(removed, ['d/a'], { ours: ['d/a'] });
    assert.deepEqual(steps, [{ action: 'remove', path: 'd/b' }]);
    assert.deepEqual(undecided, []);
  });

  it('a file does not take the place of a directory that keeps something', () => {
    const replaced = [at('d', 'modified'), at('d/a', 'deleted'), at('d/b', 'deleted')];
    assert.deepEqual(planned(replaced, [], { only: ['d/b'] }).steps, [{ action: 'remove', path: 'd/b' }]);
    assert.deepEqual(planned(replaced, [], { only: ['d/b'] }).heldBack, ['d', 'd/a']);
  });

  it('the longest path that was named for a side decides, for a path and what is below it', () => {
    const list = [at('d/a', 'modified'), at('d/b/c', 'modified'), at('e', 'modified')];
    const open = ['d/a', 'd/b/c', 'e'];
    const written = (more: Partial<ApplyChoices>) => planned(list, open, more).steps.map(({ path }) => path);
    assert.deepEqual(written({ conflicts: 'ours', ours: ['d'], theirs: ['d/b'] }), ['d/b/c']);
    assert.deepEqual(written({ conflicts: 'theirs', ours: ['.'], theirs: ['d/b/c'] }), ['d/b/c']);
    assert.deepEqual(planned(list, open, { ours: ['d/b'], theirs: ['d'] }).undecided, ['e']);
    assert.deepEqual(
      written({ conflicts: 'ours', ours: ['.'], theirs: ['e'] }),
      ['e'],
      'one letter holds less than all',
    );
    assert.throws(() => refuseBothSides({ ours: ['d'], theirs: ['e', 'd'] }), { code: 'EINVAL', path: 'd' });
    refuseBothSides({ ours: ['d'], theirs: ['e'] });
    refuseBothSides({});
  });

  it('nothing is put into a directory that is not made', () => {
    const made = [at('d', 'added', 'directory'), at('d/x', 'added')];
    const { steps } = planned(made, ['d'], { conflicts: 'ours', theirs: ['d/x'] });
    assert.deepEqual(steps, []);
  });

  it('a directory that only gets another mode neither goes with its files nor keeps them', () => {
    const both = [at('d', 'modified', 'directory', false), at('d/x', 'added')];
    assert.deepEqual(planned(both, [], { only: ['d/x'] }).steps, [{ action: 'put', path: 'd/x' }]);
    const { steps } = planned(both, ['d'], { conflicts: 'ours', theirs: ['d/x'] });
    assert.deepEqual(steps, [{ action: 'put', path: 'd/x' }]);
  });

  it('a directory is not removed from around what is never written', () => {
    const list = [at('d', 'deleted', 'directory'), at('d/.ctx-0123456789abcdef.new', 'deleted')];
    const { steps, leftOut } = planned(list, [], {});
    assert.deepEqual(steps, []);
    assert.deepEqual(leftOut.map(({ path }) => path).sort(), ['d', 'd/.ctx-0123456789abcdef.new']);
  });
});

describe('what stays in the fork for another time', () => {
  const file = (kind: Change['kind']) => (at: string) => change(at, kind);
  const directory =
    (kind: Change['kind'], content = true) =>
    (at: string) =>
      change(at, kind, { type: 'directory', content });
  const makers = [
    ...(['added', 'modified', 'deleted'] as const).map(file),
    ...(['added', 'modified', 'deleted'] as const).map((kind) => directory(kind)),
    otherMode,
  ];
  const kinds = fc.uniqueArray(fc.tuple(path, fc.constantFrom(...makers)), { selector: ([at]) => at, maxLength: 8 });
  const anyChanges = kinds.map((list) =>
    list.sort(([a], [b]) => (a.split('/').join('\0') < b.split('/').join('\0') ? -1 : 1)).map(([at, make]) => make(at)),
  );
  const isMade = ({ kind, type, content }: Change) =>
    type === 'directory' && (kind === 'added' || (kind === 'modified' && content));

  /** By the sentence of `stayingWith`, pair by pair. */
  function withWhatNeedsThem(stays: ReadonlySet<string>, made: readonly Change[]): ReadonlySet<string> {
    const needs = ({ path: at, kind, type }: Change) => {
      const endsIt = kind === 'deleted' || type !== 'directory';
      if (endsIt && [...stays].some((stay) => isHolding(at, stay))) return true;
      return (
        kind !== 'deleted' && made.some((each) => isMade(each) && stays.has(each.path) && isHolding(each.path, at))
      );
    };
    return new Set([...stays, ...made.filter(needs).map(({ path: at }) => at)]);
  }

  it('is what was not asked for or may not be written, but for the directories that the rest needs', () => {
    fc.assert(
      fc.property(anyChanges, paths, fc.option(paths, { nil: undefined }), paths, (made, clashes, only, some) => {
        const withheld = new Set(some);
        const isIn = (at: string) => only === undefined || only.some((top) => top === at || isHolding(top, at));
        const wanted = made.filter(({ path: at }) => !withheld.has(at) && isIn(at));
        const isNeeded = (each: Change) =>
          isMade(each) && wanted.some(({ kind, path: at }) => kind !== 'deleted' && isHolding(each.path, at));
        const unwanted = made.filter((each) => !wanted.includes(each) && !isNeeded(each)).map(({ path: at }) => at);
        const expected = withWhatNeedsThem(new Set(unwanted), made);
        const { heldBack, steps, conflicts, undecided } = planApply(made, clashes, new Set(), {
          conflicts: 'theirs',
          only,
          withheld,
        });
        assert.deepEqual(new Set(heldBack), expected);
        assert.ok([...steps.map(({ path: at }) => at), ...conflicts].every((at) => !expected.has(at)));
        assert.deepEqual(undecided, []);
        assert.equal(steps.length + expected.size, made.length);
      }),
      seeded(1000),
    );
  });

  it('is of no file that may be touched', () => {
    const choices = { conflicts: 'refuse', own: ['tools/ctx'] } as const;
    for (const only of [undefined, ['a'], ['.']]) {
      for (const at of ['a', 'a/b', 'ab', '.ctx', '.ctx/x', '.ctxx', 'tools/ctx', 'tools/ctx/x', 'tools']) {
        const isAsked = only?.[0] !== 'a' || at === 'a' || at === 'a/b';
        const isOwn = /^(\.ctx|tools\/ctx)(\/|$)/.test(at);
        assert.equal(mayTouch(at, { ...choices, only }), isAsked && !isOwn, `${at} of ${only}`);
      }
    }
    assert.ok(mayTouch('a', { conflicts: 'refuse' }));
  });
});

describe('what is never written', () => {
  const leftOut = (...made: Change[]) => planApply(made, [], new Set(), { conflicts: 'theirs' }).leftOut;

  it('is .ctx, what stands for a process or for hardware, and what belongs to them', () => {
    for (const type of ['file', 'symlink', 'fifo', 'socket', 'device', 'directory'] as const) {
      for (const kind of ['added', 'modified', 'deleted'] as const) {
        const stands = (type === 'socket' || type === 'device') && kind !== 'deleted';
        for (const [at, isLeft] of [
          ['x', stands],
          ['.ctxx', stands],
          ['x/.ctx', stands],
          ['.ctx', true],
          ['.ctx/agents', true],
        ] as const) {
          const found = leftOut(change(at, kind, { type }));
          assert.deepEqual(
            found.map(({ path: left, code }) => [left, code]),
            isLeft ? [[at, 'ENOTSUP']] : [],
            `${kind} ${type} ${at}`,
          );
        }
      }
    }
    const [inside, directory] = leftOut(
      change('d', 'deleted', { type: 'directory' }),
      change('d/.ctx-0123456789abcdef.old', 'deleted'),
    );
    assert.equal(new Set([directory?.reason, inside?.reason, undefined]).size, 3, 'each has a reason of its own');
  });
});

describe('what ctx keeps of its own among files of the person', () => {
  const own = ['tools/ctx'];
  const left = (...made: Change[]) =>
    planApply(made, [], new Set(), { conflicts: 'theirs', own }).leftOut.map(({ path: at }) => at);

  it('is never written, and what it stands in is neither deleted nor replaced', () => {
    assert.deepEqual(left(change('tools/ctx', 'modified')), ['tools/ctx']);
    assert.deepEqual(left(change('tools/ctx/agents.toml', 'added')), ['tools/ctx/agents.toml']);
    assert.deepEqual(left(change('tools', 'deleted', { type: 'directory' })), ['tools']);
    assert.deepEqual(left(change('tools', 'modified')), ['tools'], 'a file in its place');
    assert.deepEqual(left(otherMode('tools')), [], 'a mode of the directory is no end of it');
    assert.deepEqual(left(change('tools/ctxx', 'added'), change('tool', 'deleted')), []);
  });
});

it('conflicts at more paths than a call takes arguments are refused as one is', async () => {
  const paths = Array.from({ length: 130_000 }, (_, number) => `file-${number}`);
  const fork = {
    vault: { roots: { workspace: '/project' } },
    meta: { base: [], deltas: [], live: 'live', clashes: paths },
    paths: { tree: () => '/nowhere' },
    owner: { shift: 0 },
    tree: { compare: async () => new Map() },
  } as unknown as OpenFork;
  const changes = new Map([['workspace', paths.map((at) => change(at, 'modified'))]]);
  const { undecided } = await planRoots(fork, changes, { conflicts: 'refuse' }, undefined);
  assert.equal(undecided.length, paths.length);
});
