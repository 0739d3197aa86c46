/**
 * Overlays that more than one jail has: found by their upper directory and the processes that the plan names, never mounted twice; and
 * caches, which one jail writes at a time.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, it } from 'node:test';
import { request } from '../../src/jail/frame.js';
import type { Attribute, Operation, Plan } from '../../src/jail/operation.js';
import { planBytes } from '../../src/jail/plan-bytes.js';
import { AskedJail } from '../support/asked-jail.js';
import { bareJail, bareUser, type PlanOptions } from '../support/bare-jail.js';

const jail = bareJail();
const options: PlanOptions = { weakened: ['landlock', 'seccomp'] };
const contained: readonly Attribute[] = ['no setuid', 'no devices'];
const { ESRCH } = constants.errno;
/** A number that no process has. */
const nobody = 4_194_304;
const at = (...names: readonly string[]) => join(jail.base, ...names);

function makeOwn(name: string): void {
  rmSync(at(name), { recursive: true, force: true });
  mkdirSync(at(name), { mode: 0o755 });
  if (bareUser.uid !== undefined) chownSync(at(name), bareUser.uid, bareUser.gid);
}

const command = (script: string): Plan =>
  jail.keptPlans(['sh', '-c', script], { ...options, more: { directory: '/home/user' } }).command;
const base = jail.keptPlans([], options).jail;
const isOverlay = (operation: Operation) => operation.do === 'overlay';

/** The plan of a jail with these in the place of its overlay. */
function planWith(...mounts: readonly Operation[]): Operation[] {
  return base.flatMap((operation): readonly Operation[] => (isOverlay(operation) ? mounts : [operation]));
}

const overlay = (more: Partial<Extract<Operation, { do: 'overlay' }>> = {}): Operation => ({
  do: 'overlay',
  target: '/workspace',
  lower: ['layer'],
  upper: 'upper',
  work: 'work',
  attributes: contained,
  ...more,
});

/** Kept jails, and what is done with them; all end. */
async function withJails(plans: readonly Plan[], use: (...kept: readonly AskedJail[]) => Promise<void>): Promise<void> {
  const kept: AskedJail[] = [];
  try {
    for (const plan of plans) {
      const one = new AskedJail(jail, plan, { mode: 'serve' });
      kept.push(one);
      await one.reported(/^0 (started|failed)/);
    }
    await use(...kept);
  } finally {
    for (const one of kept) await one.end();
  }
}

let next = 100;
async function run(kept: AskedJail, script: string): Promise<number | string> {
  const id = next++;
  kept.ask(id, request.command, planBytes(command(script)));
  const said = await kept.reported(new RegExp(`^${id} (exited|failed)`));
  const status = / exited (\d+) /.exec(said)?.[1];
  return status === undefined ? said : Number(status) >> 8;
}

async function asked(kept: AskedJail, kind: number, payload?: Buffer): Promise<string> {
  const id = next++;
  kept.ask(id, kind, payload);
  return (await kept.reported(new RegExp(`^${id} `))).replace(/^\d+ /, '');
}

const once = async (plan: Plan, script: string) => jail.run([...plan, ...command(script)]);

beforeEach(() => {
  for (const name of ['upper', 'work', 'upper2', 'work2']) makeOwn(name);
});

describe('an overlay of another jail', () => {
  it('is that jail’s: what the one writes the other has, and it is mounted once', () =>
    withJails([planWith(overlay())], async (holder) => {
      assert.equal(await run(holder, 'echo one > /workspace/one; stat -c %d /workspace > /home/user/first'), 0);
      const joined = planWith(overlay({ holders: [holder.pid] }));
      const script = 'cat /workspace/one && echo two > /workspace/two && stat -c %d /workspace > /home/user/second';
      assert.equal(await once(joined, script), 0);
      assert.equal(await run(holder, 'cat /workspace/two'), 0);
      assert.equal(readFileSync(at('home', 'first'), 'utf8'), readFileSync(at('home', 'second'), 'utf8'), 'one device');
      assert.deepEqual([existsSync(at('upper', 'one')), existsSync(at('upper', 'two'))], [true, true]);
    }));

  it('has the attributes that are asked for, whatever those of its holder are', async () => {
    const readOnly = [...contained, 'read only'] as const;
    const write = ': > /workspace/new && rm /workspace/new';
    for (const own of [contained, readOnly]) {
      await withJails([planWith(overlay({ attributes: own }))], async (holder) => {
        for (const [attributes, code] of [
          [contained, 0],
          [readOnly, 2],
        ] as const) {
          const joined = planWith(overlay({ holders: [holder.pid], attributes }));
          assert.equal(await once(joined, `${write} || exit 2`), code, `${own} ${attributes}`);
        }
        const look = 'grep " /workspace " /proc/self/mountinfo | grep nosuid | grep -q nodev';
        assert.equal(await once(planWith(overlay({ holders: [holder.pid] })), look), 0);
      });
    }
  });

  it('is of the first holder that has it: by its upper directory, not by its place', () =>
    withJails([planWith(overlay({ upper: 'upper2', work: 'work2' })), planWith(overlay())], async (other, holder) => {
      assert.equal(await run(other, ': > /workspace/of-other'), 0);
      assert.equal(await run(holder, ': > /workspace/of-holder'), 0);
      const look = 'test -e /workspace/of-holder && test ! -e /workspace/of-other';
      for (const holders of [[holder.pid], [nobody, other.pid, holder.pid], [process.pid, holder.pid, nobody]])
        assert.equal(await once(planWith(overlay({ holders })), look), 0, holders.join());
      for (const holders of [[nobody], [other.pid], [process.pid, other.pid]]) {
        const said = await once(planWith(overlay({ holders })), ': > /home/user/ran');
        assert.equal(said, `0 failed 0 start ${ESRCH} /workspace\0`, holders.join());
      }
      assert.equal(existsSync(at('home', 'ran')), false);
    }));

  it('is taken by a kept jail, too, as it is made and later', () =>
    withJails([planWith(overlay())], async (holder) => {
      assert.equal(await run(holder, ': > /workspace/of-holder'), 0);
      await withJails([planWith(overlay({ holders: [holder.pid] }))], async (joined) => {
        const look = 'test -e /workspace/of-holder';
        assert.equal(await run(joined, look), 0);
        assert.equal(await asked(joined, request.release), 'released');
        const mount = (...holders: readonly number[]) =>
          asked(joined, request.overlays, planBytes([overlay({ holders })]));
        assert.match(await mount(nobody), new RegExp(`^failed 0 request ${ESRCH} /workspace$`));
        assert.match(String(await run(joined, ':')), /the fork is not mounted/);
        assert.equal(await mount(nobody, holder.pid), 'mounted');
        assert.equal(await run(joined, `${look} && : > /workspace/of-joined`), 0);
        assert.equal(await run(holder, 'test -e /workspace/of-joined'), 0);
        assert.equal(await asked(joined, request.release), 'released');
        const many = Array.from({ length: 60 }, () => nobody);
        assert.equal(await mount(...many, holder.pid), 'mounted', 'the last of many');
        assert.equal(await run(joined, look), 0);
      });
    }));
});

describe('the directories of an overlay', () => {
  it('can be read and deleted by their owner afterwards, and be mounted again', async () => {
    for (const time of ['first', 'second']) {
      assert.equal(await once(planWith(overlay()), `: > /workspace/${time}`), 0);
      assert.equal(statSync(at('work', 'work')).mode & 0o777, 0o700);
      assert.equal(existsSync(at('upper', time)), true);
    }
    await withJails([planWith(overlay())], async (kept) => {
      assert.equal(await asked(kept, request.release), 'released');
      assert.equal(statSync(at('work', 'work')).mode & 0o777, 0o700);
      assert.equal(await asked(kept, request.overlays, planBytes([overlay()])), 'mounted');
      assert.equal(await run(kept, 'test -e /workspace/first -a -e /workspace/second'), 0);
    });
  });

  it('are not where an agent made a link of them', async () => {
    makeOwn('elsewhere');
    makeOwn('cache');
    makeOwn('cache-upper');
    const ofCache: Operation = {
      do: 'cache',
      target: '/home/user/cache',
      source: at('cache'),
      upper: 'cache-upper',
      work: 'cache-work',
      attributes: contained,
    };
    for (const [work, mounts] of [
      ['work', [overlay()]],
      ['cache-work', [ofCache]],
    ] as const) {
      rmSync(at(work), { recursive: true, force: true });
      const link = ['-c', 'import os, sys; os.symlink(*sys.argv[1:])', at('elsewhere'), at(work)];
      assert.equal(spawnSync('/usr/bin/python3', link, bareUser).status, 0);
      assert.match(String(await once(planWith(...mounts), ':')), new RegExp(` failed \\d+ \\S+ 20 ${work}`));
      rmSync(at(work));
    }
  });
});

describe('a cache', () => {
  const target = '/home/user/cache';
  const cache = (more: Partial<Extract<Operation, { do: 'cache' }>> = {}): Operation => ({
    do: 'cache',
    target,
    source: at('cache'),
    upper: 'cache-upper',
    work: 'cache-work',
    attributes: contained,
    ...more,
  });
  const plan = (...more: readonly Operation[]) => {
    const whole = planWith(overlay({ upper: 'upper2', work: 'work2' }));
    const pivot = whole.findIndex((operation) => operation.do === 'pivot');
    return [...whole.slice(0, pivot), ...more, ...whole.slice(pivot)];
  };
  /** Without the fork, which one jail has at a time. */
  const beside = (...more: readonly Operation[]) => plan(...more).filter((operation) => !isOverlay(operation));

  beforeEach(() => {
    for (const name of ['cache', 'cache-upper', 'cache-work']) makeOwn(name);
    // The place of an earlier one.
    rmSync(at('home', 'cache'), { recursive: true, force: true });
    writeFileSync(at('cache', 'old'), 'old');
    if (bareUser.uid !== undefined) chownSync(at('cache', 'old'), bareUser.uid, bareUser.gid);
  });
  const writes = `cat ${target}/old && echo new > ${target}/new && echo other > ${target}/old`;

  it('is read as it is now, and written in the fork alone', () =>
    withJails([plan(cache())], async (kept) => {
      assert.equal(await run(kept, writes), 0);
      assert.deepEqual([readFileSync(at('cache', 'old'), 'utf8'), existsSync(at('cache', 'new'))], ['old', false]);
      assert.deepEqual(
        ['old', 'new'].map((name) => readFileSync(at('cache-upper', name), 'utf8')),
        ['other\n', 'new\n'],
      );
      writeFileSync(at('cache', 'later'), 'later');
      assert.equal(await run(kept, `test -e ${target}/later`), 0);
      assert.equal(await run(kept, `grep " ${target} " /proc/self/mountinfo | grep nosuid | grep -q nodev`), 0);
      assert.equal(await run(kept, 'test -z "$(ls -A / | grep "^\\.")"'), 0, 'nothing is left of how it was made');
      assert.ok(!kept.said.some((report) => / read-only-cache /.test(report)));
    }));

  it('is written by one jail at a time, and read by others', () =>
    withJails([plan(cache())], async (holder) => {
      await withJails([beside(cache())], async (second) => {
        assert.equal(second.said[0], `0 read-only-cache ${holder.pid} ${target}`);
      });
      assert.equal(await once(beside(cache()), `cat ${target}/old && ! touch ${target}/new`), 0);
      await holder.end();
      await withJails([beside(cache())], async (third) => assert.equal(third.said[0], '0 started'));
    }));

  it('is shared where the plan names the jail that has it, and mounted as ever where that has ended', () =>
    withJails([plan(cache())], async (holder) => {
      assert.equal(await run(holder, `echo one > ${target}/one`), 0);
      await withJails([beside(cache({ holders: [nobody, holder.pid] }))], async (second) => {
        assert.equal(second.said[0], '0 started');
        await holder.end();
        // It is still there, and still the second’s: a third may not write it beside.
        await withJails([beside(cache())], async (third) => assert.match(third.said[0] ?? '', /^0 read-only-cache /));
      });
      await withJails([beside(cache({ holders: [holder.pid] }))], async (last) =>
        assert.equal(last.said[0], '0 started'),
      );
    }));

  it('is shown read-only where it cannot be a layer', async () => {
    for (const [what, more] of [
      ['an upper directory that is not there', { upper: 'missing' }],
      ['names that are too long for its options', { upper: `cache-upper/${'./'.repeat(2100)}` }],
    ] as const) {
      const script = `cat ${target}/old && ! touch ${target}/new`;
      assert.equal(await once(plan(cache(more)), script), 0, what);
    }
    rmSync(at('home', 'cache'), { recursive: true });
    const ofFile = cache({ source: at('cache', 'old') });
    assert.equal(await once(plan(ofFile), `cat ${target} && ! touch ${target}`), 0);
    assert.match(String(await once(plan(cache({ work: 'missing' })), ':')), / failed \d+ \S+ 2 missing/);
  });

  it('may be read-only by its plan', async () => {
    const attributes = [...contained, 'read only'] as const;
    assert.equal(await once(plan(cache({ attributes })), `cat ${target}/old && ! touch ${target}/new`), 0);
  });
});
