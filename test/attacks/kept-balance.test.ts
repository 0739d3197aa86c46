/**
 * What a kept jail has open, before and after each thing that it can be asked for, whether that succeeds or fails: as much as before. One
 * descriptor too many each time, and a jail that is kept for long takes no command any more.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { request } from '../../src/jail/frame.js';
import type { Operation } from '../../src/jail/operation.js';
import { planBytes } from '../../src/jail/plan-bytes.js';
import { AskedJail } from '../support/asked-jail.js';
import { bareJail, bareUser, type PlanOptions } from '../support/bare-jail.js';
import { until } from '../support/process.js';

const jail = bareJail();
const options: PlanOptions = { weakened: ['landlock'] };
const rounds = 3;
const plan = jail.keptPlans([], options).jail;
const overlays = plan.filter((operation) => operation.do === 'overlay');
const nowhere: readonly Operation[] = overlays.map((operation) => ({ ...operation, target: '/etc/passwd/inner' }));
const size = Buffer.alloc(4, 9);
const kill = Buffer.from([constants.signals.SIGKILL, 0, 0, 0]);

const bytesOf = (argv: readonly string[]) => planBytes(jail.keptPlans(argv, options).command);
const shell = (script: string) => bytesOf(['sh', '-c', script]);

class Asking {
  readonly #kept: AskedJail;
  #next = 1;
  constructor(kept: AskedJail) {
    this.#kept = kept;
  }

  get open(): number {
    return readdirSync(`/proc/${this.#kept.pid}/fd`).length;
  }

  async ask(kind: number, payload: Buffer, answer: RegExp): Promise<number> {
    const id = this.#next++;
    this.#kept.ask(id, kind, payload);
    assert.match(await this.#kept.reported(new RegExp(`^${id} (?!started|renamed|refused|held)`)), answer);
    return id;
  }

  /** Ended by what is done with it once it has started. */
  async started(kind: number, payload: Buffer, end: (kept: AskedJail, id: number) => Promise<void>): Promise<void> {
    const id = this.#next++;
    this.#kept.ask(id, kind, payload);
    await this.#kept.reported(new RegExp(`^${id} started$`));
    await end(this.#kept, id);
    await this.#kept.reported(new RegExp(`^${id} exited `));
  }
}

const ended = / exited \d/;

/** Each with the number of its round. */
const things: Readonly<Record<string, (asking: Asking, round: number) => Promise<unknown>>> = {
  'a command': (asking) => asking.ask(request.command, shell('exit 3'), ended),
  'a command that is killed': (asking) =>
    asking.started(request.command, shell('sleep 600'), async (kept, id) => kept.ask(id, request.signal, kill)),
  'a command with input': (asking) =>
    asking.started(request.commandWithInput, shell('cat'), (kept, id) => kept.give(id, 'text')),
  'a command with a terminal': (asking) =>
    asking.ask(request.commandWithTerminal, Buffer.concat([size, shell('test -t 0')]), / exited 0 /),
  'a command with a terminal that cannot start': (asking) =>
    asking.ask(request.commandWithTerminal, Buffer.concat([size, bytesOf(['/nothing'])]), / failed \d+ command 2 /),
  'a terminal without a size': (asking) => asking.ask(request.commandWithTerminal, Buffer.alloc(3), / failed /),
  'a command that cannot start': (asking) =>
    asking.ask(request.command, bytesOf(['/nothing']), / failed \d+ command 2 /),
  'a command with input that cannot start': (asking) =>
    asking.ask(request.commandWithInput, bytesOf(['/etc']), / failed \d+ command 13 /),
  'a damaged plan': (asking) => asking.ask(request.command, shell('exit 0').subarray(0, 300), / failed /),
  'a call that is refused': (asking) => asking.ask(request.command, shell('unshare -m true; exit 4'), ended),
  'a process that is left and ends later': (asking) =>
    asking.ask(request.command, shell('sleep 0.1 > /dev/null 2>&1 &'), ended),
  'a directory that is renamed': (asking, round) =>
    asking.ask(request.command, bytesOf(['mv', '-nT', `d${round}`, `e${round}`]), / exited 0 /),
  'an unknown request': (asking) => asking.ask(99, Buffer.alloc(0), / failed /),
  'overlays that are none': (asking) => asking.ask(request.overlays, Buffer.alloc(30), / failed /),
  'a fork that is taken down and put back': async (asking) => {
    await asking.ask(request.release, Buffer.alloc(0), / released$/);
    await asking.ask(request.command, shell('exit 0'), / the fork is not mounted$/);
    await asking.ask(request.overlays, planBytes(overlays), / mounted$/);
  },
  'a fork that cannot be put back at first': async (asking) => {
    await asking.ask(request.release, Buffer.alloc(0), / released$/);
    await asking.ask(request.overlays, planBytes(nowhere), / failed /);
    await asking.ask(request.overlays, planBytes([...overlays, ...nowhere]), / failed /);
    await asking.ask(request.overlays, planBytes(overlays), / mounted$/);
  },
};

it('has as much open after each thing that a kept jail is asked for as before', async () => {
  const made = Array.from({ length: rounds + 1 }, (_, round) => join(jail.base, 'layer', `d${round}`, 'inner'));
  assert.equal(spawnSync('mkdir', ['-p', ...made], bareUser).status, 0);
  const kept = new AskedJail(jail, plan, { mode: 'serve' });
  try {
    await kept.reported(/^0 started$/);
    const asking = new Asking(kept);
    // What is opened for good with the first process that outlives its command, whenever that is.
    await asking.ask(request.command, shell('sleep 0.1 > /dev/null 2>&1 &'), ended);
    for (const [what, act] of Object.entries(things)) {
      const idle = async () => {
        // The fork is taken down only where nothing runs in it.
        for (let id = 900_000; ; id += 1) {
          kept.said.length = 0;
          kept.ask(id, request.release);
          if (/released$/.test(await kept.reported(new RegExp(`^${id} `)))) break;
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
        await asking.ask(request.overlays, planBytes(overlays), / mounted$/);
      };
      await idle();
      // Once for what is opened for good.
      await act(asking, 0);
      await idle();
      const before = asking.open;
      for (let round = 1; round <= rounds; round += 1) {
        await act(asking, round);
        await idle();
      }
      await until(() => asking.open <= before, `it has no more than ${before} open: ${what}`, 30);
      assert.equal(asking.open, before, what);
    }
  } finally {
    await kept.end();
  }
});
