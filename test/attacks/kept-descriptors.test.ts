/** Commands of a kept jail that do not start, for every reason there is: whoever keeps the jail loses no descriptor by them. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { test } from 'node:test';
import { inKeptJail } from '../support/kept-jail.js';
import { until } from '../support/process.js';
import { useWarmStage } from '../support/stage.js';
import { forUsersInTurn } from '../support/users.js';

const starts = process.env['CTX_SOAK'] === '1' ? 200 : 25;

const descriptorsOf = (pid: number) => readdirSync(`/proc/${pid}/fd`).length;

/** How many descriptors a process may have from now on. */
function allow(pid: number, soft: number | string): void {
  const { status, stderr } = spawnSync('prlimit', ['--pid', String(pid), `--nofile=${soft}:`]);
  assert.equal(status, 0, String(stderr));
}

/** So many descriptors of this user are under way in sockets while it lives, which the kernel counts. */
const underWay = `
import os, socket, sys
file, sockets = os.open("/dev/null", os.O_RDONLY), []
for _ in range(8):
    sockets.append(socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
    socket.send_fds(sockets[-1][0], [b"x"], [file] * 100)
print("under way", flush=True)
sys.stdin.read()`;

const namespacesAround = (pid: number) =>
  /^NSpid:\t(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]?.split('\t').length;

/** The processes that it has started in its own pid namespace, and not in the jail's. */
const startedBeside = (pid: number): number[] =>
  (readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').match(/\d+/g) ?? [])
    .map(Number)
    .filter((child) => namespacesAround(child) === namespacesAround(pid));

forUsersInTurn(
  (user, turn) => {
    const stage = useWarmStage(user);

    // What else it held would keep the jail from ending, and those who wait for that.
    test('the process that joins others for it holds a socket and /proc, and nothing of the jail', () =>
      inKeptJail(stage, async ({ pid: jail }) => {
        const [taker = 0, ...others] = startedBeside(jail);
        assert.ok(taker > 0 && others.length === 0, `${taker} ${others}`);
        const held = readdirSync(`/proc/${taker}/fd`).map((each) => readlinkSync(`/proc/${taker}/fd/${each}`));
        if (held.length !== 2) process.kill(taker, 'SIGKILL');
        assert.match(held.join(' '), /^socket:\[\d+\] \/proc$/);
      }));

    turn.test('a program that cannot be executed costs no descriptor', () =>
      inKeptJail(
        stage,
        async ({ project, pid: jail, keeper }) => {
          const run = () => stage.ctx(project, ['exec', '--', './bad']);
          assert.notEqual((await run()).code, 0);
          const before = [descriptorsOf(jail), descriptorsOf(keeper)] as const;
          for (let start = 0; start < starts; start += 1) await run();
          assert.equal(descriptorsOf(jail), before[0]);
          await until(() => descriptorsOf(keeper) <= before[1], 'the keeper has as few descriptors as before');
        },
        { script: 'printf "#!/no/such/interpreter\\n" > bad; chmod +x bad' },
      ),
    );

    const skip = user.uid === 0 ? false : 'nobody may change the limits of a process in another user namespace';
    test('a jail that has no descriptor left for a command loses none by it', { skip }, () =>
      inKeptJail(stage, async ({ project, pid: jail }) => {
        const run = () => stage.ctx(project, ['exec', '--', 'true']);
        // Something stays in the fork, so that it stays mounted: a jail that cannot mount it ends.
        await stage.ctx(project, ['exec', '--', 'sh', '-c', 'sleep 600 > /dev/null 2>&1 &']);
        const before = descriptorsOf(jail);
        const usual = /^Max open files\s+(\d+)/m.exec(readFileSync(`/proc/${jail}/limits`, 'utf8'))?.[1] ?? '1024';
        const ends = new Set<boolean>();
        // From none to more than enough, so that each place that opens one fails once.
        for (let more = 0; more <= 24; more += 1) {
          allow(jail, before + more);
          const { code } = await run();
          ends.add(code === 0);
          allow(jail, usual);
          assert.equal(descriptorsOf(jail), before, `with ${more} more`);
        }
        assert.ok(ends.has(false), 'some did not start');
        assert.equal((await run()).code, 0);
      }),
    );

    const unable = user.uid === 0 ? 'root may have any number of them under way' : false;
    test('too many descriptors that others of its user have under way end no jail', { skip: unable }, async () => {
      const project = stage.project();
      const limited = ['sh', '-c', 'ulimit -n 500; exec "$0" jail start', stage.program];
      assert.equal((await stage.start(project, limited).finished).code, 0);
      const run = () => stage.ctx(project, ['exec', '--', 'true']);
      try {
        assert.equal((await run()).code, 0);
        const others = stage.start(project, ['python3', '-c', underWay], { stdio: ['pipe', 'pipe', 'pipe'] });
        await others.printed('under way');
        const { code, stderr } = await run();
        assert.deepEqual([code, /EMFILE/.test(stderr)], [1, true], stderr);
        others.child.stdin?.end();
        await others.finished;
        assert.equal((await run()).code, 0);
      } finally {
        await stage.ctx(project, ['jail', 'stop']);
      }
    });

    test('as many commands run at once as it has descriptors for', { skip }, () =>
      inKeptJail(stage, async ({ project, pid: jail }) => {
        const script = 'echo started; until test -e stop; do sleep 0.05; done';
        const running = Array.from({ length: 12 }, () => stage.startCtx(project, ['exec', '--', 'sh', '-c', script]));
        for (const command of running) await command.printed('started');
        // A few more than those that are open: far fewer than what could be watched of so many commands.
        allow(jail, descriptorsOf(jail) + 12);
        const last = await stage.ctx(project, ['exec', '--', 'touch', 'stop']);
        assert.equal(last.code, 0, last.stderr);
        for (const command of running) assert.equal((await command.finished).code, 0);
      }),
    );
  },
  { concurrency: 1 },
);
