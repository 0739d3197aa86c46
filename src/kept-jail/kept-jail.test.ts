/** Kept jails that are real, in the process of the test: their commands one after the other, beside each other, and apart. */
import assert from 'node:assert/strict';
import { closeSync, existsSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { ownSeconds, processesCalled, until } from '../../test/support/process.js';
import type { RecordEntry } from '../audit/record.js';
import { ErrnoError, hasCode } from '../base/errno.js';
import type { RunningCommand } from '../jail/asked-commands.js';
import { makeGroup } from '../jail/cgroup.js';
import { makeRule } from '../proxy/approval/decision-rule.js';
import { addRule } from '../proxy/approval/rules-file.js';
import { execute } from '../proxy/execute.js';
import type { Host } from '../proxy/host.js';
import { testHost } from '../proxy/host-fixture.js';
import type { Envelope } from '../proxy/report/envelope.js';
import { onFork } from '../proxy/run/open-fork-target.js';
import { readGroup } from '../vault/store/group.js';
import { vaultId, vaultPaths } from '../vault/store/layout.js';
import { takeLock } from '../vault/store/locks.js';
import { idleJailsOf } from '../vault/store/worker-file.js';
import type { KeptCommand, KeptJailRequest } from './jail-request.js';
import { KeptJail } from './kept-jail.js';
import { ranApart, readApart } from './run-apart.js';

const { host, project, recorded, warned } = testHost();
const started: KeptJail[] = [];
// What keeps a jail has a socket, which holds its process.
const awake = setInterval(() => undefined, 1_000);
after(async () => {
  clearInterval(awake);
  await Promise.all(started.map((jail) => jail.end()));
});

async function kept(cwd: string, more: Partial<KeptJailRequest> = {}, by: Host = host): Promise<KeptJail> {
  const jail = await KeptJail.start(by, { cwd, environmentAdditions: [], weakened: [], wait: false, ...more });
  started.push(jail);
  return jail;
}

const sh = (cwd: string, script: string, more: Partial<KeptCommand> = {}): KeptCommand => ({
  ...{ argv: ['sh', '-c', script], cwd, environmentAdditions: [] },
  ...more,
});
const changesOf = ({ changes }: Envelope) => changes.map(({ kind, path }) => `${kind} ${path}`);
const placeOf = (cwd: string) => vaultPaths(host.store.directory, vaultId(cwd)).fork('main');
/** Who uses the fork. */
const atWork = async (cwd: string) => (await readGroup(host.tree, placeOf(cwd))).live.map(({ command }) => command);
const since = (from: number) =>
  (JSON.parse(JSON.stringify(recorded.slice(from))) as readonly RecordEntry[]).filter(
    ({ type }) => type !== 'audit.chain',
  );

/** A command that has started and runs until `go` is there, and its report to be. */
async function waiting(jail: KeptJail, cwd: string, more: Partial<KeptCommand> = {}) {
  let report: Promise<Envelope> | undefined;
  const begun = await new Promise<RunningCommand>((resolve, reject) => {
    const onStarted = (command: { readonly started: Promise<void> }) => resolve(command as RunningCommand);
    report = jail.exec(sh(cwd, 'touch begun; while [ ! -e go ]; do sleep 0.01; done', { onStarted, ...more }));
    report.catch(reject);
  });
  await begun.started;
  return { report: report ?? assert.fail() };
}

describe('a kept jail', () => {
  it('is refused before anything is made where a variable is not set, and so is each of its commands', async () => {
    const cwd = project();
    const environmentAdditions = ['UNSET_NAME'];
    await assert.rejects(kept(cwd, { environmentAdditions }), { code: 'EINVAL' });
    assert.equal(existsSync(placeOf(cwd).directory), false);
    const jail = await kept(cwd);
    const from = recorded.length;
    await assert.rejects(jail.exec(sh(cwd, 'touch made', { environmentAdditions })), { code: 'EINVAL' });
    assert.deepEqual(
      since(from).map(({ type, status }) => [type, status]),
      [['exec', 'denied']],
    );
    assert.equal((await jail.exec(sh(cwd, 'ls'))).stdout?.text, '');
    await jail.end();
  });

  it('is named by its own process where another process keeps it with others', async () => {
    const cwd = project();
    const jail = await kept(cwd);
    const named = async () => {
      const { report } = await waiting(jail, cwd);
      const { live } = await readGroup(host.tree, placeOf(cwd));
      await jail.exec(sh(cwd, 'touch go'));
      await report;
      await jail.exec(sh(cwd, 'rm -f go begun'));
      return live.map(({ pid, jailProcess }) => [pid, jailProcess]);
    };
    assert.ok(jail.pid !== undefined && jail.pid !== process.pid);
    assert.deepEqual(await named(), [[process.pid, undefined]]);
    jail.isKeptWithOthers();
    assert.deepEqual(await named(), [[process.pid, jail.pid]]);
    await jail.end();
  });

  it('does not begin where its beginning cannot be written, and has ended also where its end cannot', async () => {
    const cwd = project();
    let unwritten: RecordEntry['status'] | undefined;
    const full = new ErrnoError('ENOSPC', { operation: 'record', reason: 'of a test' });
    const append = (entry: RecordEntry) => {
      if (entry.type === 'jail' && entry.status === unwritten) throw full;
      return host.recorder.append(entry);
    };
    const by: Host = { ...host, recorder: { ...host.recorder, append } };
    unwritten = 'begin';
    const from = recorded.length;
    await assert.rejects(kept(cwd, {}, by), { code: 'ENOSPC' });
    assert.deepEqual([since(from), await atWork(cwd), idleJailsOf(placeOf(cwd))], [[], [], []]);
    unwritten = 'ok';
    const jail = await kept(cwd, {}, by);
    assert.deepEqual(idleJailsOf(placeOf(cwd)), [jail.pid]);
    started.splice(started.indexOf(jail), 1);
    await assert.rejects(jail.end(), { code: 'ENOSPC' });
    await jail.ended;
    assert.deepEqual([await atWork(cwd), idleJailsOf(placeOf(cwd))], [[], []], 'all else was done');
  });

  it('runs commands one after the other: each has a checkpoint, and between them the fork is free', async () => {
    const cwd = project({ a: 'one' });
    const from = recorded.length;
    const jail = await kept(cwd);
    assert.deepEqual([jail.origin, jail.fork, jail.isReadOnly, await atWork(cwd)], [cwd, 'main', false, []]);
    const first = await jail.exec(
      sh(cwd, 'cat a; echo two > b; echo $GIVEN; exit 4', { environmentAdditions: ['GIVEN=x'] }),
    );
    assert.deepEqual([first.exitCode, first.stdout?.text, changesOf(first)], [4, 'onex\n', ['added b']]);
    assert.deepEqual([first.keptJail, first.checkpoint, first.beside, first.warnings], [jail.id, 1, [], []]);
    writeFileSync(join(cwd, 'a'), 'edited');
    const between = await execute(
      host,
      { ...sh(cwd, 'rm b; echo c > c'), weakened: [], streams: 'capture', stdin: 'nothing', wait: false, alone: true },
      onFork,
    );
    assert.deepEqual([between.keptJail, between.checkpoint, between.entered], [null, 2, ['a']]);
    const second = await jail.exec(sh(cwd, 'cat a c; ls'));
    assert.deepEqual([second.stdout?.text, second.checkpoint, changesOf(second)], ['editedc\na\nc\n', 3, []]);
    assert.deepEqual([second.request.readonly, second.workspace.fork, await atWork(cwd)], [false, 'main', []]);
    const slow = await jail.exec(sh(cwd, 'sleep 60', { timeoutMilliseconds: 40 }));
    assert.deepEqual([slow.timedOut, slow.exitCode === 0], [true, false]);
    await jail.end();
    await jail.ended;
    await jail.end();
    const entries = since(from);
    const whose = { object: `fork/${vaultId(cwd)}/main`, type: 'jail' };
    const facts = { keptJail: jail.id, origin: cwd, authority: first.authority };
    assert.deepEqual(
      [entries[0], entries.at(-1)],
      [
        { ...whose, status: 'begin', facts },
        { ...whose, status: 'ok', facts },
      ],
    );
    const runs = entries.filter(({ type, facts: each }) => type === 'exec' && each?.['keptJail'] === jail.id);
    assert.deepEqual(
      runs.map(({ status }) => status),
      ['begin', 'failed', 'begin', 'ok', 'begin', 'failed'],
    );
    assert.deepEqual([await atWork(cwd), warned], [[], []]);
  });

  it('takes over what the person edited, before a command and once', async () => {
    const cwd = project({ a: 'one' });
    const jail = await kept(cwd);
    writeFileSync(join(cwd, 'a'), 'edited');
    const first = await jail.exec(sh(cwd, 'cat a'));
    const second = await jail.exec(sh(cwd, 'cat a'));
    assert.deepEqual(
      [first, second].map(({ entered, stdout }) => [entered, stdout?.text]),
      [
        [['a'], 'edited'],
        [[], 'edited'],
      ],
    );
    await jail.end();
  });

  it('runs commands beside each other, and beside those with jails of their own', async () => {
    const cwd = project();
    const jail = await kept(cwd);
    const { report } = await waiting(jail, cwd);
    const second = await jail.exec(sh(cwd, 'while [ ! -e begun ]; do sleep 0.01; done; touch second'));
    const own = { weakened: [], streams: 'capture', stdin: 'nothing', wait: false } as const;
    await assert.rejects(execute(host, { ...sh(cwd, 'true'), ...own, alone: true }, onFork), { code: 'EBUSY' });
    const third = await execute(host, { ...sh(cwd, 'touch go'), ...own }, onFork);
    const first = await report;
    assert.deepEqual(
      [second.checkpoint, second.beside.length, changesOf(second).includes('added second')],
      [null, 1, true],
    );
    assert.deepEqual([third.checkpoint, changesOf(third)], [null, ['added go']]);
    assert.deepEqual(
      [first.checkpoint, first.besideCount, changesOf(first)],
      [1, 2, ['added begun', 'added go', 'added second']],
    );
    await jail.end();
  });

  it('says where something was left running: nothing is frozen then, and it ends with the jail', async () => {
    const cwd = project();
    const jail = await kept(cwd);
    const first = await jail.exec(
      sh(cwd, 'sh -c "while :; do sleep 0.05; touch alive; done" > /dev/null 2>&1 & echo left'),
    );
    const left = await atWork(cwd);
    assert.match(left.join(), /^processes that sh -c .* left$/);
    const second = await jail.exec(sh(cwd, 'touch more'));
    assert.deepEqual([first.checkpoint, second.checkpoint, first.warnings.length], [1, null, 0]);
    assert.match(second.warnings.join('\n'), /^processes of earlier commands are running/);
    assert.equal((await atWork(cwd)).join(), 'processes that earlier commands left');
    const looked = await jail.exec(sh(cwd, 'touch no || ls more', { readonly: true }));
    assert.deepEqual([looked.stdout?.text, looked.warnings.includes(readApart)], ['more\n', true]);
    await jail.end();
    assert.deepEqual(await atWork(cwd), []);
  });

  it('shows the fork read-only to a command that asks for it, and keeps those that write apart from it', async () => {
    const cwd = project({ a: '' });
    const jail = await kept(cwd);
    const only = await jail.exec(sh(cwd, 'touch b && echo wrote; ls', { readonly: true }));
    assert.deepEqual([only.stdout?.text, only.request.readonly, only.warnings], ['a\n', true, []]);
    let isReadOnly = false;
    const go = await jail.exec(
      sh(cwd, 'ls', {
        readonly: true,
        onOutput: () => {
          ({ isReadOnly } = jail);
        },
      }),
    );
    assert.deepEqual([isReadOnly, jail.isReadOnly, go.exitCode], [true, false, 0]);
    const { report } = await waiting(jail, cwd);
    const apart = await jail.exec(sh(cwd, 'touch c || echo closed', { readonly: true }));
    assert.deepEqual([apart.stdout?.text, apart.warnings], ['closed\n', [readApart]]);
    assert.equal(apart.keptJail, jail.id);
    await jail.exec(sh(cwd, 'touch go'));
    assert.deepEqual((await report).warnings, []);
    await jail.end();
  });

  it('runs what was granted a network in a jail of its own, and what was approved once alone', async () => {
    addRule(host, makeRule('require_approval', '-', { command: ['env'] }));
    const cwd = project();
    const jail = await kept(cwd);
    const approved = (network: readonly string[]) =>
      jail.exec({
        ...sh(cwd, ''),
        argv: ['env'],
        input: 'nothing',
        onApproval: async () => ({ granted: true, scope: 'once', network }),
      });
    const plain = await approved([]);
    const networked = await approved(['any']);
    assert.deepEqual([plain.warnings, networked.warnings, networked.keptJail], [[], [ranApart], jail.id]);
    assert.match(networked.stdout?.text ?? '', /^HTTPS?_PROXY=/im);
    assert.doesNotMatch(plain.stdout?.text ?? '', /^HTTPS?_PROXY=/im);
    assert.notEqual(networked.authority, plain.authority);
    const { report } = await waiting(jail, cwd);
    await assert.rejects(approved([]), { code: 'ESTALE' });
    await jail.exec(sh(cwd, 'touch go'));
    await report;
    await jail.end();
  });

  it('holds its commands to one control group, in its own jail and in one apart', async (context) => {
    let can = false;
    try {
      const group = makeGroup({ pids: 100 }, host.lockLibrary);
      can = group !== undefined;
      group?.remove();
    } catch (error) {
      if (!hasCode(error, 'ENOTSUP')) throw error;
    }
    if (!can) return context.skip('needs control groups that may be made');
    addRule(host, makeRule('require_approval', '-', { command: ['env'] }));
    const cwd = project();
    const jail = await kept(cwd, { quota: { pids: 100 } });
    /** The groups of a command that runs, by what the kernel says of its process. */
    const groupsOf = async (more: Partial<KeptCommand>, network: readonly string[] = []) => {
      const seconds = ownSeconds();
      const onApproval = async () => ({ granted: true, scope: 'session', network }) as const;
      const ended = jail.exec({ ...sh(cwd, ''), argv: ['env', 'sleep', seconds], onApproval, ...more });
      await Promise.race([until(() => processesCalled('sleep', seconds).length === 1, 'it runs'), ended]);
      const [pid = 0] = processesCalled('sleep', seconds);
      const groups = readFileSync(`/proc/${pid}/cgroup`, 'utf8');
      process.kill(pid, 'SIGKILL');
      return { groups, warnings: (await ended).warnings };
    };
    const own = await groupsOf({});
    assert.deepEqual(own.warnings, []);
    assert.notEqual(own.groups, readFileSync('/proc/self/cgroup', 'utf8'));
    assert.deepEqual(await groupsOf({}, ['any']), { groups: own.groups, warnings: [ranApart] });
    const { report } = await waiting(jail, cwd);
    assert.deepEqual(await groupsOf({ readonly: true }), { groups: own.groups, warnings: [readApart] });
    await jail.exec(sh(cwd, 'touch go'));
    await report;
    await jail.end();
  });

  it('that cannot be made leaves nothing: no one is at work, and the next one can', async () => {
    const cwd = project();
    await assert.rejects(kept(cwd, {}, { ...host, jailProgram: '/nonexistent' }));
    assert.deepEqual(await atWork(cwd), []);
    const fails = { append: () => assert.fail('a full disk') } as unknown as Host['recorder'];
    await assert.rejects(kept(cwd, {}, { ...host, recorder: fails }));
    assert.deepEqual(await atWork(cwd), []);
    const jail = await kept(cwd);
    assert.equal((await jail.exec(sh(cwd, 'true'))).exitCode, 0);
    await jail.end();
  });

  it('cannot go on when its vault is gone, and ends commands that run with it', async () => {
    const cwd = project();
    const jail = await kept(cwd);
    const { report } = await waiting(jail, cwd);
    await jail.end();
    const ended = await report.then(
      ({ exitCode, signal }) => exitCode !== 0 || signal !== null,
      () => true,
    );
    assert.ok(ended);
    await assert.rejects(jail.exec(sh(cwd, 'true')));
    const other = project();
    const lost = await kept(other);
    rmSync(vaultPaths(host.store.directory, vaultId(other)).directory, { recursive: true });
    await assert.rejects(lost.exec(sh(other, 'true')), { code: 'ESTALE' });
    await assert.rejects(lost.exec(sh(cwd, 'true')), { code: 'ESTALE' });
    await lost.end();
    assert.equal(existsSync(vaultPaths(host.store.directory, vaultId(other)).directory), false);
  });

  it('ends while a command waits for its fork, and touches no other file of this process', async () => {
    const cwd = project();
    const jail = await kept(cwd);
    const { lock: file } = placeOf(cwd);
    const lock = await takeLock(host.tree, file, { wait: true, purpose: 'another', what: 'main' });
    const refused = assert.rejects(jail.exec(sh(cwd, 'true')), { code: 'EPIPE' });
    const waits = new RegExp(`-> FLOCK .*:${statSync(file).ino} `);
    await until(() => waits.test(readFileSync('/proc/locks', 'utf8')), 'it waits for the fork');
    await jail.end();
    // Among them is whatever was closed meanwhile.
    const own = Array.from({ length: 30 }, (_, index) => join(project(), `own-${index}`));
    const held = own.map((path) => openSync(path, 'w+'));
    closeSync(lock);
    await refused;
    await assert.rejects(jail.exec(sh(cwd, 'true')), { code: 'EPIPE', message: /the jail has ended/ });
    for (const descriptor of held) closeSync(descriptor);
    assert.deepEqual([...new Set(own.map((path) => readFileSync(path, 'utf8')))], ['']);
    assert.deepEqual(await atWork(cwd), []);
  });
});
