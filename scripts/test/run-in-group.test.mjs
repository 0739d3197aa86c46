import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { inCheckout } from '../setup/checkout.mjs';

/** Runs `text` of a shell in a group of its own, says what came of it, and ends as it was told to. */
const runner = `
  const { runInGroup } = await import(process.argv[1]);
  const { status, told } = await runInGroup(['sh', '-c', process.argv[2]], { input: 'read' });
  console.log(JSON.stringify({ status, told }));
  if (told !== null) process.kill(process.pid, told);
`;

function start(text) {
  const words = ['--input-type=module', '-e', runner, inCheckout('scripts', 'test', 'run-in-group.mjs'), text];
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (chunk) => {
    said += chunk;
    child.emit('said', said);
  });
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, said }));
  return { child, ended };
}

async function numberSaidBy({ child }) {
  for (;;) {
    const [said] = await once(child, 'said');
    const [, number] = /^(\d+)\n/.exec(said) ?? [];
    if (number !== undefined) return number;
  }
}

/** What has ended may still be listed until somebody has asked for its end. */
async function hasEnded(number) {
  const state = () => {
    try {
      return /^State:\t(.)/m.exec(readFileSync(`/proc/${number}/status`, 'utf8'))?.[1];
    } catch {
      return undefined;
    }
  };
  for (let tries = 0; tries < 1000; tries++) {
    if ([undefined, 'Z'].includes(state())) return;
    await sleep(10);
  }
  assert.fail(`process ${number} lives`);
}

describe('a program in a group of its own', () => {
  it('reads what it is given, and its exit code is told', async () => {
    const { said, code } = await start('cat; exit 3').ended;
    assert.deepEqual([said, code], ['read{"status":3,"told":null}\n', 0]);
  });

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    it(`ends with all that it started where the process that runs it is told so by ${signal}`, async () => {
      const running = start('sleep 300 & echo $!; wait');
      const sleeping = await numberSaidBy(running);
      running.child.kill(signal);
      const ended = await running.ended;
      assert.equal(ended.signal, signal);
      assert.match(ended.said, new RegExp(`"told":"${signal}"`));
      await hasEnded(sleeping);
    });

  it('is killed where it does not end by itself', async () => {
    const running = start(`trap '' TERM; (trap '' TERM; exec sleep 300) & echo $!; wait; wait`);
    const sleeping = await numberSaidBy(running);
    running.child.kill('SIGTERM');
    assert.equal((await running.ended).signal, 'SIGTERM');
    await hasEnded(sleeping);
  });
});
