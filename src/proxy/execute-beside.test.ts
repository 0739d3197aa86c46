/** What happens beside a command: the person edits, git's index is refreshed, other forks and other commands are at work. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { nativeProgram } from '../base/native-program.js';
import type { RunningJail } from '../jail/launch.js';
import { extendTrunk } from '../vault/forks/trunk.js';
import { makeLayer } from '../vault/store/layer-pool.js';
import { vaultId, vaultPaths } from '../vault/store/layout.js';
import { readVaultMeta } from '../vault/store/vault-meta.js';
import { type Change, Tree } from '../vault/tree/tree.js';
import { execute } from './execute.js';
import { testHost } from './host-fixture.js';
import type { Envelope } from './report/envelope.js';
import type { ExecRequest } from './run/exec-request.js';
import { onFork } from './run/open-fork-target.js';
import { type PlanRequest, planOf } from './run/shown-plan.js';

const { host, project } = testHost();

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
const run = (cwd: string, script: string, more: Partial<ExecRequest> = {}) =>
  execute(host, sh(cwd, script, more), onFork);
const changesOf = ({ changes }: Envelope) => changes.map(({ kind, path }) => `${kind} ${path}`);

/** A command that has started, and its report to be. */
async function started(cwd: string, script: string, more: Partial<ExecRequest> = {}) {
  let report: Promise<Envelope> | undefined;
  const jail = await new Promise<RunningJail>((onStarted, reject) => {
    report = run(cwd, script, { onStarted, ...more });
    report.catch(reject);
  });
  await jail.started;
  return { report: report ?? assert.fail() };
}

describe('what the person edits while a command runs', () => {
  it('enters its fork, is told of as theirs, and is not its change', async () => {
    const cwd = project({ a: 'one' });
    const { report } = await started(cwd, 'touch own; while [ ! -e new ]; do sleep 0.02; done; cat a');
    writeFileSync(join(cwd, 'a'), 'edited');
    writeFileSync(join(cwd, 'new'), '');
    const { stdout, entered, changes, warnings } = await report;
    assert.deepEqual(
      [stdout?.text, [...entered].sort(), changes.map(({ path }) => path), warnings],
      ['edited', ['a', 'new'], ['own'], []],
    );
  });

  it('is told of with the command that comes, and what both changed is a clash for all of them', async () => {
    const cwd = project({ a: 'one', both: 'one' });
    const first = await started(cwd, 'echo fork > both; touch begun; while [ ! -e go ]; do sleep 0.01; done');
    await run(cwd, 'while [ ! -e begun ]; do sleep 0.01; done');
    writeFileSync(join(cwd, 'both'), 'edited');
    const second = await run(cwd, 'cat both; touch go');
    assert.deepEqual([second.stdout?.text, second.clashes], ['fork\n', ['both']]);
    assert.deepEqual((await first.report).clashes, ['both']);
  });

  it('enters at the end where one is alone by its wish, or was approved for what it finds', async () => {
    const cwd = project({ a: 'one' });
    const { report } = await started(cwd, 'sleep 0.6; cat a', { alone: true });
    writeFileSync(join(cwd, 'a'), 'edited');
    assert.equal((await report).stdout?.text, 'one');
    assert.deepEqual((await run(cwd, 'cat a')).entered, ['a']);
  });
});

describe('git in a fork', () => {
  function repository(): string {
    const cwd = project({ a: 'one', b: 'two' });
    const environment = { PATH: '/usr/bin:/bin', HOME: cwd, GIT_CONFIG_NOSYSTEM: '1' };
    const git = (...words: readonly string[]) => {
      const { status, stderr } = spawnSync('git', words, { cwd, env: environment, encoding: 'utf8' });
      assert.equal(status, 0, stderr);
    };
    // Older than any index: git looks again at what is as new as that.
    for (const name of ['a', 'b']) utimesSync(join(cwd, name), 1_000, 1_000);
    git('init', '-q');
    git('add', '.');
    git('-c', 'user.name=x', '-c', 'user.email=x@x', 'commit', '-qm', 'x');
    return cwd;
  }

  it('finds an index that is refreshed: to look at the status changes nothing, and is no change of anybody', async () => {
    const cwd = repository();
    const first = await run(cwd, 'git status --porcelain && echo clean');
    assert.deepEqual([first.stdout?.text, changesOf(first), first.pending, first.entered], ['clean\n', [], 0, []]);
    utimesSync(join(cwd, 'a'), 5, 5);
    spawnSync('git', ['update-index', '--refresh'], { cwd, env: { PATH: '/usr/bin:/bin', HOME: cwd } });
    const again = await run(cwd, 'git status --porcelain && echo clean');
    assert.deepEqual([again.stdout?.text, changesOf(again)], ['clean\n', []]);
  });

  it('has the index as it is where to refresh it would write anything else, and where it is broken', async () => {
    const cwd = repository();
    writeFileSync(join(cwd, '.git/index'), 'broken');
    const broken = await run(cwd, 'cat .git/index');
    assert.deepEqual([broken.stdout?.text, broken.exitCode], ['broken', 0]);
    const filtered = repository();
    writeFileSync(join(filtered, '.git/config'), '[filter "x"]\n\tclean = "touch written; cat"\n', { flag: 'a' });
    writeFileSync(join(filtered, '.gitattributes'), '* filter=x\n');
    utimesSync(join(filtered, 'a'), 5, 5);
    const seen = await run(filtered, 'ls written 2>/dev/null; true');
    assert.deepEqual([seen.stdout?.text, seen.pending, changesOf(seen)], ['', 0, []]);
  });

  it('has the index as it is where another fork has taken over edits while it was refreshed', async () => {
    const cwd = repository();
    const id = vaultId(cwd);
    const paths = vaultPaths(host.store.directory, id);
    const trunk = () => readVaultMeta(paths.meta)?.trunk;
    let taken: readonly string[] | undefined;
    class BusyTree extends Tree {
      /** What the refresh wrote is looked at, right before it would become a part of the trunk. */
      override async diff(options: Parameters<Tree['diff']>[0]): Promise<Change[]> {
        const vault = readVaultMeta(paths.meta);
        if (taken === undefined && vault !== undefined) {
          const access = { id, paths, tree: host.tree, store: host.store, owner: { uid: 0, gid: 0, shift: 0 } };
          taken = extendTrunk(access, vault, [makeLayer(paths, { trunk: true })], new Map()).trunk;
        }
        return super.diff(options);
      }
    }
    const busy = new BusyTree({ program: nativeProgram('tree'), lockLibrary: host.lockLibrary });
    await execute({ ...host, tree: busy }, sh(cwd, 'true'), onFork);
    assert.equal(taken?.length, 2);
    assert.deepEqual(trunk(), taken);
  });
});

describe('caches of the person’s', () => {
  it('are there for a command, and what it writes into them stays with the fork', async () => {
    const cache = join(host.home, '.cache/pip');
    mkdirSync(cache, { recursive: true });
    writeFileSync(join(cache, 'kept'), 'text');
    const cwd = project();
    const first = await run(cwd, 'cat ~/.cache/pip/kept; echo more > ~/.cache/pip/made && echo wrote');
    const second = await run(cwd, 'cat ~/.cache/pip/made');
    const other = await run(project(), 'cat ~/.cache/pip/made 2> /dev/null; cat ~/.cache/pip/kept');
    assert.deepEqual(
      [first, second, other].map(({ stdout }) => stdout?.text),
      ['textwrote\n', 'more\n', 'text'],
    );
    assert.deepEqual([readdirSync(cache), changesOf(first)], [['kept'], []]);
    rmSync(cache, { recursive: true });
  });
});

describe('the plan that a command would have', () => {
  it('is shown without anything being made, and is the one that runs', async () => {
    const cwd = project({ x: '' });
    const other = project();
    const asked: PlanRequest = {
      argv: ['make', 'it'],
      cwd,
      reads: [],
      writes: [other],
      liveWrites: [],
      siblings: false,
    };
    const plan = await planOf(host, asked);
    const of = <Kind extends (typeof plan)[number]['do']>(kind: Kind) =>
      plan.filter((each): each is Extract<(typeof plan)[number], { readonly do: Kind }> => each.do === kind);
    assert.deepEqual([of('command')[0]?.argv, of('command directory')[0]?.path], [['make', 'it'], cwd]);
    const [first, second] = of('overlay');
    assert.deepEqual([first?.target, second?.target], [cwd, other].sort());
    assert.match(first?.lower.join() ?? '', /^layer\/import\//);
    const paths = vaultPaths(host.store.directory, vaultId(cwd));
    assert.equal(readVaultMeta(paths.meta), undefined);
    await run(cwd, 'touch made', { writes: [other] });
    const later = (await planOf(host, asked)).find((each) => each.do === 'overlay' && each.target === cwd);
    assert.ok(later?.do === 'overlay' && !later.lower.join().includes('layer/import/') && later.lower.length > 0);
    await assert.rejects(planOf(host, { ...asked, agent: 'nobody' }));
  });
});
