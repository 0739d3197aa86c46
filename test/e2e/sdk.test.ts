/** The SDK: what docs/sdk.md shows runs, and a workspace does what the verbs do. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { type ErrnoCode, ErrnoError, judge, type OpenOptions, open, operate, type Workspace } from 'ctxfs';
import { idleSyncMilliseconds } from '../../src/base/limits/store.js';
import { verbs } from '../../src/cli/verbs.js';
import { assertNothingLeft } from '../support/leftovers.js';
import { until } from '../support/process.js';
import { checkout } from '../support/program.js';
import { Stage, useStage } from '../support/stage.js';
import { asOneUser, forEitherUser } from '../support/users.js';

const guide = readFileSync(join(checkout, 'docs', 'sdk.md'), 'utf8');
/** Each example, and what the text below it says that it prints. */
const examples = [...guide.matchAll(/^```js\n([\s\S]*?)^```\n\nprints\n\n```text\n([\s\S]*?)^```$/gm)].map(
  ([, source = '', printed = '']) => ({ source, printed }),
);

function runs(words: string): boolean {
  return readdirSync('/proc').some((entry) => {
    try {
      return /^\d+$/.test(entry) && readFileSync(`/proc/${entry}/cmdline`, 'utf8').startsWith(words);
    } catch {
      return false; // ended meanwhile
    }
  });
}

forEitherUser((user) => {
  const stage = useStage(user);

  test('the examples of docs/sdk.md print what it says', async (context) => {
    // Where the checkout is closed to the user, the stage has a copy of the CLI alone.
    if (dirname(dirname(stage.program)) !== checkout) return context.skip('this user cannot enter the checkout');
    symlinkSync(checkout, join(stage.makeDirectory('node_modules'), 'ctxfs'));
    assert.equal(examples.length, 2);
    for (const { source, printed } of examples) {
      const script = join(stage.directory, 'example.mjs');
      writeFileSync(script, source);
      const { code, stdout, stderr } = await stage.start(stage.project(), [process.execPath, script]).finished;
      assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: printed, stderr: '' });
    }
  });
});

test('docs/sdk.md has a call for every verb', () => {
  const named = new Set(
    [...guide.matchAll(/^\|([^|]*)\|/gm)].flatMap(([, cell = '']) => cell.match(/(?<=`)[a-z][^`]*(?=`)/g)),
  );
  assert.deepEqual(
    verbs.map(({ name }) => name).filter((name) => !named.has(name)),
    [],
  );
});

asOneUser((user) => {
  const stage = new Stage(user);
  const home = process.env['HOME'];
  before(() => {
    stage.set();
    process.env['HOME'] = stage.home;
  });
  after(async () => {
    process.env['HOME'] = home;
    await stage.strike();
  });

  async function inWorkspace(
    use: (workspace: Workspace, project: string) => Promise<void>,
    { script = ':', ...options }: OpenOptions & { readonly script?: string } = {},
  ): Promise<void> {
    const project = stage.project(script);
    const workspace = await open({ directory: project, data: stage.store, ...options });
    try {
      await use(workspace, project);
    } finally {
      await workspace.close();
    }
  }

  const refuses = (code: ErrnoCode) => (error: unknown) => {
    assert.ok(error instanceof ErrnoError, String(error));
    assert.equal(error.code, code, error.message);
    return true;
  };

  describe('a workspace', { concurrency: 4 }, () => {
    test('runs a command in a jail of its own, and reports what it did', () =>
      inWorkspace(async (workspace, project) => {
        const report = await workspace.exec({ shell: 'echo out; echo err >&2; echo x > made; exit 3' });
        assert.deepEqual(
          [report.exitCode, report.stdout?.text, report.stderr?.text, report.changes.map(({ path }) => path)],
          [3, 'out\n', 'err\n', ['made']],
        );
        assert.equal(existsSync(join(project, 'made')), false);
      }));

    test('its kept jail goes on from command to command, with what they leave running', () =>
      inWorkspace(async (workspace) => {
        const first = await workspace.run({ shell: 'readlink /proc/self/ns/pid; sleep 1000 & echo $! > pid' });
        const second = await workspace.run({ shell: 'readlink /proc/self/ns/pid; kill $(cat pid)' });
        assert.equal(first.stdout?.text, second.stdout?.text);
        assert.equal(second.exitCode, 0, second.stderr?.text);
      }));

    test('a command is spoken with while it runs', () =>
      inWorkspace(async (workspace) => {
        const heard: string[] = [];
        const report = await workspace.run(['cat'], {
          input: 'spoken',
          onOutput: (stream, chunk) => void heard.push(`${stream} ${Buffer.from(chunk)}`),
        });
        assert.deepEqual([heard.join(), report.stdout?.text], ['stdout spoken', 'spoken']);
      }));

    test('a signal ends the command, in either jail, and its report tells', () =>
      inWorkspace(async (workspace) => {
        for (const way of ['exec', 'run'] as const) {
          const controller = new AbortController();
          const { signal } = controller;
          const seconds = way === 'exec' ? '98765' : '98766';
          const running = workspace[way](['sleep', seconds], { signal });
          await until(() => runs(`sleep\0${seconds}`), 'the command runs');
          controller.abort();
          assert.equal((await running).signal, 'SIGTERM');
          await assert.rejects(workspace[way](['true'], { signal }), refuses('ECANCELED'));
        }
      }));

    test('files are those of the fork, and one step back undoes a write', () =>
      inWorkspace(
        async (workspace, project) => {
          await workspace.write("deep/in/it's here", 'new\n');
          await workspace.write('file', Buffer.from([0, 255, 10]));
          assert.deepEqual([...(await workspace.read('file'))], [0, 255, 10]);
          assert.equal((await workspace.read('/etc/hostname').catch(() => Buffer.from('none'))).length > 0, true);
          assert.deepEqual(
            (await workspace.list('.', { depth: 3 })).entries.map(({ path, type }) => `${type} ${path}`),
            ['directory deep', 'directory deep/in', "file deep/in/it's here", 'file file', 'symlink link'],
          );
          await workspace.rollback();
          assert.equal(String(await workspace.read('file')), 'old\n');
          assert.equal(readFileSync(join(project, 'file'), 'utf8'), 'old\n');
          // Through the link of the fork, which stays one.
          await workspace.write('link', 'by the link\n');
          assert.equal(String(await workspace.read('file')), 'by the link\n');
        },
        { script: 'echo old > file; ln -s file link' },
      ));

    test('what a list names is what is read, written, run and applied, also where a name is not UTF-8', () =>
      inWorkspace(
        async (workspace, project) => {
          const names = (await workspace.list('.')).entries.map(({ path }) => path);
          assert.deepEqual(names, ['a\udcff', 'a\ufffd']);
          for (const name of names) {
            const before = Buffer.from(name === 'a\ufffd' ? 'sign\n' : 'byte\n');
            assert.deepEqual(await workspace.read(name), before);
            await workspace.write(name, `new ${before}`);
            await workspace.edit(name, { before: 'new', after: 'newer' });
            assert.equal((await workspace.run(['cat', name])).stdout?.text, `newer ${before}`);
            assert.equal((await workspace.exec(['cat', name])).stdout?.text, `newer ${before}`);
          }
          const { matches } = await workspace.search('newer byte');
          assert.deepEqual(matches, [{ path: 'a\udcff', line: 1, text: 'newer byte' }]);
          assert.equal((await workspace.apply({ paths: ['a\udcff'] })).done, true);
          assert.deepEqual(
            (await workspace.status()).changes.map(({ path }) => path),
            ['a\ufffd'],
          );
          assert.equal(readFileSync(Buffer.from(`${project}/a\xff`, 'latin1'), 'utf8'), 'newer byte\n');
          for (const act of [
            workspace.read('a\ud800'),
            workspace.write('a\ud800', ''),
            workspace.exec(['cat', '\ud800']),
          ])
            await assert.rejects(act, refuses('EINVAL'));
        },
        { script: 'echo byte > "$(printf \'a\\377\')"; echo sign > "$(printf \'a\\357\\277\\275\')"' },
      ));

    test('searching finds lines, and says where', () =>
      inWorkspace(
        async (workspace) => {
          await workspace.write('src/b.ts', 'let Beta = 1;\nlet x = "a.b";\n');
          const found = async (...search: Parameters<Workspace['search']>) =>
            (await workspace.search(...search)).matches.map(({ path, line, text }) => `${path}:${line}:${text}`);
          assert.deepEqual(await found('^let [A-Z]'), ['src/b.ts:1:let Beta = 1;']);
          assert.deepEqual(await found('a.b', { literal: true, path: 'src' }), ['src/b.ts:2:let x = "a.b";']);
          assert.deepEqual(await found('beta', { ignoreCase: true, include: '*.md' }), ['read.md:1:beta']);
          assert.deepEqual(await found('--version'), []);
          await assert.rejects(workspace.search('('), refuses('EINVAL'));
          await assert.rejects(workspace.search('x', { path: 'nowhere' }), refuses('ENOENT'));
        },
        { script: 'echo beta > read.md' },
      ));

    test('what cannot be done has a code', () =>
      inWorkspace(
        async (workspace) => {
          await assert.rejects(workspace.status(), refuses('ENOENT'));
          await assert.rejects(workspace.read('missing'), refuses('ENOENT'));
          await assert.rejects(workspace.read('directory'), refuses('EISDIR'));
          await assert.rejects(workspace.list('file'), refuses('ENOTDIR'));
          await assert.rejects(workspace.write('file/below', ''), refuses('ENOTDIR'));
          await assert.rejects(workspace.write('/usr/made', ''), refuses('EROFS'));
          await assert.rejects(workspace.read(''), refuses('EINVAL'));
          await assert.rejects(workspace.edit('file', { before: 'a', after: 'b' }), refuses('EINVAL'));
          await assert.rejects(workspace.edit('file', { before: 'absent', after: 'b' }), refuses('EINVAL'));
          await assert.rejects(workspace.exec([]), refuses('EINVAL'));
          await assert.rejects(workspace.exec(['true'], { directory: '/' }), refuses('EINVAL'));
          await assert.rejects(workspace.run(['true'], { directory: '..' }), refuses('EINVAL'));
          await assert.rejects(workspace.run(['true'], { directory: 'missing' }), refuses('ENOENT'));
          await assert.rejects(workspace.run(['no-such-program']), refuses('ENOENT'));
          assert.equal((await workspace.run(['pwd'], { directory: 'directory' })).exitCode, 0);
        },
        { script: 'echo aa > file; mkdir directory' },
      ));

    test('diff, checkpoints, forks, apply and drop are the verbs', () =>
      inWorkspace(
        async (workspace, project) => {
          await workspace.run({ shell: 'echo two >> file; echo more > other' });
          const { text, changes } = await workspace.diff({ paths: ['file'] });
          assert.match(text, /^\+two$/m);
          assert.deepEqual(
            changes.map(({ path }) => path),
            ['file'],
          );
          assert.equal((await workspace.checkpoint('here')).name, 'here');
          await workspace.run({ shell: 'rm file' });
          await workspace.rollback({ checkpoint: 'here' });
          assert.equal(String(await workspace.read('file')), 'one\ntwo\n');
          await workspace.createFork('second');
          assert.deepEqual((await workspace.forks()).map(({ name }) => name).sort(), ['main', 'second']);
          assert.equal((await workspace.apply({ paths: ['file'], dryRun: true })).done, false);
          assert.equal((await workspace.apply({ paths: ['file'] })).done, true);
          assert.equal(readFileSync(join(project, 'file'), 'utf8'), 'one\ntwo\n');
          assert.deepEqual(await workspace.drop(), { dropped: 1 });
        },
        { script: 'echo one > file' },
      ));

    test('it only asks to apply, and a person answers for the fork as it was', () =>
      inWorkspace(
        async (workspace, project) => {
          await workspace.run({ shell: 'echo two > file' });
          const asked = { approvalMilliseconds: 400 };
          await assert.rejects(workspace.askToApply(asked), refuses('EACCES'));
          const no = async () => ({ granted: false, scope: 'once', network: [] }) as const;
          await assert.rejects(workspace.askToApply({ onApproval: no }), refuses('EACCES'));
          assert.equal(readFileSync(join(project, 'file'), 'utf8'), 'one\n');
          let told = '';
          const answer = await workspace.askToApply({
            onApproval: async ({ reason, argv }) => {
              told = `${argv.join(' ')}: ${reason}`;
              return { granted: true, scope: 'once', network: [] };
            },
          });
          assert.equal(answer.done, true);
          assert.match(told, /^ctx apply: it would write 1 change of the fork into your own directory$/);
          assert.equal(readFileSync(join(project, 'file'), 'utf8'), 'two\n');
        },
        { script: 'echo one > file' },
      ));

    test('a person is asked about a command where it starts, also in the kept jail', () =>
      inWorkspace(
        async (workspace, project) => {
          await stage.ctx(project, ['rules', 'add', 'require_approval', '--', 'truncate']);
          const directories: string[] = [];
          const report = await workspace.run(['truncate', '-s', '1', 'file'], {
            directory: 'below',
            onApproval: async ({ directory }) => {
              directories.push(directory);
              return { granted: true, scope: 'once', network: [] };
            },
          });
          assert.deepEqual(directories, [join(project, 'below')]);
          assert.deepEqual(
            report.changes.map(({ path }) => path),
            ['below/file'],
          );
        },
        { script: 'mkdir below' },
      ));

    test('a grant does not outlive the fork that it was asked for', () =>
      inWorkspace(
        async (workspace, project) => {
          await workspace.run({ shell: 'echo two > file' });
          const swapped = workspace.askToApply({
            onApproval: async () => {
              await stage.exec(project, ['sh', '-c', 'echo three > file']);
              return { granted: true, scope: 'once', network: [] };
            },
          });
          await assert.rejects(swapped, refuses('ESTALE'));
          assert.equal(readFileSync(join(project, 'file'), 'utf8'), 'one\n');
        },
        { script: 'echo one > file' },
      ));

    test('after its end nothing runs, and nothing is asked of it any more', async () => {
      const project = stage.project();
      const workspace = await open({ directory: project, data: stage.store });
      const running = workspace.run(['sleep', '98767']);
      const refused = assert.rejects(running, refuses('EPIPE'));
      await until(() => runs('sleep\x0098767'), 'the command runs');
      await workspace.close();
      await refused;
      await assert.rejects(workspace.run(['true']), refuses('EPIPE'));
      await assertNothingLeft(project);
    });

    test('a directory that is deleted while its jail is idle ends no process of the caller', async () => {
      const project = stage.project();
      const workspace = await open({ directory: project, data: stage.store });
      await workspace.run(['true']);
      rmSync(project, { recursive: true });
      // What it does when idle would fail this test by an unhandled rejection.
      await setTimeout(idleSyncMilliseconds + 500);
      await workspace.close();
    });

    test('a store that is deleted ends no process of the caller', async () => {
      const data = join(stage.directory, 'deleted-store');
      const workspace = await open({ directory: stage.project(), data });
      await workspace.run(['true']);
      rmSync(data, { recursive: true });
      await assert.rejects(workspace.run(['true']), (error) => error instanceof ErrnoError);
      // That its jail ended by itself cannot be recorded: that would fail this test by an unhandled rejection.
      await setTimeout(500);
      await workspace.close();
    });

    test('whatever had no answer when it was closed is EPIPE, whether its command ended first or not', async () => {
      const project = stage.project();
      const calls: readonly ((workspace: Workspace) => Promise<unknown>)[] = [
        (workspace) => workspace.run(['true']),
        (workspace) => workspace.write('file', 'text'),
        (workspace) => workspace.exec(['sleep', '98766']),
        (workspace) => workspace.execLive(['sleep', '98766']),
        (workspace) => workspace.askToApply(),
      ];
      for (const call of calls)
        for (const milliseconds of [0, 10, 20, 40, 80]) {
          const workspace = await open({ directory: project, data: stage.store });
          let answered = false;
          await workspace.run({ shell: 'echo x >> file' });
          const outcome = call(workspace).then(
            () => {
              answered = true;
              return 'an answer';
            },
            (error) => error.code,
          );
          await setTimeout(milliseconds);
          const expected = answered ? 'an answer' : 'EPIPE';
          await workspace.close();
          assert.equal(await outcome, expected, `${call} after ${milliseconds} ms`);
        }
      await assertNothingLeft(project);
    });

    test('an apply is undone, or goes elsewhere; forks and checkpoints are chosen and deleted', () =>
      inWorkspace(
        async (workspace, project) => {
          const elsewhere = stage.makeDirectory('elsewhere');
          writeFileSync(join(elsewhere, 'file'), 'one\n');
          await workspace.exec({ shell: 'echo two > file' });
          assert.equal((await workspace.apply({ to: elsewhere })).done, true);
          assert.equal(readFileSync(join(elsewhere, 'file'), 'utf8'), 'two\n');
          await workspace.apply();
          const { done, pending } = await workspace.undoApply();
          assert.deepEqual([done, pending, readFileSync(join(project, 'file'), 'utf8')], [true, 1, 'one\n']);
          await workspace.checkpoint('here');
          assert.equal((await workspace.lookAtCheckpoint('here')).changes.length, 0);
          await workspace.deleteCheckpoint('here');
          await assert.rejects(workspace.lookAtCheckpoint('here'), refuses('ENOENT'));
          await workspace.createFork('other');
          await workspace.useFork('other');
          assert.equal((await workspace.forks()).find(({ current }) => current)?.name, 'other');
          await workspace.useFork('main');
          await workspace.deleteFork('other');
          assert.equal(await workspace.runs('other'), undefined);
          assert.deepEqual((await workspace.findRun()).facts['argv'], ['bash', '-c', 'echo two > file']);
        },
        { script: 'echo one > file' },
      ));

    test('a command on the directory itself says that it was', () =>
      inWorkspace(async (workspace, project) => {
        const report = await workspace.execLive({ shell: 'pwd; echo live > made' });
        assert.deepEqual([report.workspace.fork, report.stdout?.text], [null, `${project}\n`]);
        assert.equal(existsSync(join(project, 'made')), report.exitCode === 0);
        for (const promised of [{ readonly: true }, { fork: 'main' }]) {
          const other = await open({ directory: project, data: stage.store, ...promised });
          await assert.rejects(other.execLive(['true']), refuses('EINVAL'));
          await other.close();
        }
      }));

    test('what may be done is asked without doing it', () =>
      inWorkspace(
        async (workspace, project) => {
          assert.equal((await workspace.whyPath('write', 'file')).verdict.allowed, true);
          assert.equal((await workspace.whyPath('read', stage.store)).verdict.allowed, false);
          const question = { class: 'tool', name: 'none', permission: 'execute' } as const;
          assert.equal((await workspace.whyObject(question)).verdict.allowed, false);
          assert.equal((await workspace.surface()).authority.view.accessTo(project), 'write');
          assert.ok((await workspace.plan(['true'])).some((operation) => operation.do === 'overlay'));
          assert.equal((await workspace.prepare()).imported, true);
        },
        { script: 'echo one > file' },
      ));
  });

  describe('the operator', () => {
    test('rules are for agents that exist, and are in the record before they hold', async () => {
      const { rules, record } = await operate({ data: stage.store }).then((ctx) => ({
        rules: ctx.rules,
        record: ctx.record(),
      }));
      const match = { command: ['frobnicate'] };
      await assert.rejects(rules.add({ action: 'deny', match, agent: 'nobody-made-it' }), refuses('ENOENT'));
      const rule = await rules.add({ action: 'deny', match });
      assert.equal((await rules.test({ argv: ['frobnicate', 'it'] })).decision.rule, rule.id);
      const [made] = (await record.find({ type: 'rules.add' })).filter(({ body }) => body.object === `rule/${rule.id}`);
      assert.equal(made?.body.facts?.['match'], 'frobnicate');
      rules.remove(rule.id);
      assert.throws(() => rules.remove(rule.id), refuses('ENOENT'));
    });

    test('only a request that waits is answered', async () => {
      const ctx = await operate({ data: stage.store });
      const { id } = await ctx.rules.add({ action: 'require_approval', match: { command: ['shred'] } });
      let waited = '';
      await inWorkspace(async (workspace) => {
        const refused = workspace.exec(['shred', 'file'], {
          onApproval: async (asked) => {
            waited = asked.id;
            assert.equal(ctx.approvals.one(waited).status, 'waiting');
            ctx.approvals.deny(waited, { by: 'a test', why: 'to see it refused' });
            return undefined;
          },
        });
        await assert.rejects(refused, refuses('EACCES'));
      });
      ctx.rules.remove(id);
      const [known] = ctx.approvals.list({ all: true }).filter(({ asked }) => asked.id === waited);
      assert.deepEqual([known?.status, known?.answer?.by], ['denied', 'a test']);
      assert.throws(() => ctx.approvals.grant(waited), refuses('ESTALE'));
      assert.throws(() => ctx.approvals.one('none'), refuses('ENOENT'));
    });

    test('an agent stays while it has children, and reads its own records alone', async () => {
      const ctx = await operate({ data: stage.store });
      const directory = stage.project();
      await ctx.agents.make('parent', { spec: { policy: 'allow parent_t agent:child create\n' } });
      assert.match(ctx.agents.show('parent').files['policy'] ?? '', /agent:child/);
      await assert.rejects(ctx.agents.set('parent', 'no-such-file', ''), refuses('EINVAL'));
      await assert.rejects(ctx.agents.make('other', { parent: 'parent', directory }), refuses('EACCES'));
      await ctx.agents.make('child', { parent: 'parent', directory });
      await assert.rejects(ctx.agents.remove('parent'), refuses('EBUSY'));
      await assert.rejects(ctx.record({ as: 'child' }).find({ agent: 'parent' }), refuses('EACCES'));
      for (const name of ['child', 'parent']) await ctx.agents.remove(name);
      assert.deepEqual(ctx.agents.list(), []);
    });

    test('the record says who changed a file, is followed, exported and verified elsewhere', async () => {
      // A store of its own: what other tests do would be in its record, too.
      const data = stage.makeDirectory('store of a record');
      const ctx = await operate({ data });
      const record = ctx.record();
      const known = await record.find();
      const project = stage.project();
      const workspace = await open({ directory: project, data });
      await workspace.exec(['touch', 'made']);
      const { path, state, command } = await record.blame(join(project, 'made'));
      assert.deepEqual([path, state, command.body.facts?.['argv']], ['made', 'pending', ['touch', 'made']]);
      assert.equal((await record.at(`${command.chain}:${command.body.seq}`)).head, command.head);
      await assert.rejects(record.blame(join(project, 'nobody')), refuses('ENOENT'));
      await workspace.close();
      const next = await record.follow(known, { type: 'exec' }).next();
      assert.equal(next.value?.body.status, 'begin');
      const to = join(stage.directory, 'exported');
      const { key } = await record.exportTo(to);
      const exported = ctx.record({ directory: to });
      assert.equal((await exported.verify({ key })).ok, true);
      assert.equal((await exported.verify({ key: '0'.repeat(64) })).ok, false);
      await assert.rejects(record.exportTo(to), refuses('EEXIST'));
    });

    test('kept jails of others are found and stopped', async () => {
      const { keptJails } = await operate({ data: stage.store });
      const project = stage.project();
      await assert.rejects(keptJails.stop(project), refuses('ENOENT'));
      await stage.ctx(project, ['jail', 'start']);
      assert.deepEqual(
        (await keptJails.list()).filter(({ origin }) => origin === project).map(({ fork }) => fork),
        ['main'],
      );
      await keptJails.stop(project);
      assert.equal(await keptJails.isLive(project), false);
      await assertNothingLeft(project);
    });

    test('a profile widens what a caller grants, and nothing secret comes along', async () => {
      const { profiles } = await operate({ data: stage.store });
      const [claude] = (await profiles.list()).filter(({ name }) => name === 'claude');
      assert.ok(claude);
      const granted = { network: ['example.org:443'], environment: ['A=1'] };
      const { options } = await profiles.widen(claude, granted, { directory: stage.project() });
      assert.ok(options.network?.includes('example.org:443') && options.network.includes('api.anthropic.com:443'));
      assert.ok(options.home?.startsWith(stage.store));
      assert.equal(options.environment?.includes('ANTHROPIC_API_KEY'), false);
    });

    test('a tool call is judged as the hook does', async () => {
      const directory = stage.project('echo one > file');
      assert.equal((await judge({ tool: 'read', paths: ['file'] }, { directory })).decision, 'allow');
      assert.equal((await judge({ tool: 'write', paths: ['/etc/passwd'] }, { directory })).decision, 'deny');
      assert.match((await judge({ tool: 'exec', command: 'ls' }, { directory })).rewrite ?? '', /exec/);
      assert.equal((await judge({ tool: 'exec', command: 'ls' }, { directory, commands: 'deny' })).decision, 'deny');
    });

    test('a vault is made, limited and deleted', async () => {
      const { vaults } = await operate({ data: stage.store });
      const project = stage.project('echo one > file');
      const { vault } = await vaults.create(project, { name: 'api', limits: { maxBytes: 1 << 20 } });
      assert.equal(vaults.find('api').origin, project);
      assert.equal((await vaults.limits('api')).limits.maxBytes, 1 << 20);
      assert.deepEqual((await vaults.limit('api', { maxBytes: null })).limits, {});
      await vaults.delete(vault.id);
      assert.throws(() => vaults.find('api'), refuses('ENOENT'));
      assert.deepEqual(
        (await vaults.inspect()).faults.filter((fault) => fault.vault === vault.id),
        [],
      );
    });
  });
});
