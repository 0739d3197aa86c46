import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { RecordEntry } from '../audit/record.js';
import { ErrnoError } from '../base/errno.js';
import type { RunningJail } from '../jail/launch.js';
import { readGroup } from '../vault/store/group.js';
import { storePaths, vaultId, vaultPaths } from '../vault/store/layout.js';
import type { AgentView } from './agent-views.js';
import { execute, settled } from './execute.js';
import { type TestHost, testHost } from './host-fixture.js';
import { prepareFork } from './prepare.js';
import type { Envelope } from './report/envelope.js';
import type { ExecRequest } from './run/exec-request.js';
import { onDirectory } from './run/live-target.js';
import { onFork } from './run/open-fork-target.js';
import type { TargetReport } from './run/target.js';

const { host, base, project, recorded, warned } = testHost();
const isRoot = process.geteuid?.() === 0;

function sh(cwd: string, script: string, more: Partial<ExecRequest> = {}): ExecRequest {
  const own = {
    cwd,
    environmentAdditions: [],
    weakened: [],
    streams: 'capture',
    stdin: 'nothing',
    wait: false,
  } as const;
  return { argv: ['sh', '-c', script], ...own, ...more };
}

const onItsFork = (request: ExecRequest, by: TestHost['host'] = host) => execute(by, request, onFork);
const changesOf = ({ changes }: Envelope) => changes.map(({ kind, path }) => `${kind} ${path}`);

const atWork = (cwd: string) => readGroup(host.tree, vaultPaths(host.store.directory, vaultId(cwd)).fork('main'));

/** What was recorded since, of runs; undefined members are not written. */
function since(from: number): readonly RecordEntry[] {
  return (JSON.parse(JSON.stringify(recorded.slice(from))) as RecordEntry[]).filter(
    ({ type }) => type !== 'audit.chain',
  );
}

/** Without what is of this one run and host. */
function lasting(report: TargetReport): object {
  const { run, startedAt, durationMilliseconds, resources, request: _request, authority, ...rest } = report;
  assert.match(run, /^[\w-]{10,}$/);
  assert.match(startedAt, /^\d{4}-.*Z$/);
  assert.ok(durationMilliseconds > 0 && resources.peakMemoryKilobytes > 0);
  assert.match(authority, /^sha256:/);
  return rest;
}

describe('a command on a fork', () => {
  it('has all of this in its report, and the same in the record, before and after', async () => {
    const cwd = project({ a: 'one\n' });
    const begun = recorded.length;
    const argv = ['sh', '-c', 'cat a; echo two > b; echo no >&2; exit 3'];
    const ready: string[] = [];
    const report = await onItsFork(
      sh(cwd, argv[2] ?? '', {
        ...{ onReady: () => ready.push('ready'), onStarted: () => ready.push('started') },
        onOutput: (stream, chunk) => void ready.push(`${stream} ${chunk}`),
      }),
    );
    const decision = {
      action: 'allow_with_checkpoint',
      categories: ['mutating'],
      reason: 'writes a file',
      rule: 'default',
    };
    const id = vaultId(cwd);
    assert.deepEqual(ready.slice(0, 2), ['ready', 'started']);
    assert.deepEqual(ready.slice(2).sort(), ['stderr no\n', 'stdout one\n']);
    assert.deepEqual(lasting(report), {
      ...{ version: 1, argv, directory: cwd, agent: null, decision, approval: null },
      ...{ exitCode: 3, signal: null, timedOut: false },
      stdout: { text: 'one\n', bytes: 4, dropped: 0 },
      stderr: { text: 'no\n', bytes: 3, dropped: 0 },
      ...{ refusals: [], connections: [], limitEvents: [], limitsReached: [], weakened: [], warnings: [] },
      record: { chain: 'person', seq: 3 },
      workspace: { origin: cwd, vault: id, fork: 'main' },
      ...{ keptJail: null, checkpoint: 1, roots: [], live: [], changes: report.changes },
      ...{ beside: [], besideCount: 0, pending: 1, entered: [], clashes: [] },
    });
    assert.deepEqual(changesOf(report), ['added b']);
    const [begin, end, ...more] = since(begun);
    const { stateBefore, ...facts } = begin?.facts ?? {};
    assert.match(String(stateBefore), /^[0-9a-f]{64}$/);
    const whose = { type: 'exec', object: `fork/${id}/main` };
    const known = {
      ...{ argv, directory: cwd, origin: cwd, authority: report.authority, weakened: [], decision, approval: null },
      ...{ injected: [], checkpoint: 1, run: report.run },
    };
    assert.deepEqual([{ ...begin, facts }, more], [{ ...whose, status: 'begin', facts: known }, []]);
    const { stateAfter, ...ended } = end?.facts ?? {};
    assert.match(String(stateAfter), /^[0-9a-f]{64}$/);
    assert.deepEqual(
      { ...end, facts: ended },
      {
        ...whose,
        status: 'failed',
        facts: {
          ...{ ...known, stateBefore, exitCode: 3, signal: null, timedOut: false, changes: ['added b'] },
          ...{ refusals: [], connections: [], limitsReached: [] },
        },
      },
    );
    assert.equal(existsSync(join(cwd, 'b')), false);
    assert.deepEqual(await atWork(cwd), { live: [], dead: [] });
  });

  it('finds what earlier commands did, and what the person edited since; each is told once', async () => {
    const cwd = project({ mine: 'one', both: 'one' });
    const first = await onItsFork(sh(cwd, 'echo fork > both; echo new > made; mkdir -p sub'));
    writeFileSync(join(cwd, 'mine'), 'edited');
    writeFileSync(join(cwd, 'both'), 'edited');
    const second = await onItsFork(sh(join(cwd, '.'), 'cat mine made both; rm made'));
    assert.deepEqual(
      [changesOf(first), first.checkpoint, first.pending],
      [['modified both', 'added made', 'added sub'], 1, 3],
    );
    assert.deepEqual([second.stdout?.text, second.checkpoint, second.pending], ['editednew\nfork\n', 2, 2]);
    assert.deepEqual([changesOf(second), second.entered], [['restored made'], ['both', 'mine']]);
    assert.deepEqual(second.clashes, ['both']);
    const third = await onItsFork(sh(cwd, 'true'));
    assert.deepEqual([third.entered, changesOf(third), third.pending], [[], [], 2]);
  });

  it('is beside another: the one that came later has no checkpoint, and each is told of the other', async () => {
    const cwd = project({ a: '' });
    const slow = 'touch begun; while [ ! -e go ]; do sleep 0.01; done';
    let first: Promise<Envelope> | undefined;
    const jail = await new Promise<RunningJail>((onStarted) => {
      first = onItsFork(sh(cwd, slow, { onStarted }));
    });
    await jail.started;
    await assert.rejects(onItsFork(sh(cwd, 'true', { alone: true })), { code: 'EBUSY' });
    const second = await onItsFork(sh(cwd, 'while [ ! -e begun ]; do sleep 0.01; done; touch made'));
    const third = await onItsFork(sh(cwd, 'touch go'));
    const one = (await first) ?? assert.fail();
    const [text, later] = [`sh -c ${slow}`, [second, third].map(({ argv }) => argv.join(' '))];
    assert.deepEqual([second.checkpoint, second.beside, second.besideCount], [null, [text], 1]);
    assert.ok(changesOf(second).includes('added made'), String(changesOf(second)));
    assert.deepEqual(changesOf(third), ['added go']);
    assert.deepEqual([one.checkpoint, one.beside, one.besideCount], [1, later, 2]);
    assert.deepEqual(changesOf(one), ['added begun', 'added go', 'added made']);
    for (const { run, beside } of [one, second]) {
      const [, end] = since(0).filter(({ facts }) => facts?.['run'] === run);
      assert.deepEqual([end?.facts?.['beside'], end?.facts?.['besideCount']], [beside, undefined]);
      if (run === second.run) assert.equal(end?.facts?.['stateAfter'], null, 'others were still writing');
    }
  });

  it('sees the workspace read-only, in the fork it named, with the home that was given, where it was asked', async () => {
    const cwd = project({ a: '' });
    const home = join(base, 'given-home');
    mkdirSync(home, { mode: 0o777 });
    const look = 'touch b && echo wrote; touch ~/in-home && echo home; echo "$GIVEN"';
    const open = await onItsFork(sh(cwd, look, { environmentAdditions: ['GIVEN=one'] }));
    const closed = await onItsFork(sh(cwd, look, { readonly: true, fork: 'main' }));
    assert.deepEqual([open.stdout?.text, closed.stdout?.text], ['wrote\nhome\none\n', 'home\n\n']);
    const text = 'touch ~/here';
    await onItsFork(sh(cwd, text, isRoot ? {} : { home }));
    if (!isRoot) assert.deepEqual(readdirSync(home), ['here']);
    await assert.rejects(onItsFork(sh(cwd, 'true', { fork: 'nowhere' })), { code: 'ENOENT' });
    const own = project({ '.ctx/file': '' });
    const kept = await onItsFork(sh(own, 'touch .ctx/x || echo closed; touch y && echo open'));
    assert.equal(kept.stdout?.text, 'closed\nopen\n', 'what ctx reads of the workspace is the person’s to write');
  });

  it('writes further directories in the fork, and says which; live ones are written directly, and said to be', async () => {
    const [cwd, other, direct] = [project({ a: '' }), project({ x: 'old' }), project({ y: 'old' })];
    const script = `echo new > ${other}/x; echo new > ${direct}/y`;
    const { roots, live, changes, warnings } = await onItsFork(
      sh(cwd, script, { writes: [other], liveWrites: [direct] }),
    );
    assert.deepEqual([roots, live, changes.length], [[other], [direct], 1]);
    assert.equal(readFileSync(join(other, 'x'), 'utf8'), 'old');
    if (!isRoot) assert.equal(readFileSync(join(direct, 'y'), 'utf8'), 'new\n');
    assert.ok(warnings.some((text) => text.includes(direct) && text.includes('cannot be undone')));
  });

  it('takes as long as it may, and as its limits say: whichever is shorter', async () => {
    const cwd = project();
    const shortTime = await onItsFork(sh(cwd, 'sleep 60', { timeoutMilliseconds: 40, quota: { wallTime: 60 } }));
    const [events, from] = [[] as unknown[], recorded.length];
    const shortLimit = await onItsFork(
      sh(cwd, 'sleep 60', {
        ...{ timeoutMilliseconds: 60_000, quota: { wallTime: 1 } },
        onLimit: (event) => void events.push(event),
      }),
    );
    assert.ok(shortLimit.limitEvents.some(({ percent }) => percent === 100));
    assert.deepEqual(events, shortLimit.limitEvents);
    const limits = since(from).filter(({ type }) => type === 'limit');
    const statuses = shortLimit.limitEvents.map(({ percent }) => (percent === 100 ? 'denied' : 'ok'));
    assert.deepEqual([limits.map(({ status }) => status), limits.map(({ facts }) => facts)], [statuses, events]);
    for (const { timedOut, exitCode } of [shortTime, shortLimit])
      assert.deepEqual([timedOut, exitCode !== 0], [true, true]);
  });

  it('that could not be started is in the record as failed, and leaves the fork as it was', async () => {
    const cwd = project({ a: '' });
    await onItsFork(sh(cwd, 'true'));
    for (const [more, by, code] of [
      [{ signal: AbortSignal.abort() }, host, 'ECANCELED'],
      [{}, { ...host, jailProgram: '/nonexistent' }, 'ENOENT'],
      [{ onReady: () => assert.fail('a fault') }, host, 'EIO'],
    ] as const) {
      const from = recorded.length;
      await assert.rejects(onItsFork(sh(cwd, 'true', more), by));
      const kinds = since(from).map(({ status, facts }) => [status, facts?.['error']]);
      if (kinds.length > 0)
        assert.deepEqual(kinds, [
          ['begin', undefined],
          ['failed', code],
        ]);
      else assert.equal(code, 'ECANCELED');
      assert.deepEqual(await atWork(cwd), { live: [], dead: [] }, code);
    }
    assert.equal((await onItsFork(sh(cwd, 'true', { alone: true }))).exitCode, 0);
  });

  it('whose changes cannot be looked at afterwards has its end in the record, and the error says how it ended', async () => {
    const cwd = project();
    let isOver = false;
    const diff = () => Promise.reject(new ErrnoError('EIO', { operation: 'tree diff', reason: 'it was killed' }));
    const tree = new Proxy(host.tree, {
      get(real, name) {
        if (isOver && name === 'diff') return diff;
        const found: unknown = Reflect.get(real, name);
        return typeof found === 'function' ? found.bind(real) : found;
      },
    });
    const onOutput = () => {
      isOver = true;
    };
    const from = recorded.length;
    await assert.rejects(onItsFork(sh(cwd, 'echo two > b; echo over; exit 3', { onOutput }), { ...host, tree }), {
      code: 'EIO',
      reason: 'the command ended (exit 3), and what it changed could not be looked at: it was killed',
    });
    assert.deepEqual(
      since(from).map(({ status, facts }) => [status, facts?.['exitCode'], facts?.['unseen'], facts?.['changes']]),
      [
        ['begin', undefined, undefined, undefined],
        ['failed', 3, 'EIO', undefined],
      ],
    );
    assert.deepEqual(await atWork(cwd), { live: [], dead: [] });
    assert.deepEqual(changesOf(await onItsFork(sh(cwd, 'cat b'))), []);
  });

  it('that needs no words is refused before anything is made', async () => {
    const cwd = project();
    for (const argv of [[], ['']]) await assert.rejects(onItsFork({ ...sh(cwd, ''), argv }), { code: 'EINVAL' });
    assert.equal(existsSync(vaultPaths(host.store.directory, vaultId(cwd)).directory), false);
    await assert.rejects(onItsFork(sh(cwd, 'true', { mounts: ['memory:=/m'] })), { code: 'ENOTSUP' });
  });

  it('is refused before anything is made where a variable that it would pass on is not set, and a person is not asked', async () => {
    const cwd = project();
    const refusals = [
      ['true', ['UNSET_NAME']],
      ['true', ['LANG', 'A=1', 'UNSET_NAME']],
      ['true', ['1A=2']],
      ['true', ['']],
      ['true', ['=x']],
      ['npm publish', ['UNSET_NAME']],
    ] as const;
    for (const [script, environmentAdditions] of refusals) {
      const from = recorded.length;
      await assert.rejects(onItsFork(sh(cwd, script, { environmentAdditions })), { code: 'EINVAL' }, script);
      assert.deepEqual(
        since(from).map(({ status, facts }) => [status, facts?.['error']]),
        [['denied', 'EINVAL']],
      );
    }
    await assert.rejects(execute(host, sh(cwd, 'true', { environmentAdditions: ['UNSET_NAME'] }), onDirectory), {
      code: 'EINVAL',
    });
    assert.equal(existsSync(vaultPaths(host.store.directory, vaultId(cwd)).directory), false);
    const set = await onItsFork(sh(cwd, 'echo "$LANG $EMPTY."', { environmentAdditions: ['LANG', 'EMPTY='] }));
    assert.equal(set.stdout?.text, 'C.UTF-8 .\n');
  });

  it('that was refused by a rule is in the record, with who asked and what was decided', async () => {
    const cwd = project();
    const from = recorded.length;
    await assert.rejects(onItsFork(sh(cwd, ':', { argv: ['sudo', 'ls'] })), { code: 'EACCES' });
    const [refused, ...more] = since(from);
    assert.deepEqual(
      [refused?.object, refused?.status, refused?.layer, more],
      [`workspace/${cwd}`, 'denied', 'proxy', []],
    );
    const { decision, reason, ...facts } = refused?.facts ?? {};
    assert.deepEqual(facts, { argv: ['sudo', 'ls'], directory: cwd, origin: cwd, asked: null, error: 'EACCES' });
    assert.equal((decision as { readonly action: string }).action, 'deny');
    assert.equal(typeof reason, 'string');
  });
});

describe('a command on the directory itself', () => {
  const onIt = (request: ExecRequest) => execute(host, request, onDirectory);

  it('writes there, and says that nothing of it can be undone', async () => {
    const cwd = project({ a: 'one\n' });
    const from = recorded.length;
    const report = await onIt(sh(cwd, 'cat a; echo two > b'));
    const { workspace, live, stdout, decision } = report;
    assert.deepEqual(workspace, { origin: cwd, vault: null, fork: null });
    assert.deepEqual([live, stdout?.text, report.request.live], [[cwd], 'one\n', true]);
    assert.equal('changes' in report || 'checkpoint' in report || 'mounts' in report, false);
    const asNobody = report.warnings.filter((text) => text.includes("root's commands run as an unprivileged user"));
    assert.equal(existsSync(join(cwd, 'b')), asNobody.length === 0);
    const entries = since(from);
    assert.deepEqual(
      entries.map(({ object, status, facts }) => [object, status, facts?.['live'], facts?.['checkpoint']]),
      [
        [`workspace/${cwd}`, 'begin', true, undefined],
        [`workspace/${cwd}`, report.exitCode === 0 ? 'ok' : 'failed', true, undefined],
      ],
    );
    assert.equal(decision.rule, 'default');
    assert.deepEqual(readdirSync(storePaths(host.store.directory).liveRuns), [], 'no run is under way');
    assert.equal(existsSync(vaultPaths(host.store.directory, vaultId(cwd)).directory), false, 'no vault is made');
  });

  it('that cannot be recorded leaves no note of a run, nor a file open', async () => {
    const cwd = project();
    const { recorder } = host;
    const append = (entry: RecordEntry) => {
      if (entry.status === 'begin') throw new ErrnoError('ENOSPC', { operation: 'record', reason: 'no room' });
      return recorder.append(entry);
    };
    await onIt(sh(cwd, 'true'));
    const open = readdirSync('/proc/self/fd').length;
    const refused = execute({ ...host, recorder: { append } }, sh(cwd, 'true'), onDirectory);
    await assert.rejects(refused, { code: 'ENOSPC' });
    assert.deepEqual(readdirSync(storePaths(host.store.directory).liveRuns), []);
    assert.equal(readdirSync('/proc/self/fd').length, open);
  });

  it('is refused what only a fork has, and where ctx keeps its own files', async () => {
    const cwd = project();
    for (const [more, code] of [
      [{ fork: 'main' }, 'EINVAL'],
      [{ readonly: true }, 'EINVAL'],
      [{ quota: { disk: 1 << 20 } }, 'ENOTSUP'],
      [{ quota: { inodes: 10 } }, 'ENOTSUP'],
      [{ cwd: base }, 'EINVAL'],
    ] as const) {
      await assert.rejects(onIt(sh(cwd, 'true', more)), { code }, JSON.stringify(more));
    }
    assert.equal((await onIt(sh(cwd, 'true', { quota: { pids: 30 } }))).exitCode, 0);
  });

  it('that was killed with its owner gets an end in the record from the next', async () => {
    const cwd = project();
    const { liveRuns } = storePaths(host.store.directory);
    mkdirSync(liveRuns, { recursive: true });
    const whose = { type: 'exec', object: 'workspace/x', agent: null } as const;
    for (const run of ['killed', 'whole'])
      host.recorder.append({ ...whose, status: 'begin', facts: { run, argv: ['x'] } });
    host.recorder.append({ ...whose, status: 'ok', facts: { run: 'whole' } });
    for (const run of ['killed', 'whole', 'unknown']) {
      writeFileSync(join(liveRuns, run), `${JSON.stringify({ run, agent: null })}\n`);
    }
    writeFileSync(join(liveRuns, 'said nothing'), '{"run":"killed"');
    writeFileSync(join(liveRuns, 'damaged'), '{"run":\n');
    const from = recorded.length;
    await onIt(sh(cwd, 'true'));
    const ended = since(from).filter(({ facts }) => facts?.['interrupted'] === true);
    assert.deepEqual(ended, [
      {
        ...whose,
        status: 'failed',
        session: null,
        makesRoom: true,
        facts: { run: 'killed', argv: ['x'], interrupted: true },
      },
    ]);
    assert.deepEqual(readdirSync(liveRuns), []);
  });
});

describe('the view of a command', () => {
  const viewed = (notes: readonly string[], ended: string[] = []) =>
    ({ settle: async () => notes, end: async () => void ended.push('ended') }) as unknown as AgentView;
  const report = { warnings: ['one'] } as unknown as TargetReport;

  it('says at the end what became of what its tools asked of the fork', async () => {
    assert.equal(await settled(report, undefined), report);
    assert.equal(await settled(report, viewed([])), report);
    assert.deepEqual(await settled(report, viewed(['two'])), { warnings: ['one', 'two'] });
  });

  it('ends with it, also where it could not be started', async () => {
    const ended: string[] = [];
    const asked: unknown[] = [];
    const views = async (each: { readonly pending?: unknown; readonly tool?: unknown }) => {
      asked.push([each.tool, each.pending]);
      return viewed([], ended);
    };
    const cwd = project();
    const by = { ...host, views, agents: host.agents };
    await assert.rejects(onItsFork(sh(cwd, 'true', { calledTool: 'x', fork: 'nowhere' }), by), { code: 'ENOENT' });
    if (asked.length > 0) assert.deepEqual([asked, ended], [[['x', []]], ['ended']]);
  });
});

describe('a fork that is made ready', () => {
  it('is imported once, takes over edits, and says what it found', async () => {
    const cwd = project({ a: 'one', 'sub/b': 'two' });
    const request = { ...sh(join(cwd, 'sub'), ''), wait: false };
    const first = await prepareFork(host, { ...request, cwd });
    const { authority, ...rest } = first;
    assert.match(authority, /^sha256:/);
    assert.deepEqual(rest, {
      workspace: { origin: cwd, vault: vaultId(cwd), fork: 'main' },
      ...{ agent: null, roots: [], checkpoint: 1, imported: true, entered: [], clashes: [], problems: [] },
    });
    writeFileSync(join(cwd, 'a'), 'edited');
    const other = project({ x: '' });
    const second = await prepareFork(host, { ...request, cwd, writes: [other] });
    assert.deepEqual([second.imported, second.entered, second.roots], [false, ['a'], [other]]);
    const report = await onItsFork(sh(cwd, 'cat a; rm -r sub', { alone: true, writes: [other] }));
    assert.deepEqual([report.stdout?.text, report.entered, warned], ['edited', [], []]);
    rmSync(other, { recursive: true });
    await assert.rejects(prepareFork(host, { ...request, cwd, fork: 'nowhere' }), { code: 'ENOENT' });
  });
});
