/** Limits as a whole: each is a round number, so that a slip of the hand shows, and those that belong together are in their order. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import * as commands from './commands.js';
import * as decisions from './decisions.js';
import * as network from './network.js';
import * as objects from './objects.js';
import * as store from './store.js';
import * as trees from './trees.js';

const all = Object.entries({ ...commands, ...decisions, ...network, ...objects, ...store, ...trees });
const hour = 3_600_000;

/** A power of two, whole hours, or of one or two digits and zeros; also of KiB, or of MiB. */
const isRound = (value: number): boolean =>
  Number.isInteger(Math.log2(value)) ||
  value % hour === 0 ||
  /^[1-9]\d?0*$/.test(String(value)) ||
  (value % 1024 === 0 && isRound(value / 1024));

/** One less than the kernel has room for, with its end; a share of the machine. */
const others = new Set(['pathBytes', 'keeperMemoryShare']);

it('a limit is a round number above zero', () => {
  const numbers = all.flatMap(([name, value]): [string, unknown][] =>
    typeof value === 'object'
      ? Object.entries(value).map(([member, each]) => [`${name}.${member}`, each])
      : [[name, value]],
  );
  const odd = numbers.filter(
    ([name, value]) => typeof value === 'number' && !others.has(name) && !(value > 0 && isRound(value)),
  );
  assert.deepEqual(odd, []);
  assert.ok(numbers.length > 150);
});

it('limits that belong together are in their order', () => {
  const rows: readonly (readonly number[])[] = [
    [commands.joinAgainMilliseconds, commands.joinAgainMostMilliseconds, commands.joinPatienceMilliseconds],
    [commands.keeperShortIdleMilliseconds, commands.keeperIdleMilliseconds, commands.keeperLifeMilliseconds],
    [commands.pipeRestBytes, commands.capturedOutputBytes, commands.outputFileBytes],
    [decisions.hookInputMilliseconds, decisions.hookMilliseconds],
    [decisions.hookCommandBytes, decisions.hookInputBytes],
    [
      decisions.approvalWaitMilliseconds,
      decisions.approvalUseMilliseconds,
      decisions.approvalSessionMilliseconds,
      decisions.approvalKeptMilliseconds,
    ],
    [network.networkFirstBulkBytes, network.networkBulkBytes],
    [network.networkHeadMilliseconds, network.networkConnectMilliseconds, network.networkIdleMilliseconds],
    [network.secretRetryMilliseconds, network.secretFreshMilliseconds],
    [objects.sourceToolBytes, objects.sourceMessageBytes - 1, objects.sourceListBytes, objects.sourceUnaskedBytes],
    [store.diffedFileBytes, store.fullyDiffedFileBytes, store.diffedBytesAtOnce],
    [store.followMilliseconds, store.followFirstMilliseconds, store.followMostMilliseconds],
    [store.gitTextBytes, store.gitListBytes, store.gitIndexBytes, store.gitTakenBytes, store.gitMemoryKilobytes * 1024],
    [store.layersBeforeMerge, store.layersWithoutMerge],
    [store.stateDigestBytes, store.stateDigestMostBytes],
    [store.appliesKept, store.automaticCheckpoints],
  ];
  for (const row of rows)
    assert.deepEqual(
      [...new Set(row)].sort((left, right) => left - right),
      row,
    );
});
