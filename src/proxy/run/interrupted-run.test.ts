import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { agentChain, personChain } from '../../audit/layout.js';
import type { RecordEntry } from '../../audit/record.js';
import { bodiesOf, recordPlace } from '../../audit/record-fixture.js';
import type { Host } from '../host.js';
import { endInterrupted, openBeginning } from './interrupted-run.js';

const place = recordPlace();
const recorder = place.recorder();
after(() => place.remove());
const host = { audit: { record: place.directory }, recorder } as unknown as Host;

const run = (name: string, status: RecordEntry['status'], more: Partial<RecordEntry> = {}) =>
  recorder.append({ type: 'exec', object: 'fork/v/main', status, facts: { run: name, command: 'x' }, ...more });

it('a run is given an end once, and only where the record has its beginning and nothing else of it', () => {
  run('killed', 'begin');
  for (const status of ['ok', 'failed', 'denied'] as const) {
    run(status, 'begin');
    run(status, status);
    run(`only ${status}`, status);
  }
  run('of another', 'begin', { type: 'apply' });
  run('of an agent', 'begin', { agent: 'ada' });
  const isOpen = (name: string, agent: string | null = null) => openBeginning(host, { run: name, agent }) !== undefined;

  assert.ok(isOpen('killed') && isOpen('of an agent', 'ada'));
  const others = ['ok', 'failed', 'denied'].flatMap((name) => [name, `only ${name}`]);
  for (const name of [...others, 'of another', 'of an agent', 'unknown']) assert.equal(isOpen(name), false, name);
  assert.equal(isOpen('killed', 'ada'), false, 'a chain has its own runs');

  for (const [name, agent, chain] of [
    ['killed', null, personChain],
    ['of an agent', 'ada', agentChain('ada')],
  ] as const) {
    const begun = openBeginning(host, { run: name, agent });
    assert.ok(begun !== undefined);
    endInterrupted(host, begun, { changes: ['added a'], stateAfter: null });
    const { type, object, status, facts } = bodiesOf(place.directory, chain).at(-1) ?? {};
    assert.deepEqual([type, object, status], ['exec', 'fork/v/main', 'failed']);
    assert.deepEqual(facts, { run: name, command: 'x', interrupted: true, changes: ['added a'], stateAfter: null });
    assert.equal(isOpen(name, agent), false, 'it has an end now');
  }
});
