import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Agent } from '../../authority/agent.js';
import type { Host } from '../../proxy/host.js';
import { assertOwnAgent } from './agent-creation.js';

test('a person makes agents of their own ids alone, each of the three, and root anybody’s', () => {
  const ids = [0, 1_000, 1_001];
  for (const [uid, gid] of [
    [1_000, 1_000],
    [1_000, 1_001],
    [0, 0],
  ] as const) {
    for (const owner of ids) {
      for (const ofAgent of ids) {
        for (const group of ids) {
          const agent = { name: 'a', identity: { owner, uid: ofAgent, gid: group } } as unknown as Agent;
          const act = () => assertOwnAgent({ uid, gid } as Host, agent);
          if (uid === 0 || (owner === uid && ofAgent === uid && group === gid)) act();
          else assert.throws(act, { code: 'EPERM' }, `${owner} ${ofAgent}:${group} by ${uid}:${gid}`);
        }
      }
    }
  }
});
