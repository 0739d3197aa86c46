import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Json } from '../base/canonical-json.js';
import { blame } from './blame.js';
import type { FoundRecord } from './query.js';

let clock = 0;
const time = () => {
  clock += 1;
  return new Date(clock * 1000).toISOString();
};

function record(
  type: string,
  status: 'begin' | 'ok' | 'failed',
  facts: Record<string, Json>,
  fork = 'main',
): FoundRecord {
  const body = { agent: null, facts, object: `fork/1/${fork}`, seq: clock, session: null, status, ts: time(), type };
  return { chain: 'person', head: '', body };
}

const origin = '/p';
const exec = (name: string, changes: readonly string[], fork?: string) =>
  record('exec', 'ok', { origin, argv: [name], changes }, fork);
const commandOf = (records: readonly FoundRecord[], path: string) => {
  const found = blame(records, origin, path);
  return found === undefined ? undefined : [found.state, found.change, found.command.body.facts?.['argv']?.toString()];
};

describe('blame', () => {
  it('is the last command that changed the path, in whatever order others changed others', () => {
    const records = [exec('one', ['added a', 'added b']), exec('two', ['modified a']), exec('three', ['modified b'])];
    assert.deepEqual(commandOf(records, 'a'), ['pending', 'modified', 'two']);
    assert.deepEqual(commandOf(records, 'b'), ['pending', 'modified', 'three']);
    assert.equal(commandOf(records, 'c'), undefined);
    assert.equal(blame(records, '/other', 'a'), undefined);
  });

  it('knows what went or came with its directory, and not what was modified beside it', () => {
    const records = [exec('one', ['deleted old', 'modified near'])];
    assert.deepEqual(commandOf(records, 'old/inner'), ['pending', 'deleted', 'one']);
    assert.equal(commandOf(records, 'near/inner'), undefined);
  });

  it('follows apply, drop and rollback', () => {
    const first = exec('one', ['added a']);
    const apply = record('apply', 'ok', { origin });
    assert.deepEqual(commandOf([first, apply], 'a'), ['applied', 'added', 'one']);
    const second = exec('two', ['modified a']);
    assert.deepEqual(commandOf([first, apply, second], 'a'), ['pending', 'modified', 'two']);
    const made = time();
    const third = exec('three', ['modified a']);
    const back = record('rollback', 'ok', { made, paths: [] });
    assert.deepEqual(commandOf([first, apply, second, third, back], 'a'), ['pending', 'modified', 'two']);
    const other = record('rollback', 'ok', { made, paths: ['b'] });
    assert.deepEqual(commandOf([first, apply, second, third, other], 'a'), ['pending', 'modified', 'three']);
    const drop = record('drop', 'ok', { origin });
    assert.deepEqual(commandOf([first, apply, second, third, drop], 'a'), ['applied', 'added', 'one']);
  });

  it('takes nothing for undone that failed', () => {
    const failed = (type: string) => [
      record(type, 'begin', { made: '', paths: [] }),
      record(type, 'failed', { made: '' }),
    ];
    for (const type of ['drop', 'rollback', 'fork delete']) {
      assert.deepEqual(commandOf([exec('one', ['added a']), ...failed(type)], 'a'), ['pending', 'added', 'one']);
    }
  });

  it('keeps forks apart, and names a command that ran on the directory itself since', () => {
    const one = exec('one', ['added a'], 'main');
    const two = exec('two', ['added a'], 'other');
    const drop = record('drop', 'ok', { origin }, 'other');
    assert.deepEqual(commandOf([one, two, drop], 'a'), ['pending', 'added', 'one']);
    const apply = record('apply', 'ok', { origin }, 'main');
    const live = record('exec', 'ok', { origin, live: true, argv: ['rm'] }, 'none');
    assert.equal(blame([one, apply, live], origin, 'a')?.live, live);
  });

  it('is pending again after an undone apply, and as the apply before left it after the next drop', () => {
    const apply = () => record('apply', 'ok', { origin, steps: ['put a'], heldBack: [] });
    const undo = (status: 'begin' | 'ok' | 'failed') => record('apply undo', status, { origin });
    const once = [exec('one', ['added a']), apply()];
    assert.deepEqual(commandOf([...once, undo('begin'), undo('failed')], 'a'), ['applied', 'added', 'one']);
    assert.deepEqual(commandOf([...once, undo('ok')], 'a'), ['pending', 'added', 'one']);
    const empty = record('apply', 'ok', { origin, steps: [], heldBack: [] });
    assert.deepEqual(commandOf([...once, empty, undo('ok')], 'a'), ['pending', 'added', 'one']);
    assert.equal(commandOf([...once, undo('ok'), record('drop', 'ok', { origin })], 'a'), undefined);
    const twice = [...once, exec('two', ['modified a']), apply(), exec('three', ['modified a']), undo('ok')];
    assert.deepEqual(commandOf(twice, 'a'), ['pending', 'modified', 'two']);
    const forgotten = [...twice, record('drop', 'ok', { origin })];
    assert.deepEqual(commandOf(forgotten, 'a'), ['applied', 'added', 'one']);
    assert.deepEqual(commandOf([...twice, undo('ok')], 'a'), ['pending', 'added', 'one']);
    const others = [...once, exec('two', ['modified b'], 'other'), record('apply', 'ok', { origin }, 'other')];
    assert.deepEqual(commandOf([...others, undo('ok')], 'b'), ['applied', 'modified', 'two']);
  });

  it('knows what an apply held back, left as it was, or wrote to another directory', () => {
    const first = exec('one', ['added a', 'added b', 'added c', 'deleted old', 'deleted gone']);
    const some = record('apply', 'ok', { origin, steps: ['put a', 'remove old'], heldBack: ['b', 'gone'] });
    assert.deepEqual(commandOf([first, some], 'a'), ['applied', 'added', 'one']);
    assert.deepEqual(commandOf([first, some], 'old/inner'), ['applied', 'deleted', 'one']);
    assert.deepEqual(commandOf([first, some], 'b'), ['pending', 'added', 'one']);
    assert.deepEqual(commandOf([first, some], 'gone/inner'), ['pending', 'deleted', 'one']);
    assert.equal(commandOf([first, some], 'c'), undefined);
    const elsewhere = record('apply', 'ok', { origin, to: '/q', steps: ['put a'] });
    assert.deepEqual(commandOf([first, elsewhere], 'a'), ['pending', 'added', 'one']);
  });

  it('is the newest of several forks, in whatever order they were made', () => {
    const forks = ['one', 'two', 'three'];
    for (const newest of forks) {
      const first = forks.map((fork) => exec(`first ${fork}`, ['added a'], fork));
      const rest = forks.filter((fork) => fork !== newest).map((fork) => exec(`rest ${fork}`, ['modified a'], fork));
      const last = exec(`last ${newest}`, ['modified a'], newest);
      assert.deepEqual(commandOf([...first, ...rest, last], 'a'), ['pending', 'modified', `last ${newest}`]);
    }
  });
});
