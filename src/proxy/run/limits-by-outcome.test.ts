import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Authority } from '../../authority/authority.js';
import { limitWarningPercent } from '../../base/limits/commands.js';
import type { RunningJail } from '../../jail/launch.js';
import type { Outcome } from '../../jail/report.js';
import { LimitEvents } from '../report/limit-events.js';
import { limitsOf } from './run.js';
import { limitsByOutcome, withTimeout } from './time-limit.js';

const eventsOf = () => new LimitEvents(() => new Date(0));
const told = (events: LimitEvents) => events.all.map(({ limit, percent, used, most }) => [limit, percent, used, most]);

describe('limits that only the end of a command tells of', () => {
  const limits = (outcome: Partial<Outcome>, quota: Partial<Authority['quota']>) => {
    const events = eventsOf();
    const found = limitsByOutcome({ exitCode: 0, signal: null, ...outcome } as Outcome, { quota } as Authority, events);
    return { ...found, told: told(events) };
  };

  it('are a file that would have been too long for the disk limit, and no other', () => {
    assert.deepEqual(limits({ signal: 'SIGXFSZ' }, { disk: 4096 }), {
      beyond: ['disk limit reached: a single file would have exceeded 4096 bytes'],
      held: [],
      told: [['disk', 100, 4096, 4096]],
    });
    for (const [signal, quota] of [
      ['SIGXFSZ', {}],
      ['SIGXCPU', { disk: 4096 }],
      [null, { disk: 4096 }],
    ] as const) {
      assert.deepEqual(limits({ signal }, quota), { beyond: [], held: [], told: [] });
    }
  });

  it('are processes, where as many were seen as there may be', () => {
    assert.deepEqual(limits({ crowded: { threads: 7, most: 8 } }, {}), {
      beyond: [],
      held: ['process limit reached: 7 processes and threads of at most 8 were seen'],
      told: [['pids', 100, 8, 8]],
    });
  });
});

describe('limits that were reached', () => {
  const none = { beyond: [], held: [] };

  it('fail the run where they are of what it may write', () => {
    assert.deepEqual(limitsOf([], [], none), { limitsReached: [] });
    assert.deepEqual(limitsOf(['memory limit: x'], [], { beyond: [], held: ['process limit: y'] }), {
      limitsReached: ['memory limit: x', 'process limit: y'],
    });
    const limitError = (reason: string) => ({ code: 'EDQUOT', reason });
    assert.deepEqual(limitsOf([], ['disk: a', 'files: b'], { beyond: ['disk: c'], held: [] }), {
      limitsReached: ['disk: a', 'files: b', 'disk: c'],
      limitError: limitError('disk: a'),
    });
    assert.deepEqual(limitsOf([], [], { beyond: ['disk: c'], held: [] }).limitError, limitError('disk: c'));
  });

  it('are said once, as whoever held them counted', () => {
    const { limitsReached } = limitsOf(['process limit: 8'], [], { beyond: [], held: ['process limit: 7', 'x: 1'] });
    assert.deepEqual(limitsReached, ['process limit: 8', 'x: 1']);
  });
});

describe('the time of a command', () => {
  /** One that ends by the signal that it does not ignore. */
  function jailOf(ignores: readonly string[] = []) {
    const got: string[] = [];
    let end: (outcome: Outcome) => void = () => undefined;
    const done = new Promise<Outcome>((resolve) => {
      end = resolve;
    });
    const by = (signal: string) => {
      got.push(signal);
      if (!ignores.includes(signal)) end({ signal } as Outcome);
    };
    const jail = { started: Promise.resolve(), done, signal: by, kill: () => by('SIGKILL') };
    return { got, end, jail: jail as unknown as RunningJail };
  }

  it('is warned of, then asked to end, then made to', { timeout: 60_000 }, async () => {
    const { got, jail } = jailOf(['SIGTERM']);
    const events = eventsOf();
    const [outcome, timedOut] = await withTimeout(jail, 50, events);
    assert.deepEqual([outcome.signal, timedOut, got], ['SIGKILL', true, ['SIGTERM', 'SIGKILL']]);
    assert.deepEqual(told(events), [
      ['wallTime', limitWarningPercent, 40, 50],
      ['wallTime', 100, 50, 50],
    ]);
  });

  it('is up where it ends when it is asked to, and not where it ended before, or has no limit', async () => {
    const polite = jailOf();
    assert.deepEqual(await withTimeout(polite.jail, 1, eventsOf()), [{ signal: 'SIGTERM' }, true]);
    assert.deepEqual(polite.got, ['SIGTERM']);
    for (const milliseconds of [undefined, 60_000]) {
      const quick = jailOf();
      const events = eventsOf();
      setImmediate(() => quick.end({ exitCode: 0 } as Outcome));
      assert.deepEqual(await withTimeout(quick.jail, milliseconds, events), [{ exitCode: 0 }, false]);
      assert.deepEqual([quick.got, events.all], [[], []]);
    }
  });
});
