/** Changes of objects at one time: each is made of what the one before it has left, whoever makes it. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, mock } from 'node:test';
import type { RecordEntry } from '../../audit/record.js';
import { childrenOfAgent } from '../../base/limits/objects.js';
import { agentNamed, childrenOf } from '../../objects/agent.js';
import { testHost } from '../../proxy/host-fixture.js';
import { type AgentGrant, Agents } from './agents.js';
import { createChild } from './child-agents.js';

const { host, base } = testHost({ agents: async (name) => agentNamed(host, name) });
const agents = new Agents(host);
const connect = (number: number): AgentGrant => ({ kind: 'connect', host: `h${number}.example:443` });
const hostsOf = (name: string) => (agents.show(name).files['network'] ?? '').split('\n').filter(Boolean).sort();
const numbers = Array.from({ length: 6 }, (_, number) => number);
const hosts = (some: readonly number[]) => some.map((number) => `h${number}.example:443`);

/** Each in a turn of its own, as processes that were started at once. */
const atOnce = (changes: readonly (() => Promise<unknown>)[]) => Promise.all(changes.map((change) => change()));

describe('changes of an agent at one time', () => {
  it('leave all that was granted', async () => {
    await agents.make('ada');
    await atOnce(numbers.map((number) => () => agents.grant('ada', connect(number), base)));
    assert.deepEqual(hostsOf('ada'), hosts(numbers));
    const permissions = numbers.map((number): AgentGrant => {
      return { kind: 'permission', class: 'tool', name: `t${number}`, permission: 'execute' };
    });
    await atOnce(permissions.map((grant) => () => agents.grant('ada', grant, base)));
    for (const number of numbers)
      assert.match(agents.show('ada').files['policy'] ?? '', new RegExp(`tool:t${number} `));
  });

  it('bring nothing back that was taken away', async () => {
    await agents.make('bob');
    for (const number of numbers) await agents.grant('bob', connect(number), base);
    const [taken, left] = [numbers.slice(0, 3), numbers.slice(3)];
    const granted = [10, 11, 12];
    await atOnce([
      ...taken.map((number) => () => agents.revoke('bob', connect(number))),
      ...granted.map((number) => () => agents.grant('bob', connect(number), base)),
    ]);
    assert.deepEqual(hostsOf('bob'), hosts([...left, ...granted]).sort());
  });

  it('leave no agent whose parent was removed while it was made', async () => {
    await agents.make('top', { spec: { policy: 'allow top_t agent:leaf create\n' } });
    const { recorder } = host;
    const append = recorder.append.bind(recorder);
    let removed: Promise<unknown> | undefined;
    mock.method(recorder, 'append', (entry: RecordEntry) => {
      // Everything was judged, and nothing is there yet.
      if (entry.type === 'agent.new' && entry.status === 'begin') removed = agents.remove('top');
      append(entry);
    });
    await createChild(host, 'top', 'leaf', {}, base).finally(() => mock.restoreAll());
    assert.ok(removed !== undefined);
    await assert.rejects(removed, { code: 'EBUSY' });
    assert.deepEqual(childrenOf(host, 'top'), ['leaf']);
    assert.equal(agents.show('top').name, 'top');
  });

  it('of two that remove it let one say so', async () => {
    await agents.make('once');
    const done = await Promise.allSettled(numbers.map(() => agents.remove('once')));
    assert.equal(done.filter(({ status }) => status === 'fulfilled').length, 1);
  });

  it('make no more children than an agent may have', async () => {
    const policy = ['one', 'two', 'three'].map((name) => `allow parent_t agent:${name} create\n`).join('');
    await agents.make('parent', { spec: { policy } });
    for (let number = 2; number <= childrenOfAgent; number += 1) {
      const directory = join(host.root, 'agent', `child${number}.d`);
      mkdirSync(directory, { recursive: true });
      writeFileSync(join(directory, 'parent'), 'agent:parent\n');
    }
    const made = await Promise.allSettled(
      ['one', 'two', 'three'].map((name) => createChild(host, 'parent', name, {}, base)),
    );
    const codes = made.map((each) => (each.status === 'fulfilled' ? 'made' : (each.reason as { code: string }).code));
    assert.deepEqual(codes.sort(), ['EDQUOT', 'EDQUOT', 'made']);
    assert.equal(childrenOf(host, 'parent').length, childrenOfAgent);
  });
});
