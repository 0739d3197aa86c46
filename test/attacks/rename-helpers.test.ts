/**
 * The process that prepares the rename of a directory, against the command that asked for it: the same user and groups, limits and
 * Landlock, no capability, and nothing open but the two directories and where it answers.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { request } from '../../src/jail/frame.js';
import { identityShift } from '../../src/jail/id-maps.js';
import type { Operation } from '../../src/jail/operation.js';
import { planBytes } from '../../src/jail/plan-bytes.js';
import { AskedJail } from '../support/asked-jail.js';
import { bareJail, bareUser, type PlanOptions } from '../support/bare-jail.js';
import { until } from '../support/process.js';

const isRoot = process.getuid?.() === 0;
const jail = bareJail();
const noLandlock = jail.landlock === 0 ? 'this kernel has no Landlock' : false;
const options: PlanOptions = { weakened: noLandlock === false ? [] : ['landlock'] };

function outside(script: string): void {
  const { status, stderr } = spawnSync('/usr/bin/python3', ['-c', script], { encoding: 'utf8', ...bareUser });
  assert.equal(status, 0, stderr);
}

const renaming = (...names: readonly (readonly [string, string])[]) => `
import errno, os
for one, other in ${JSON.stringify(names)}:
    try: os.rename(one, other); said = 'done'
    except OSError as error: said = errno.errorcode[error.errno]
    with open('/home/user/said', 'a') as file: file.write(said + chr(10))
`;

/** What the command said, and what the jail reported of its renames. */
async function renamed(plan: readonly Operation[]): Promise<readonly [string, readonly string[]]> {
  writeFileSync(join(jail.base, 'home', 'said'), '', { mode: 0o666 });
  if (bareUser.uid !== undefined) chownSync(join(jail.base, 'home', 'said'), bareUser.uid, bareUser.gid);
  const asked = new AskedJail(jail, plan);
  await asked.closed;
  assert.match(asked.said.at(-1) ?? '', / exited 0 /);
  return [readFileSync(join(jail.base, 'home', 'said'), 'utf8'), asked.said.filter((each) => / renamed /.test(each))];
}

const python = (script: string) => ['/usr/bin/python3', '-c', script];

/** The processes that the owner of a jail has started and that are not its first: the command's, and the one at work. */
function childrenOf(owner: number): readonly number[] {
  const names = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return names.map(Number).filter((pid) => {
    if (pid <= owner) return false;
    try {
      return Number(/^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) === owner;
    } catch {
      return false;
    }
  });
}

const factOf = (pid: number, name: string) =>
  new RegExp(`^${name}:[ \\t]*(.*?)[ \\t]*$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 'gone';

interface AtWork {
  readonly helper: number;
  readonly command: number;
}

/** It has taken its place, and made the second tree. */
function isCopying(name: string): boolean {
  const upper = join(jail.base, 'upper', name);
  return existsSync(upper) && readdirSync(upper).some((each) => each.startsWith('.ctx-rename-'));
}

/** Stopped while it is at work; undefined where it is none of the children, or has ended before. */
function stopHelper(owner: number, name: string): AtWork | undefined {
  const children = [...childrenOf(owner)].sort((one, other) => one - other);
  try {
    const command = children.find((pid) => factOf(pid, 'Name') === 'python3');
    const helper = children.at(-1);
    if (children.length < 3 || command === undefined || helper === undefined || helper === command) return undefined;
    process.kill(helper, 'SIGSTOP');
    while (/^[RSD]/.test(factOf(helper, 'State')));
    if (factOf(helper, 'State').startsWith('T') && isCopying(name)) return { helper, command };
    process.kill(helper, 'SIGCONT');
  } catch {
    // It has ended.
  }
  return undefined;
}

const [directories, files] = [10, 100];

/** Each is renamed when that is asked for: so somebody looks for what is at work, however busy the machine is. */
function manyRenames(name: string): readonly string[] {
  outside(`import os
for number in range(${directories}):
    os.makedirs('${jail.base}/layer/${name}/%d' % number)
    for each in range(${files}): open('${jail.base}/layer/${name}/%d/%d' % (number, each), 'w').close()`);
  return python(`import os, time
for number in range(${directories}):
    while not os.path.exists('/home/user/${name}-go-%d' % number): time.sleep(0.005)
    os.rename('/workspace/${name}/%d' % number, '/workspace/${name}/%d-new' % number)
    open('/home/user/${name}-done-%d' % number, 'w').close()`);
}

/** The first that is met at work stays stopped. */
async function meet(asked: AskedJail, name: string): Promise<AtWork> {
  const inHome = (what: string, number: number) => join(jail.base, 'home', `${name}-${what}-${number}`);
  let found: AtWork | undefined;
  for (let number = 0; number < directories && found === undefined; number += 1) {
    writeFileSync(inHome('go', number), '');
    await until(() => {
      found = stopHelper(asked.pid, name);
      return found !== undefined || existsSync(inHome('done', number));
    }, 'a directory is renamed');
  }
  for (let number = 0; number < directories; number += 1) writeFileSync(inHome('go', number), '');
  assert.ok(found, 'it was met at work');
  return found;
}

describe('what prepares a rename', () => {
  it('has what the command has, and is looked into by nobody', async () => {
    const asked = new AskedJail(jail, jail.plan(manyRenames('many'), options));
    await asked.reported(/^0 started$/);
    const { helper, command } = await meet(asked, 'many');
    try {
      for (const name of ['Uid', 'Gid', 'Groups', 'CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb', 'NoNewPrivs'])
        assert.equal(factOf(helper, name), factOf(command, name), name);
      const limits = (pid: number) => readFileSync(`/proc/${pid}/limits`, 'utf8');
      assert.equal(limits(helper), limits(command));
      assert.equal(statSync(`/proc/${helper}/maps`).uid, 0, 'it belongs to root: nobody of its user may look into it');
      if (isRoot) {
        const open = readdirSync(`/proc/${helper}/fd`).filter((each) => Number(each) < 3);
        const kinds = open.map((each) => readlinkSync(`/proc/${helper}/fd/${each}`).replace(/:.*/, ''));
        assert.deepEqual(kinds, ['pipe', '/workspace', '/workspace']);
        const others = readdirSync(`/proc/${helper}/fd`).filter((each) => Number(each) > 2);
        for (const each of others)
          assert.match(readlinkSync(`/proc/${helper}/fd/${each}`), /^\/workspace\/many(?:\/|$)/, 'what it works on');
      }
    } finally {
      process.kill(helper, 'SIGCONT');
      await asked.closed;
    }
    assert.match(asked.said.at(-1) ?? '', / exited 0 /);
    assert.equal(Number(/ renamed (\d+) /.exec(asked.said.join('\n'))?.[1]), directories);
  });

  it('comes to its end where its caller is killed, though somebody has stopped it', async () => {
    const asked = new AskedJail(jail, jail.plan(manyRenames('killed'), options));
    await asked.reported(/^0 started$/);
    process.kill((await meet(asked, 'killed')).command, 'SIGKILL');
    await asked.closed;
    assert.match(asked.said.at(-1) ?? '', /^0 exited 9 /);
    assert.ok(!isCopying('killed'), 'nothing is left beside it');
  });

  it('comes to its end before the end of a command of a kept jail is told, though somebody has stopped it', async () => {
    const { jail: plan, command } = jail.keptPlans(manyRenames('kept'), options);
    const kept = new AskedJail(jail, plan, { mode: 'serve' });
    try {
      await kept.reported(/^0 started$/);
      kept.ask(1, request.command, planBytes(command));
      const { helper } = await meet(kept, 'kept');
      kept.ask(1, request.signal, Buffer.from([constants.signals.SIGKILL, 0, 0, 0]));
      assert.match(await kept.reported(/^1 exited /), /^1 exited 9 /);
      assert.ok(!existsSync(`/proc/${helper}`), 'it has ended');
      assert.ok(!isCopying('kept'), 'nothing is left beside it');
      // Nothing of it is in the way of the next.
      const next = jail.keptPlans(['sh', '-c', 'cd kept && mv -nT 9 9-new && test $(ls 9-new | wc -l) = 100'], options);
      kept.ask(2, request.command, planBytes(next.command));
      assert.match(await kept.reported(/^2 exited /), /^2 exited 0 /);
    } finally {
      await kept.end();
    }
  });

  it('changes nothing where Landlock lets the command only read', { skip: noLandlock }, async () => {
    const reading = 0b1101n;
    outside(
      `import os\nos.makedirs('${jail.base}/layer/read-only/d'); open('${jail.base}/layer/read-only/d/file', 'w').close()`,
    );
    const names = ['/workspace/read-only/d', '/workspace/read-only/e'] as const;
    const plan = jail.plan(python(renaming(names)), options);
    const restricted = plan.map(
      (operation): Operation =>
        operation.do === 'landlock rule' && operation.path === '/workspace'
          ? { ...operation, rights: reading }
          : operation,
    );
    assert.notDeepEqual(restricted, plan);
    assert.deepEqual(await renamed(restricted), ['EACCES\n', []]);
    assert.ok(!existsSync(join(jail.base, 'upper', 'read-only')), 'nothing was copied');
    const [said, reported] = await renamed(plan);
    assert.deepEqual([said, reported.length], ['done\n', 1], 'where it may be written, this works');
  });

  it('needs no terminal where the command has one', async () => {
    outside(
      `import os\nos.makedirs('${jail.base}/layer/in-terminal/d'); open('${jail.base}/layer/in-terminal/d/file', 'w').close()`,
    );
    const names = ['/workspace/in-terminal/d', '/workspace/in-terminal/e'] as const;
    const { jail: plan, command } = jail.keptPlans(python(renaming(names)), options);
    const kept = new AskedJail(jail, plan, { mode: 'serve' });
    try {
      await kept.reported(/^0 started$/);
      kept.ask(1, request.commandWithTerminal, Buffer.concat([Buffer.alloc(4, 9), planBytes(command)]));
      assert.match(await kept.reported(/^1 exited /), /^1 exited 0 /);
      assert.match(kept.said.join('\n'), /^1 renamed 1 1 /m);
    } finally {
      await kept.end();
    }
  });
});

describe('what prepares a rename in root’s jails', { skip: isRoot ? false : 'needs root' }, () => {
  it('has the groups of the command: a directory keeps its group', async () => {
    const shifted = bareJail('shifted');
    const top = join(shifted.base, 'layer', 'd');
    mkdirSync(join(top, 'inner'), { recursive: true });
    writeFileSync(join(top, 'inner', 'file'), 'text');
    for (const [path, group] of [
      [top, 7],
      [join(top, 'inner'), 9],
      [join(top, 'inner', 'file'), 0],
    ] as const)
      chownSync(path, identityShift, identityShift + group);
    const groups = { kind: 'shifted', uid: 0, gid: 0, shift: identityShift, groups: [7, 9] } as const;
    const script = 'mv -nT d e && test "$(stat -c %g e e/inner)" = "$(printf "7\\n9")"';
    const plan = shifted.plan(['sh', '-c', script], { ...options, more: { identity: groups } });
    const said = await shifted.runAsked(plan, []);
    assert.match(said, /^0 renamed 1 1 4 /m);
    assert.match(said, /^0 exited 0 /m);
  });
});
