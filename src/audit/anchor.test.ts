/** What an anchor holds against what the chain says it was given: every state that an anchor can be in. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { type AnchorPoint, type AnchorState, compareAnchor, extended, nothingExtended } from './anchor.js';

const root = 'a'.repeat(64);
const headOf = (seq: number) => seq.toString(16).padStart(64, '0');
const headAt = (seq: number) => (seq <= 40 ? headOf(seq) : undefined);

/** Seals number `first`, `first + 1` and so on. */
const sealedOnce = (count: number, first = 1): AnchorPoint[] =>
  Array.from({ length: count }, (_, index) => {
    const seq = 10 * (index + 1);
    return { counter: first + index, seq, head: headOf(seq), root };
  });

/** Each finding as `grave` or `behind`, with the record that it is about. */
function found(state: AnchorState, sealed: readonly AnchorPoint[], begins: string | undefined = root) {
  return compareAnchor(state, sealed, headAt, begins).map(
    ({ grave, seq }) => `${grave ? 'grave' : 'behind'}${seq === undefined ? '' : ` ${seq}`}`,
  );
}

describe('an anchor', () => {
  it('that is empty is behind by one seal, or was emptied', () => {
    const told = [0, 1, 2, 3].map((count) => found({ kind: 'empty' }, sealedOnce(count)));
    assert.deepEqual(told, [[], ['behind 10'], ['grave 20'], ['grave 30']]);
  });

  it('that keeps points has all of them, or all but the last', () => {
    for (const count of [1, 2, 3]) {
      const sealed = sealedOnce(count, 7);
      const held = (points: readonly AnchorPoint[]) => found({ kind: 'points', points }, sealed);
      assert.deepEqual(held(sealed), []);
      assert.deepEqual(held(sealed.slice(0, -1)), [`behind ${10 * count}`]);
      assert.deepEqual(
        held([...sealed, { counter: 99, seq: 40, head: headOf(40), root }]),
        [],
        'one that it failed with',
      );
    }
    assert.deepEqual(found({ kind: 'points', points: [] }, []), []);
  });

  it('that keeps points finds each that the chain does not have, and does not say that it is behind, too', () => {
    const sealed = sealedOnce(3);
    for (const [index, point] of sealed.entries()) {
      const changed = (more: Partial<AnchorPoint>) => {
        const points = sealed
          .slice(0, 2)
          .with(Math.min(index, 1), { ...(sealed[Math.min(index, 1)] ?? point), ...more });
        return found({ kind: 'points', points }, sealed);
      };
      const at = 10 * (Math.min(index, 1) + 1);
      assert.deepEqual(changed({ head: headOf(99) }), [`grave ${at}`], 'another head');
      assert.deepEqual(changed({ seq: 41 }), ['grave 41'], 'a record that is not there');
    }
  });

  it('that keeps points has their counters go up', () => {
    const [one, two, three] = sealedOnce(3) as [AnchorPoint, AnchorPoint, AnchorPoint];
    const counted = (...counters: readonly number[]) => {
      const points = [one, two, three].map((point, index) => ({ ...point, counter: counters[index] ?? 0 }));
      return found({ kind: 'points', points }, [one]);
    };
    assert.deepEqual(counted(1, 2, 3), []);
    assert.deepEqual(counted(1, 5, 9), []);
    assert.deepEqual(counted(1, 1, 2), ['grave 20']);
    assert.deepEqual(counted(3, 2, 1), ['grave 20', 'grave 30']);
    assert.deepEqual(counted(1, 3, 3), ['grave 30']);
  });

  it('belongs to a record that begins with the same key', () => {
    const [one, two] = sealedOnce(2) as [AnchorPoint, AnchorPoint];
    const other = 'b'.repeat(64);
    const held = (points: readonly AnchorPoint[], begins?: string) =>
      found({ kind: 'points', points }, [one, two], begins);
    assert.deepEqual(held([one, { ...two, root: other }], root), ['grave']);
    assert.deepEqual(held([{ ...one, root: other }, two], root), [], 'the last one counts');
    assert.deepEqual(compareAnchor({ kind: 'points', points: [one, two] }, [one, two], headAt, undefined), []);
  });

  it('that can only be extended has the value and the counter of the last seal, or is in the middle of it', () => {
    for (const count of [0, 1, 2, 3]) {
      const sealed = sealedOnce(count, 5);
      const values = [nothingExtended];
      for (const { head } of sealed) {
        const both = Buffer.from(`${values.at(-1)}${head}`, 'hex');
        values.push(createHash('sha256').update(both).digest('hex'));
        assert.equal(extended(values.at(-2) ?? '', head), values.at(-1));
      }
      const newest = 4 + count;
      for (const [index, value] of [...values, 'c'.repeat(64)].entries()) {
        for (const counter of [newest - 2, newest - 1, newest, newest + 1]) {
          const isWhole = index === count && (count === 0 || counter === newest);
          const isMiddle = count > 0 && counter === newest - 1 && (index === count || index === count - 1);
          const expected = isWhole ? [] : isMiddle ? [`behind ${10 * count}`] : ['grave'];
          assert.deepEqual(
            found({ kind: 'extended', counter, value }, sealed),
            expected,
            `${count} seals, value ${index}, counter ${counter}`,
          );
        }
      }
    }
  });
});
