/** One process keeps all kept jails of a user: what it takes from whoever starts it, and what becomes of the others when one fails. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keptJailPlace } from '../../src/kept-jail/jail-place.js';
import { isAlive } from '../support/kept-jail.js';
import { processesMounting } from '../support/leftovers.js';
import { until } from '../support/process.js';
import { copyOfProduct } from '../support/program.js';
import { recordsOf } from '../support/record.js';
import { parseJson, type Stage, useStage } from '../support/stage.js';
import { forUsersInTurn } from '../support/users.js';

interface Kept {
  readonly project: string;
  readonly pid: number;
  readonly keeper: number;
}

async function startIn(stage: Stage, project: string, words: readonly string[] = [], program = stage.program) {
  const { code, stdout, stderr } = await stage.start(project, [program, 'jail', 'start', '--json', ...words]).finished;
  assert.equal(code, 0, stderr);
  return { ...(parseJson(stdout) as Omit<Kept, 'project'>), project };
}

const startMany = (stage: Stage, count: number, program?: string): Promise<readonly Kept[]> =>
  Promise.all(Array.from({ length: count }, () => startIn(stage, stage.project(), [], program)));

async function stopAll(stage: Stage): Promise<void> {
  await stage.ctx(stage.directory, ['stop', '--all']);
}

const descriptorsOf = (pid: number) => readdirSync(`/proc/${pid}/fd`).length;
const childrenOf = (pid: number) =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ').filter(Boolean).map(Number);

/** Its first process in the jail. */
function initOf(jail: number): number {
  const isFirst = (pid: number) => /^NSpid:.*\s1$/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'));
  return childrenOf(jail).find(isFirst) ?? assert.fail('the jail has no init');
}

/** Where a command names it, an exception that nothing handles: in a promise, and in a timer. */
const planted = `
  const { stringify } = JSON;
  JSON.stringify = (...given) => {
    const text = stringify(...given);
    if (text?.includes('fault-in-a-promise')) throw new TypeError('planted');
    if (text?.includes('fault-in-a-timer')) setTimeout(() => { throw new TypeError('planted'); });
    return text;
  };`;

forUsersInTurn(
  (user, turn) => {
    const stage = useStage(user);
    const works = async ({ project }: Kept, program = stage.program) => {
      const words = [program, 'jail', 'exec', '--', 'echo', 'works'];
      const { code, stdout, stderr } = await stage.start(project, words).finished;
      assert.deepEqual([code, stdout], [0, 'works\n'], stderr);
    };

    turn.test('six that are started at once have one process, which ends with the last', async () => {
      const kept = await startMany(stage, 6);
      const [{ keeper } = { keeper: 0 }] = kept;
      assert.deepEqual(new Set(kept.map((each) => each.keeper)), new Set([keeper]));
      assert.equal(new Set(kept.map(({ pid }) => pid)).size, 6);
      for (const each of kept.slice(1)) assert.equal((await stage.ctx(each.project, ['jail', 'stop'])).code, 0);
      await works(kept[0] as Kept);
      assert.ok(isAlive(keeper));
      assert.equal((await stage.ctx(kept[0]?.project ?? '', ['jail', 'stop'])).code, 0);
      await until(() => !isAlive(keeper), 'the process has ended with its last kept jail');
      assert.deepEqual(readdirSync(join(stage.store, 'jail', 'shared')), []);
    });

    turn.test('of two that are started at once on one fork one lives, and the other is refused', async () => {
      const project = stage.project();
      const ends = await Promise.all([1, 2, 3].map(() => stage.ctx(project, ['jail', 'start'])));
      assert.deepEqual(ends.map(({ code }) => code).sort(), [0, 1, 1]);
      for (const { stderr } of ends.filter(({ code }) => code !== 0)) assert.match(stderr, /has a kept jail already/);
      assert.equal((await stage.ctx(project, ['jail', 'stop'])).code, 0);
    });

    turn.test('who finds one at work is given the process of that one, as by ctx ps', async () => {
      const [one, other] = (await startMany(stage, 2)) as readonly [Kept, Kept];
      try {
        assert.equal(one.keeper, other.keeper);
        const running = stage.start(one.project, [stage.program, 'jail', 'exec', '--', 'sh', '-c', 'echo on; read x'], {
          stdio: ['pipe', 'pipe', 'pipe'],
        });
        await running.printed('on');
        const { code, stderr } = await stage.ctx(one.project, ['drop']);
        assert.notEqual(code, 0);
        assert.match(stderr, new RegExp(`process ${one.pid} is using it: sh -c echo on`));
        const pidsBy = async (verb: string, isWanted: (origin?: string) => boolean) => {
          const { stdout } = await stage.ctx(one.project, [verb, '--json']);
          const { running: found } = parseJson(stdout) as {
            readonly running: readonly { readonly pid: number; readonly origin?: string }[];
          };
          return found.filter(({ origin }) => isWanted(origin)).map(({ pid }) => pid);
        };
        assert.deepEqual(await pidsBy('status', () => true), [one.pid]);
        assert.deepEqual(await pidsBy('ps', (origin) => origin === one.project), [one.pid]);
        running.child.stdin?.end();
        await running.finished;
      } finally {
        await stopAll(stage);
      }
    });

    turn.test('it has nothing of whoever started it, and each kept jail what its own caller has', async () => {
      const [one, other] = [stage.project(), stage.project()];
      const script = 'exec 30> ../held; flock 30; umask 022; FIRST=1 CTX_ANY=first PATH="$PATH:/first" "$0" jail start';
      stage.shell(one, `bash -c '${script}' '${stage.program}'`);
      try {
        const { keeper } = await startIn(stage, other, ['--env', 'OWN=other']);
        assert.equal(readlinkSync(`/proc/${keeper}/cwd`), '/');
        const names = readFileSync(`/proc/${keeper}/environ`, 'utf8')
          .split('\0')
          .map((each) => each.split('=')[0]);
        assert.deepEqual(
          names.filter((name) => ['FIRST', 'CTX_ANY', 'PWD'].includes(name ?? '')),
          [],
        );
        assert.doesNotMatch(readFileSync(`/proc/${keeper}/environ`, 'utf8'), /first/);
        stage.shell(one, 'flock -n ../held true');
        const [, , , , , , terminal] = readFileSync(`/proc/${keeper}/stat`, 'utf8').split(' ');
        assert.equal(terminal, '0', 'it has no terminal');
        const { stdout } = await stage.ctx(other, ['jail', 'exec', '--', 'sh', '-c', 'pwd; echo $OWN$FIRST; umask']);
        assert.equal(stdout, `${other}\nother\n0022\n`);
        // What a jail is given by the kernel is that of whoever started it: those have another process.
        for (const first of ['umask 027', 'ulimit -n 512', 'export TZ=UTC']) {
          const project = stage.project();
          const started = stage.shell(project, `${first}; '${stage.program}' jail start --json`);
          assert.notEqual((parseJson(started) as Kept).keeper, keeper, first);
          if (first === 'umask 027') {
            assert.equal((await stage.ctx(project, ['jail', 'exec', '--', 'sh', '-c', 'umask'])).stdout, '0027\n');
          }
        }
      } finally {
        await stopAll(stage);
      }
    });

    turn.test('a fault in the work of one ends that one, says so beside its socket, and the others go on', async () => {
      const product = copyOfProduct(join(stage.directory, 'faulty'));
      const [program, bundle] = [join(product, 'bin/ctx'), join(product, 'dist/cli/ctx.cjs')];
      const whole = readFileSync(bundle, 'utf8');
      writeFileSync(
        bundle,
        whole.replace(/^(#!.*\n)?/, (first) => `${first}{${planted}}`),
      );
      const kept = await startMany(stage, 3, program);
      try {
        const [healthy, ...faulty] = kept as readonly [Kept, Kept, Kept];
        const exec = [program, 'jail', 'exec', '--', 'sh', '-c'];
        const running = stage.start(healthy.project, [...exec, 'echo on; read x; echo $x'], {
          stdio: ['pipe', 'pipe', 'pipe'],
        });
        await running.printed('on');
        for (const [index, where] of ['fault-in-a-promise', 'fault-in-a-timer'].entries()) {
          const { project, pid } = faulty[index] as Kept;
          const { code } = await stage.start(project, [...exec, `: ${where}; sleep 5`]).finished;
          assert.notEqual(code, 0, where);
          await until(() => !isAlive(pid) && processesMounting(project).length === 0, `${where}: its jail has ended`);
          const { complaints } = keptJailPlace(stage.store, project, 'main');
          assert.match(readFileSync(complaints, 'utf8'), /the kept jail was ended\nTypeError: planted/);
          assert.match((await stage.start(project, [...exec, ':']).finished).stderr, /no kept jail here/);
          await works(healthy, program);
        }
        running.child.stdin?.end('heard\n');
        assert.equal((await running.finished).stdout, 'on\nheard\n');
        assert.equal((await startIn(stage, faulty[0]?.project ?? '', [], program)).keeper, healthy.keeper);
      } finally {
        await stopAll(stage);
      }
    });

    turn.test(
      'a jail whose init or own process is killed, is asked to end, fills its disk or hangs costs no other',
      async () => {
        const kept = await startMany(stage, 4);
        try {
          const [healthy, first, second, third] = kept as readonly [Kept, Kept, Kept, Kept];
          const hanging = stage.startCtx(third.project, [
            'jail',
            'exec',
            '--',
            'sh',
            '-c',
            'trap "" TERM; echo on; sleep 99',
          ]);
          await hanging.printed('on');
          process.kill(third.pid, 'SIGSTOP');
          process.kill(initOf(first.pid), 'SIGKILL');
          process.kill(second.pid, 'SIGTERM');
          for (const { pid, project } of [first, second]) {
            await until(() => !isAlive(pid) && processesMounting(project).length === 0, 'it has ended');
            assert.equal((await stage.ctx(project, ['exec', '--', 'true'])).code, 0);
          }
          await works(healthy);
          process.kill(third.pid, 'SIGCONT');
          assert.equal((await stage.ctx(third.project, ['jail', 'stop'])).code, 0);
          assert.notEqual((await hanging.finished).code, 0);
          const full = await startIn(stage, stage.project(), ['--disk', '1M']);
          assert.equal(full.keeper, healthy.keeper);
          const filled = await stage.ctx(full.project, [
            'jail',
            'exec',
            '--',
            'sh',
            '-c',
            'head -c 9999999 /dev/zero > big',
          ]);
          assert.notEqual(filled.code, 0);
          await works(healthy);
        } finally {
          await stopAll(stage);
        }
      },
    );

    turn.test(
      'killed, it leaves nothing running or mounted, and every next verb works; asked to end, it ends each in order',
      async () => {
        const kept = await startMany(stage, 3);
        const [{ keeper, project } = { keeper: 0, project: '' }] = kept;
        await stage.ctx(project, ['jail', 'exec', '--', 'sh', '-c', 'echo 1 > made; sleep 99 &']);
        const several = await stage.ctx(project, ['stop', String(keeper)]);
        assert.match(several.stderr, /keeps 3 jails .*EINVAL/);
        process.kill(keeper, 'SIGKILL');
        for (const each of kept) {
          await until(() => !isAlive(each.pid) && processesMounting(each.project).length === 0, 'nothing is left');
        }
        assert.equal((await stage.ctx(project, ['jail', 'list'])).stdout, 'no kept jails\n');
        assert.equal((await stage.ctx(project, ['ps', '--json'])).code, 0);
        assert.match((await stage.ctx(project, ['diff', '--names'])).stdout, /A made/);
        assert.equal((await stage.ctx(project, ['exec', '--', 'cat', 'made'])).stdout, '1\n');
        const again = await Promise.all(kept.map((each) => startIn(stage, each.project)));
        for (const each of again) await works(each);
        const begun = recordsOf(stage.store).filter(({ type, status }) => type === 'jail' && status === 'ok').length;
        process.kill(again[0]?.keeper ?? 0, 'SIGTERM');
        await until(() => !isAlive(again[0]?.keeper ?? 0), 'it has ended');
        const ended = recordsOf(stage.store).filter(({ type, status }) => type === 'jail' && status === 'ok').length;
        assert.equal(ended - begun, 3, 'each has its end in the record');
      },
    );

    turn.test('a start that fails leaves nothing in it, and exits as a process of its own would', async () => {
      const [first, other] = [await startIn(stage, stage.project()), stage.project()];
      try {
        const failing = () => stage.ctx(other, ['jail', 'start', '--json', '--fork', 'missing']);
        await failing();
        const before = [descriptorsOf(first.keeper), childrenOf(first.keeper).length];
        for (let count = 0; count < 8; count += 1) {
          const { code, stdout } = await failing();
          assert.deepEqual([code, (parseJson(stdout) as { error: { code: string } }).error.code], [1, 'ENOENT']);
        }
        await until(
          () => descriptorsOf(first.keeper) <= (before[0] ?? 0) && childrenOf(first.keeper).length <= (before[1] ?? 0),
          'descriptors and processes are as before',
        );
        const { running } = parseJson((await stage.ctx(other, ['ps', '--json'])).stdout) as {
          running: readonly (Kept & { readonly kind: string })[];
        };
        assert.deepEqual(
          running.filter(({ kind }) => kind !== 'keeper').map(({ pid, keeper }) => [pid, keeper]),
          [[first.pid, first.keeper]],
        );
      } finally {
        await stopAll(stage);
      }
    });

    turn.test('another build has a process of its own, and the one of the old build serves on', async () => {
      const product = copyOfProduct(join(stage.directory, 'rebuilt'));
      const old = await startIn(stage, stage.project());
      const project = stage.project();
      const ctx = (...words: readonly string[]) => stage.start(project, [join(product, 'bin/ctx'), ...words]).finished;
      try {
        const { code, stdout, stderr } = await ctx('jail', 'start', '--json');
        assert.equal(code, 0, stderr);
        assert.notEqual((parseJson(stdout) as Kept).keeper, old.keeper);
        assert.equal((await ctx('jail', 'exec', '--', 'echo', 'new')).stdout, 'new\n');
        await works(old);
        assert.equal((await ctx('jail', 'stop')).code, 0);
        await works(old);
      } finally {
        await stopAll(stage);
      }
    });
  },
  { concurrency: 1 },
);
