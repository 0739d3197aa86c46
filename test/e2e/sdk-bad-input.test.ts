/** Programs that use the SDK wrongly: each mistake is an ErrnoError before anything starts, and nothing is left behind. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  classify,
  ErrnoError,
  installHook,
  judge,
  type Operator,
  open,
  operate,
  parseMounts,
  parsePolicy,
  projectSettings,
  uninstallHook,
  userSettings,
  type Workspace,
} from 'ctxfs';
import fc from 'fast-check';
import type { Shape } from '../../src/base/shape.js';
import { checkArguments, type Entries } from '../../src/sdk/checked-face.js';
import { operatorEntries, workspaceEntries } from '../../src/sdk/entries.js';
import { Agents } from '../../src/sdk/operator/agents.js';
import { Approvals } from '../../src/sdk/operator/approvals.js';
import { Objects } from '../../src/sdk/operator/objects.js';
import { AuditRecord } from '../../src/sdk/operator/record.js';
import { Rules } from '../../src/sdk/operator/rules.js';
import { Vaults } from '../../src/sdk/operator/vaults.js';
import { Fork } from '../../src/sdk/workspace/fork.js';
import { Workspace as WorkspaceClass } from '../../src/sdk/workspace/workspace.js';
import { seeded } from '../property/seeded.js';
import { checkout } from '../support/program.js';
import { hasSoakTime, randomFrom, testSeed } from '../support/random.js';
import { Stage } from '../support/stage.js';
import { asOneUser } from '../support/users.js';

const any = <T>(value: unknown) => value as T;
const refused = async (call: () => unknown, code = 'EINVAL') => {
  await assert.rejects(
    async () => call(),
    (error: unknown) => error instanceof ErrnoError && error.code === code,
  );
};

function refusal(shape: Shape, value: unknown): unknown {
  try {
    checkArguments('x', [shape], [value]);
    return undefined;
  } catch (error) {
    return error;
  }
}

/** The members that a closed shape has, as its refusal of another one names them. */
function membersOf(shape: Shape): readonly string[] {
  const error = refusal(shape, { 'no such member': 1 });
  const named = /valid members: (.*)/.exec(error instanceof ErrnoError ? (error.remedy ?? '') : '')?.[1];
  return named?.split(', ') ?? [];
}

function goodFor(shape: Shape): unknown {
  const values = [undefined, 'x', ['x'], { shell: 'true' }, 'read', Buffer.from('x'), { old: 'a', new: 'b' }, 1, {}];
  return values.find((value) => refusal(shape, value) === undefined);
}

/** A program that opens, uses and closes again and again: what it has open and has started in the end. */
const closingProgram = `
import { readdirSync, readFileSync } from 'node:fs';
import { judge, open } from ${JSON.stringify(join(checkout, 'dist', 'js', 'src', 'index.js'))};
const [directory] = process.argv.slice(2);
const held = () => ({
  files: readdirSync('/proc/self/fd').length,
  children: readFileSync('/proc/self/task/' + process.pid + '/children', 'utf8'),
});
const use = async () => {
  const workspace = await open({ directory });
  await workspace.exec(['true']);
  await workspace.run(['true']);
  await workspace.run(5).catch(() => undefined);
  await workspace.whyPath('read', 'x');
  await workspace.close();
  await judge({ tool: 'read', paths: ['/etc/shadow'] }, { directory });
};
await use();
const settled = async (as) => {
  for (const end = Date.now() + 20_000; JSON.stringify(held()) !== as && Date.now() < end; ) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return JSON.stringify(held());
};
const first = await settled(JSON.stringify({ files: held().files, children: '' }));
for (let times = 0; times < 3; times++) await use();
console.log(first, await settled(first));
`;

asOneUser((user) => {
  const stage = new Stage(user);
  let workspace: Workspace;
  let operator: Operator;
  let project = '';
  const home = process.env['HOME'];
  before(async () => {
    stage.set();
    process.env['HOME'] = stage.home;
    project = stage.project();
    workspace = await open({ directory: project, data: stage.store });
    operator = await operate({ data: stage.store });
  });
  after(async () => {
    await workspace.close();
    process.env['HOME'] = home;
    await stage.strike();
  });

  describe('a program that uses ctxfs', () => {
    test('has an entry for every method there is', () => {
      const methodsOf = (...classes: readonly { readonly prototype: object }[]) =>
        classes
          .flatMap(({ prototype }) => Object.entries(Object.getOwnPropertyDescriptors(prototype)))
          .filter(
            ([name, { value }]) => typeof value === 'function' && !['constructor', 'inTurn', 'atOnce'].includes(name),
          )
          .map(([name]) => name)
          .sort();
      const named = (entries: { readonly methods: object } | undefined) => Object.keys(entries?.methods ?? {}).sort();
      assert.deepEqual(named(workspaceEntries), methodsOf(WorkspaceClass, Fork));
      const parts = operatorEntries.parts ?? {};
      assert.deepEqual(named(parts['rules']), methodsOf(Rules));
      assert.deepEqual(named(parts['approvals']), methodsOf(Approvals));
      assert.deepEqual(named(parts['agents']), methodsOf(Objects, Agents));
      assert.deepEqual(named(parts['tools']), methodsOf(Objects));
      assert.deepEqual(named(parts['vaults']), methodsOf(Vaults));
      assert.deepEqual(named(operatorEntries.methods['record']?.gives), methodsOf(AuditRecord));
    });

    test('is told of a misspelt option, and of every value that is none', async () => {
      const rules = operator.rules.list();
      await refused(() => open(any({ directory: project, readonyl: true })));
      // Without members of their own they would pass for options that leave everything out.
      for (const options of [new Date(), new Map([['readonly', true]]), Promise.resolve({ readonly: true })])
        await refused(() => workspace.exec(['true'], any(options)));
      await refused(() => open(any({ directory: 5 })));
      await refused(() => open(any(null)));
      await refused(() => operate(any({ date: '/tmp' })));
      for (const form of [null, {}, 'ls', { argv: 'ls' }, { text: 5 }]) await refused(() => classify(any(form)));
      for (const parse of [parsePolicy, parseMounts]) {
        await refused(() => parse(any(5), 'file'));
        await refused(() => parse('', any(undefined)));
      }
      await refused(() => workspace.exec(any('ls')));
      await refused(() => workspace.exec([]));
      await refused(() => workspace.exec(any(['ls', 5])));
      await refused(() => workspace.exec(['ls', 'a\0b']));
      await refused(() => workspace.exec(['touch', 'ran'], any({ timeout: 5 })));
      for (const timeoutMilliseconds of [Number.POSITIVE_INFINITY, 1e300, 2 ** 31, -1, Number.NaN, '5']) {
        await refused(() => workspace.exec(['touch', 'ran'], any({ timeoutMilliseconds })));
      }
      await refused(() => workspace.write('x', any(5)));
      await refused(() => workspace.read(any({ toString: () => 'x' })));
      await refused(() => workspace.apply(any({ conflicts: 'mine' })));
      await refused(() => operator.rules.add(any({ match: { command: ['ls'] } })));
      await refused(() => operator.rules.add({ action: 'deny', match: { command: [] } }));
      assert.throws(() => operator.approvals.grant(any(5)), { code: 'EINVAL' });
      assert.deepEqual(operator.rules.list(), rules, 'and nothing that was refused is in the rules');
      assert.equal((await workspace.exec(['true'])).exitCode, 0);
      assert.equal((await workspace.status()).changes.length, 0);
      assert.ok(!existsSync(join(project, 'ran')));
    });

    test('has a call denied that it hands in wrongly, with a task that is misspelt or none', async () => {
      const exec = { tool: 'exec', command: 'true' } as const;
      const good = { directory: project };
      assert.equal((await judge({ ...exec, cwd: undefined }, good)).decision, 'allow');
      const own: Record<string, unknown> = { ...exec };
      own['own'] = own;
      for (const [call, task] of [
        ...[null, 5, own, { ...exec, cwd: 5n }].map((each) => [each, good] as const),
        ...[null, 5, { ...good, read: ['/'] }, { directory: 5 }].map((each) => [exec, each] as const),
        ...[null, 'x', [''], [5]].map((reads) => [exec, { ...good, reads }] as const),
        ...['', 'denied'].map((commands) => [exec, { ...good, commands }] as const),
      ]) {
        const { decision, reason } = await judge(any(call), any(task));
        assert.deepEqual([decision, /EINVAL/.test(reason)], ['deny', true], reason);
      }
    });

    test('is told so where it hands in no place for the hook', async () => {
      const place = projectSettings(project);
      for (const wrong of [undefined, null, 5, {}, { path: 5 }, { ...place, withn: '/' }]) {
        await refused(() => installHook(any(wrong)));
        await refused(() => uninstallHook(any(wrong)));
        await refused(() => projectSettings(any(wrong)));
        await refused(() => userSettings(any(wrong), {}));
      }
      for (const options of [null, 'x', [5]]) await refused(() => installHook(place, any(options)));
      await refused(() => userSettings('/', any(undefined)));
      assert.ok(!existsSync(place.path));
    });

    test('whose callback throws gets that error when the command has ended, and the fork is free', async () => {
      const boom = () => {
        throw new Error('boom');
      };
      const long = ['sh', '-c', 'echo out; exec sleep 60'];
      for (const options of [
        { onStarted: boom },
        { onOutput: boom },
        { onReady: boom },
        { onOutput: async () => boom() },
      ]) {
        await assert.rejects(workspace.exec(long, options), /threw, so the command was ended: boom/);
        assert.equal((await workspace.exec(['true'])).exitCode, 0, Object.keys(options).join());
      }
      await assert.rejects(workspace.run(long, { onOutput: boom }), /onOutput threw/);
      assert.equal((await workspace.run(['true'])).exitCode, 0);
    });

    test('whose callback throws before there is a command gets that error, and goes on', async () => {
      const boom = () => {
        throw new Error('boom');
      };
      const uses: readonly ((own: Workspace) => Promise<unknown>)[] = [
        (own) => own.prepare(),
        async (own) => (await own.keepJail()).end(),
        (own) => own.run(['true']),
      ];
      for (const use of uses) {
        const own = await open({ directory: stage.project('echo x > x'), data: stage.store, onProgress: boom });
        // Of a small directory it may be called when all is done. Outside of the call it would fail this test.
        const thrown = await use(own).then(
          () => 'onProgress threw: boom',
          (error: unknown) => String(error),
        );
        assert.match(thrown, /onProgress threw.*boom/);
        await own.close();
      }
      await operator.vaults.create(stage.project('echo x > x'), { onProgress: boom });
      const own = await open({ directory: stage.project(), data: stage.store });
      await own.exec(['touch', 'asked']);
      await assert.rejects(own.askToApply({ onApproval: boom }), /onApproval threw.*boom/);
      // It answers at once and by nothing, as a function that grants elsewhere.
      const asked = { onApproval: any<() => Promise<undefined>>(() => undefined), approvalMilliseconds: 50 };
      await refused(() => own.askToApply(asked), 'EACCES');
      await own.close();
    });

    test('gets EINVAL for a value of another type, in every member of every call', async () => {
      const throws = new Proxy({}, { ownKeys: () => assert.fail('boom'), get: () => assert.fail('boom') });
      const wrong: readonly unknown[] = [
        ...[null, 5, -1, Number.NaN, Number.POSITIVE_INFINITY, 7n, true, '', 'a\0b', Symbol('x'), () => 5],
        ...[[], [5], [[]], {}, { x: 1 }, new Date(), new Map(), Buffer.from('x'), Object.create(null), throws],
      ];
      const random = randomFrom(testSeed);
      const rules = operator.rules.list();
      let asked = 0;
      const faces: readonly (readonly [unknown, Entries])[] = [
        [workspace, workspaceEntries],
        [operator, operatorEntries],
        ...Object.entries(operatorEntries.parts ?? {}).map(
          ([name, entries]) => [(operator as unknown as Record<string, unknown>)[name], entries] as const,
        ),
      ];
      for (const [face, { methods }] of faces) {
        for (const [name, { takes, atOnce }] of Object.entries(methods)) {
          for (const [index, shape] of takes.entries()) {
            const members = membersOf(shape);
            const values = wrong.filter(() => process.env['CTX_SOAK'] === '1' || random() < 0.4);
            const given = [...values, ...members.flatMap((member) => values.map((value) => ({ [member]: value })))];
            for (const value of given.filter((each) => refusal(shape, each) !== undefined)) {
              asked += 1;
              // What is before it is right, as far as its shape can say.
              const first = takes.slice(0, index).map((each) => goodFor(each));
              const call = () => (face as Record<string, (...args: unknown[]) => unknown>)[name]?.(...first, value);
              if (atOnce) assert.throws(call, { code: 'EINVAL' }, name);
              else await assert.rejects(async () => call(), { code: 'EINVAL' }, name);
            }
          }
        }
      }
      assert.ok(asked > 500, String(asked));
      assert.deepEqual(operator.rules.list(), rules);
      await workspace.exec(['true']);
      assert.equal((await workspace.status()).changes.length, 0);
    });

    test('keeps nothing open, and no process, of what it has closed', async () => {
      const argv = [process.execPath, '--input-type=module', '-e', closingProgram, stage.project()];
      const { code, stdout, stderr } = await stage.start(project, argv).finished;
      assert.equal(code, 0, stderr);
      const [first, last] = stdout.trim().split(' ');
      assert.equal(last, first);
    });

    test(`gets an ErrnoError whatever it hands in, CTX_TEST_SEED=${testSeed}`, async (context) => {
      let calls = 0;
      const value = fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true });
      const options = fc.dictionary(
        fc.constantFrom('directory', 'signal', 'onOutput', 'paths', 'input', 'all', 'x'),
        value,
      );
      const methods = Object.entries(workspaceEntries.methods).filter(([, { takes }]) => takes.length > 0);
      // What ends the workspace's work, and what waits for a person.
      const others = new Set(['close', 'drop', 'flatten', 'askToApply']);
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...methods.map(([name]) => name).filter((name) => !others.has(name))),
          fc.array(fc.oneof(value, options), { minLength: 1, maxLength: 4 }),
          async (name, given) => {
            if (!hasSoakTime()) return;
            calls += 1;
            const method = (workspace as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>)[name];
            const outcome = await Promise.race([
              Promise.resolve(method?.(...given)).then(
                () => undefined,
                (error: unknown) => error,
              ),
              sleep(20_000, new Error('it hangs'), { ref: false }),
            ]);
            assert.ok(outcome === undefined || outcome instanceof ErrnoError, `${name}: ${String(outcome)}`);
          },
        ),
        { ...seeded(process.env['CTX_SOAK'] ? 5_000 : 150), endOnFailure: true },
      );
      context.diagnostic(`${calls} calls`);
    });
  });
});
