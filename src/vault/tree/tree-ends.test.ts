/** A tree program whose reader or caller is gone ends: it holds a lock, a disk and a vault that others wait for. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { openSync, truncateSync } from 'node:fs';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive } from '../../../test/support/kept-jail.js';
import { until } from '../../../test/support/process.js';
import { randomFrom, testSeed } from '../../../test/support/random.js';
import { freshPlace, program } from './tree-fixture.js';

const place = freshPlace();
const rounds = process.env['CTX_SOAK'] === '1' ? 200 : 3;

/** A process that starts the program with these words and says its pid; it never reads what the program says. */
async function startedByAnother(words: readonly string[], lock?: string): Promise<{ caller: number; helper: number }> {
  const text = `const { spawn } = require('node:child_process');
    const { openSync } = require('node:fs');
    const [program, lock, ...words] = process.argv.slice(1);
    const inherited = lock === '' ? 'ignore' : openSync(lock, 'a');
    const child = spawn(program, [...words, '--parent', String(process.pid)], { stdio: ['pipe', 'pipe', 'pipe', inherited] });
    child.stdin.end('large\\0');
    console.log(child.pid);
    setInterval(() => undefined, 1000);`;
  const caller = spawn(process.execPath, ['-e', text, program, lock ?? '', ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said] = (await once(caller.stdout, 'data')) as [Buffer];
  return { caller: caller.pid ?? 0, helper: Number(said) };
}

/** More than a pipe holds: it waits for its reader. */
function largeLayer(): string {
  place.write('layer/large');
  truncateSync(place.at('layer/large'), 1 << 20);
  return place.at('layer');
}

describe('a tree program', () => {
  it('that fails with something to say, and nobody to hear it, ends', async () => {
    place.write('layer/a');
    const child = spawn(program, ['read', '--layer', place.at('layer')], { stdio: ['pipe', 'pipe', 'pipe'] });
    child.stdout.destroy();
    await once(child.stdout, 'close');
    // The first is answered, and waits to be put out when the second is refused.
    child.stdin.end('a\0../b\0');
    const timer = setTimeout(() => child.kill('SIGKILL'), 20_000);
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
    clearTimeout(timer);
    assert.deepEqual([code, signal], [1, null]);
  });

  it('that waits for a lock, or for its reader, dies with its caller', async () => {
    const layer = largeLayer();
    place.write('lock');
    const held = openSync(place.at('lock'), 'a');
    const taken = spawnSync(program, ['lock', '--lock-fd', '3'], { stdio: ['ignore', 'pipe', 'pipe', held] });
    assert.equal(taken.status, 0);
    const waiting = [
      await startedByAnother(['lock', '--lock-fd', '3', '--wait'], place.at('lock')),
      await startedByAnother(['read', '--layer', layer]),
      await startedByAnother(['usage', '--every', '50', '--layer', layer]),
    ];
    for (const { caller, helper } of waiting) {
      process.kill(caller, 'SIGKILL');
      await until(() => !isAlive(helper), 'the program has ended with its caller', 20);
    }
  });

  it('whose caller is killed at any moment, or was stopped before, is not left behind', async () => {
    const random = randomFrom(testSeed);
    const layer = largeLayer();
    for (let round = 0; round < rounds; round += 1) {
      const { caller, helper } = await startedByAnother(['read', '--layer', layer]);
      await sleep(random() * 20);
      if (random() < 0.5) process.kill(caller, 'SIGSTOP');
      process.kill(caller, 'SIGKILL');
      await until(() => !isAlive(helper), `the program has ended with its caller (seed ${testSeed})`, 20);
    }
  });

  it('that was started by somebody who is gone already does nothing', () => {
    const { status } = spawnSync(program, ['delete', place.at('nothing'), '--parent', '1']);
    assert.equal(status, 1);
  });
});
