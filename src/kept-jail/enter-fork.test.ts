/** A command that joins what is mounted goes on from the state that the fork has by then, whoever has added to it. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { saveCheckpoint } from '../vault/forks/checkpoint.js';
import { freshVault } from '../vault/forks/vault-fixture.js';
import { readForkMeta } from '../vault/store/fork-meta.js';
import { type OpenFork, withMeta } from '../vault/vault.js';
import type { DecidedCommand } from './decided-command.js';
import { joinMounted } from './enter-fork.js';
import type { MountedFork } from './equipment.js';

const { write, withFork, command } = freshVault();

function join(fork: OpenFork, checkpoint: number, seen: OpenFork[]) {
  const member = { others: async () => [], worker: { checkpoint }, came: () => undefined };
  const permission = { confirm: async (found: OpenFork) => void seen.push(found) };
  const decided = { resolved: { permission, roots: [] }, request: { argv: ['make', 'it'] } };
  return joinMounted({ fork, member } as unknown as MountedFork, decided as unknown as DecidedCommand, false);
}

it('keeps what another process has written to it since it was mounted, and adds its own', async () => {
  write('project/own', 'mine');
  await command(() => undefined);
  await withFork(async (opened) => {
    const { fork, checkpoint } = saveCheckpoint(opened, { automatic: true, reason: 'first' });
    withMeta(fork, { ...fork.meta, clashes: ['own'] }, { durable: false });
    const seen: OpenFork[] = [];
    const ready = await join(fork, checkpoint.id, seen);
    const states = [ready.fork.meta, seen[0]?.meta, readForkMeta(fork.place.directory)];
    assert.deepEqual([ready.clashes, ...states.map((meta) => meta?.clashes)], [['own'], ['own'], ['own'], ['own']]);
    const beside = states.map((meta) => meta?.checkpoints.find(({ id }) => id === checkpoint.id)?.beside);
    assert.deepEqual(beside, [['make it'], undefined, ['make it']]);
  });
});
