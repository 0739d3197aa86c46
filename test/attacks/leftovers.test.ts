/**
 * Nothing leaks. ctx, the owner of the jail, its pid 1 and the command are killed at random moments: afterwards no process,
 * mount, namespace, control group or temporary file is left, and the next command works. CTX_SOAK=1 makes it long.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { keeperOff } from '../support/keeper.js';
import { assertNothingLeft, processesMounting, trashIsEmptied } from '../support/leftovers.js';
import { ownSeconds, processesCalled, type Running, until } from '../support/process.js';
import { randomFrom, testSeed } from '../support/random.js';
import { snapshot } from '../support/snapshot.js';
import { useStage } from '../support/stage.js';
import { forEachUser, isRoot } from '../support/users.js';

const rounds = process.env['CTX_SOAK'] === '1' ? 400 : 12;
const longestLife = 400;

function listed(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return []; // ended meanwhile
  }
}

function linked(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return ''; // ended meanwhile, or not ours to look into
  }
}

const processes = () => listed('/proc').filter((name) => /^\d+$/.test(name));

function childrenOf(pid: number): number[] {
  return listed(`/proc/${pid}/task`).flatMap((task) => {
    try {
      return readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
    } catch {
      return []; // ended meanwhile
    }
  });
}

/** Every control group of ours, wherever one is mounted. */
function controlGroups(): string[] {
  const places = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => / - cgroup2? /.test(line))
    .map((line) => line.split(' ')[4] ?? '');
  const below = (path: string, depth: number): string[] =>
    depth === 0
      ? []
      : listed(path)
          .filter((name) => !name.includes('.'))
          .flatMap((name) => [join(path, name), ...below(join(path, name), depth - 1)]);
  return places.flatMap((place) => below(place, 3)).filter((path) => /\/ctx-[^/]*$/.test(path));
}

/** Namespaces that only a process of this user's jails is in. */
function namespacesOf(project: string): string[] {
  return processesMounting(project).map((pid) => linked(`/proc/${pid}/ns/mnt`));
}

type Victim = 'ctx' | 'owner' | 'init' | 'command' | 'all';
const victims: readonly Victim[] = ['ctx', 'owner', 'init', 'command', 'all'];

/** The jail's processes now: ctx is the parent of the owner, and the owner of init and of the command. */
function pidsOf(ctx: number, victim: Victim): number[] {
  if (victim === 'ctx') return [ctx];
  const owners = childrenOf(ctx);
  const inside = owners.flatMap(childrenOf);
  if (victim === 'owner') return owners;
  if (victim === 'init') return inside.slice(0, 1);
  if (victim === 'command') return inside.slice(1);
  return [ctx, ...owners, ...inside];
}

function kill(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It had ended before.
    }
  }
}

forEachUser(
  (user) => {
    const stage = useStage(user);
    const work = 'mkdir -p d; for i in 1 2 3; do (while :; do echo $i > d/$i; done) & done; sleep 0.3; exit 0';

    test(`kill -9 of whoever, ${rounds} times, leaves nothing, CTX_TEST_SEED=${testSeed}`, async () => {
      const random = randomFrom(testSeed + user.uid);
      const project = stage.project('echo kept > kept');
      assert.equal(await stage.inside(project, 'cat kept'), 'kept\n');
      const before = snapshot(project);
      const temporary = stage.makeDirectory('temporary');
      // A control group can only be asked for where this user may make one.
      const limits = isRoot && user.uid === 0 ? ['--processes', '64', '--memory', '200M'] : [];
      for (let round = 0; round < rounds; round += 1) {
        const victim = victims[Math.floor(random() * victims.length)] ?? 'ctx';
        const options = random() < 0.5 ? limits : [];
        const running: Running = stage.startCtx(project, ['exec', '--wait', ...options, '--', 'sh', '-c', work], {
          env: { TMPDIR: temporary, ...keeperOff },
        });
        await sleep(random() * longestLife);
        kill(pidsOf(running.pid, victim));
        const { code } = await running.finished;
        // Whatever was killed: ctx never says that all is well of a command that it did not see to its end.
        if (victim === 'owner' || victim === 'init') assert.ok(code !== null, `${victim} ${code}`);
        await until(() => processesMounting(project).length === 0, `round ${round}: nothing runs after ${victim}`);
      }
      assert.equal(await stage.inside(project, 'cat kept'), 'kept\n');
      await assertNothingLeft(project);
      assert.deepEqual(namespacesOf(project), []);
      assert.deepEqual(snapshot(project), before, 'the directory itself is as it was');
      assert.deepEqual(listed(temporary), []);
      if (limits.length > 0) {
        // A killed ctx leaves its group to the next that makes one.
        await stage.ctx(project, ['exec', '--wait', ...limits, '--', 'true']);
        const own = controlGroups().filter(
          (path) => !processes().includes(String(Number.parseInt(path.split('/ctx-')[1] ?? '', 36))),
        );
        assert.deepEqual(own, []);
      }
      await stage.json(project, ['drop', '--wait']);
      await trashIsEmptied(stage.store);
      const left = Object.keys(snapshot(stage.store)).filter((path) => /\.(?:tmp|new)(?:$|\/|-)/.test(path));
      assert.deepEqual(left, [], 'no half-written file is left in the store');
    });

    test('without a jail what a killed process started lives on', async () => {
      const seconds = ownSeconds();
      const running = stage.start(stage.home, ['sh', '-c', `sleep ${seconds} & echo started; sleep ${seconds}; :`]);
      await running.printed('started');
      kill([running.pid]);
      await until(() => processesCalled('sleep', seconds).length > 0, 'it lives on');
      // One of the two may not have become `sleep` yet when the other is seen.
      let ended = false;
      void running.finished.then(() => {
        ended = true;
      });
      await until(() => {
        kill(processesCalled('sleep', seconds));
        return ended;
      }, 'both have ended');
    });

    test('a jail whose owner was killed says so and does not look like success', async () => {
      const project = stage.project();
      for (const victim of ['owner', 'init', 'command'] as const) {
        const words = ['exec', '--wait', '--', 'sh', '-c', 'echo started; sleep 20; exit 0'];
        // A keeper's copy would be above the jail, and is not found below the call.
        const running = stage.startCtx(project, words, { env: keeperOff });
        await running.printed('started');
        kill(pidsOf(running.pid, victim));
        const { code, stderr } = await running.finished;
        assert.notEqual(code, 0, `${victim}: ${stderr}`);
      }
      await assertNothingLeft(project);
    });
  },
  { concurrency: 2 },
);
