import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cancelGraceMilliseconds } from '../../base/limits/commands.js';
import type { RunningJail } from '../../jail/launch.js';
import { endedBy } from './cancellation.js';

function command() {
  const told: string[] = [];
  let end: () => void = () => undefined;
  const done = new Promise<void>((resolve) => {
    end = resolve;
  });
  const running = { done, signal: (name: string) => told.push(name), kill: () => told.push('killed') };
  return { told, end: () => end(), running: running as unknown as RunningJail };
}

test('a command is asked to end when it is not wanted any more, and killed after a grace, not before', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  for (const isLate of [false, true]) {
    const controller = new AbortController();
    const { told, running } = command();
    if (isLate) controller.abort();
    endedBy(controller.signal)(running);
    if (!isLate) assert.deepEqual(told, []);
    controller.abort();
    assert.deepEqual(told, ['SIGTERM']);
    t.mock.timers.tick(cancelGraceMilliseconds - 1);
    assert.deepEqual(told, ['SIGTERM']);
    t.mock.timers.tick(1);
    assert.deepEqual(told, ['SIGTERM', 'killed']);
  }
});

test('a command that has ended is neither asked nor killed', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  for (const isAsked of [false, true]) {
    const controller = new AbortController();
    const { told, end, running } = command();
    endedBy(controller.signal)(running);
    if (isAsked) controller.abort();
    end();
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
    controller.abort();
    t.mock.timers.tick(2 * cancelGraceMilliseconds);
    assert.deepEqual(told, isAsked ? ['SIGTERM'] : []);
  }
  endedBy(undefined)(command().running);
});
