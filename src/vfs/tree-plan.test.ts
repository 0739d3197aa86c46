/** What a plan says of its engines: each of them, alone, in an overlay and in a table. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EngineSpecification } from './specification.js';
import {
  backingOf,
  checkedPlan,
  enginesOf,
  isShared,
  isWritable,
  type Source,
  type TreePlan,
  withEngines,
  writtenEngines,
} from './tree-plan.js';

const engines = {
  memory: { engine: 'memory' },
  host: { engine: 'host', path: '/srv' },
  chunked: { engine: 'chunked', file: '/f' },
  snapshot: { engine: 'chunked', file: '/f', snapshot: 's' },
  s3: { engine: 's3', bucket: 'b', prefix: '' },
  webdav: { engine: 'webdav', url: 'http://x/' },
  rclone: { engine: 'rclone', remote: 'r:' },
} as unknown as Readonly<Record<string, EngineSpecification>>;
const { memory, host, chunked, snapshot } = engines as Readonly<
  Record<'memory' | 'host' | 'chunked' | 'snapshot', EngineSpecification>
>;
const plan = (source: Source, writable?: boolean, isTable = false): TreePlan => ({
  isTable,
  mounts: [{ path: [], source, writable }],
});
const over = (upper: Source, ...lower: readonly Source[]): Source => ({ engine: 'overlay', upper, lower });

describe('a plan of a tree', () => {
  it('says what of this machine each engine shows or is kept in', () => {
    const backings = Object.fromEntries(Object.entries(engines).map(([name, engine]) => [name, backingOf(engine)]));
    const file = { path: '/f', kind: 'file' };
    assert.deepEqual(backings, {
      memory: undefined,
      host: { path: '/srv', kind: 'directory' },
      chunked: file,
      snapshot: file,
      s3: undefined,
      webdav: undefined,
      rclone: undefined,
    });
  });

  it('says who else may change it: others do where a tree is only read, and always where it is not ours', () => {
    const shared = (writable: boolean) =>
      Object.keys(engines).filter((name) => isShared(plan(engines[name] as Source), writable));
    assert.deepEqual(shared(true), ['host', 's3', 'webdav', 'rclone']);
    assert.deepEqual(shared(false), ['host', 'chunked', 's3', 'webdav', 'rclone']);
    const overlays: readonly (readonly [Source, boolean])[] = [
      [over(memory, memory), false],
      [over(chunked, snapshot), false],
      [over(memory, chunked), true],
      [over(memory, snapshot, host), true],
      [over(host, memory), true],
      [over(over(memory, chunked), memory), true],
    ];
    for (const [source, expected] of overlays)
      assert.equal(isShared(plan(source), true), expected, JSON.stringify(source));
    assert.equal(isShared({ isTable: true, mounts: [...plan(memory).mounts, ...plan(host).mounts] }, true), true);
  });

  it('is written to where that was asked for, and by itself only where nothing of the person’s changes', () => {
    const written = (asked: boolean | undefined, ofMount: boolean | undefined, isTable: boolean) =>
      [...Object.keys(engines), 'overlay'].filter((name) => {
        const whole = plan(engines[name] ?? over(memory, host), ofMount, isTable);
        return isWritable(whole, whole.mounts[0] as TreePlan['mounts'][number], asked);
      });
    const all = [...Object.keys(engines), 'overlay'];
    const ours = ['memory', 'chunked', 'overlay'];
    assert.deepEqual(
      [written(true, undefined, false), written(false, undefined, false), written(undefined, undefined, false)],
      [all, [], ours],
    );
    assert.deepEqual(
      [written(true, true, true), written(true, undefined, true), written(true, false, true)],
      [all, ours, []],
    );
    assert.deepEqual([written(undefined, true, true), written(false, true, true)], [all, []]);
    assert.deepEqual(writtenEngines(plan(over(over(chunked, host), host)), true), [chunked]);
    assert.deepEqual(writtenEngines(plan(host), undefined), []);
  });

  it('has every engine of its overlays, each of which can be another', () => {
    const whole = plan(over(memory, over(host, chunked)));
    assert.deepEqual(enginesOf(whole), [memory, host, chunked]);
    const changed = withEngines(whole, (engine) => (engine === host ? snapshot : engine));
    assert.deepEqual(enginesOf(changed), [memory, snapshot, chunked]);
  });

  it('is refused where it was written otherwise', () => {
    const good = plan(over(memory, ...Object.values(engines)), true, true);
    assert.equal(checkedPlan(good), good);
    for (const bad of [
      undefined,
      {},
      { mounts: [] },
      { isTable: true, mounts: [{ path: 'a', source: memory }] },
      plan({ engine: 'other' } as never),
      plan({ engine: 'host' } as never),
      plan({ engine: 'toString' } as never),
      plan(over(memory, {} as never)),
      plan(memory, 'yes' as never),
    ]) {
      assert.throws(() => checkedPlan(bad), JSON.stringify(bad));
    }
  });
});
