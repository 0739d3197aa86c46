/** A keeper: calls that it runs answer as those of a Node of their own, and what it may not run it leaves to that. */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { getPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  callsHaveEnded,
  callsOf,
  callsRunBy,
  endKeeper,
  isAlive,
  keepCompany,
  keeperOf,
  keeperOff,
  keeperOn,
  startKeeper,
} from '../support/keeper.js';
import { type Finished, ownSeconds, processesCalled, until } from '../support/process.js';
import { type Stage, useStage } from '../support/stage.js';
import { forEitherUser, forUsersInTurn, isRoot, type TestUser, type Turn } from '../support/users.js';

interface Step {
  readonly words: readonly string[];
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

const sh = (script: string, ...options: readonly string[]): Step => ({
  words: ['exec', ...options, '--', 'sh', '-c', script],
});
const call = (line: string): Step => ({ words: line.split(' ') });

const hook = (tool: string, input: Readonly<Record<string, unknown>>, ...words: readonly string[]): Step => ({
  words: ['hook', 'claude-code', ...words],
  input: JSON.stringify({ hook_event_name: 'PreToolUse', tool_name: tool, tool_input: input, cwd: '/' }),
});

/** Good and bad calls of every verb that is served, one after the other in one project. */
const steps: readonly Step[] = [
  sh('umask; ulimit -a; id; grep -E "^(Sig|Cap|NoNew|Seccomp|Groups)" /proc/self/status; cat /proc/self/limits'),
  sh(
    'ls -l /proc/self/fd | wc -l; ps -o pid,ppid,pgid,sid,tty,ni -p $$; pwd; env | sort; cat /proc/self/oom_score_adj',
  ),
  { ...sh('echo "$GIVEN"; env | grep -c GIVEN', '--env', 'GIVEN'), env: { GIVEN: 'for one call' } },
  sh('echo "[$GIVEN]"; echo out; echo err >&2; exit 3', '--report', 'always'),
  { words: ['exec', '--', 'cat'], input: 'typed\n' },
  sh('kill -TERM $$'),
  sh('sleep 5', '--timeout', '100ms'),
  sh('echo new > made; rm kept; mkdir -p below/deep; echo x > below/deep/file', '--report', 'always'),
  { words: ['exec', '--json', '--', 'echo', 'hi'] },
  ...[
    'exec',
    'exec --',
    'exec --bogus -- true',
    'exec -- no-such-program',
    'exec --cwd below -- pwd',
    'exec --help',
  ].map(call),
  ...['exec --cwd nowhere -- true', 'exec --read /nowhere-at-all -- true', 'exec --limit bogus -- true'].map(call),
  ...['status', 'status --json', 'status --bogus', 'status surplus', 'diff', 'diff --names', 'diff --json'].map(call),
  ...['diff nowhere', 'blame made', 'blame nowhere', 'inspect', 'inspect bogus', 'surface', 'preamble'].map(call),
  ...['classify -- rm -rf /', 'classify', 'rules list', 'rules rm 77', 'approvals list', 'approvals grant none'].map(
    call,
  ),
  ...['why read /etc/passwd', 'why', 'checkpoint save here', 'checkpoint list', 'checkpoint bogus'].map(call),
  ...['rollback', 'rollback --to nowhere', 'status', 'fork create other', 'fork list', 'fork delete nowhere'].map(call),
  hook('Bash', { command: 'ls' }),
  hook('Bash', { command: 'rm -rf /' }, '--bash', 'deny'),
  hook('Read', { file_path: '/etc/shadow' }),
  hook('Write', { file_path: 'made', content: 'x' }, '--read', 'nowhere'),
  hook('Bash', {}),
  { words: ['hook', 'claude-code'], input: 'no message' },
  { words: ['hook', 'claude-code', '--bogus'], input: '{}' },
  { words: ['hook', 'json'], input: '{"version":1}' },
  ...['agent new one', 'agent new one', 'agent ls', 'agent ls --json', 'agent show one', 'agent show none'].map(call),
  { words: ['agent', 'set', 'one', 'caps'], input: 'no line of caps\n' },
  ...['agent set one description x', 'agent grant one read:.', 'agent revoke one read:.', 'agent rm none'].map(call),
  ...['tool new t --description x', 'tool ls', 'tool show t', 'tool set t description y', 'tool rm t', 'tool rm t'].map(
    call,
  ),
  { words: ['policy', 'check', '-'], input: 'allow one tool:x execute\n' },
  { words: ['mount', 'check', '-'], input: 'no mount\n' },
  ...['policy check', 'policy', 'mount check', 'agent rm one', 'trust --show', 'trust', 'trust --digest none'].map(
    call,
  ),
  ...['secret list', 'secret list --json', 'secret rm NONE', 'secret', 'ps --bogus', 'ps surplus'].map(call),
  ...['audit query --json --type exec', 'audit show 1', 'audit show none', 'audit keys', 'audit query surplus'].map(
    call,
  ),
  ...['vault list', 'vault info none', 'fsck', 'fsck --json', 'agent', 'tool', 'audit'].map(call),
  ...['apply --dry-run', 'apply nowhere', 'apply', 'apply --undo', 'apply', 'drop', 'status'].map(call),
];

const project = 'echo one > kept; mkdir sub; echo two > sub/file';

/** What differs from run to run: times, and what is named by them. */
function plain({ code, signal, stdout, stderr }: Finished, store: string): string {
  const text = `${code} ${signal}\n${stdout}\n--\n${stderr}`;
  return (
    text
      .replaceAll(store, 'STORE')
      .replace(/\d{4}-\d\d-\d\d[T ][\d:.]+Z?/g, 'TIME')
      // How far the background has come.
      .replace(/^ +freeing .*\n/gm, '')
      .replace(/"(?:\w*[mM]illiseconds|\w+Microseconds|\w+Kilobytes|pid|seq|run|stamp)":[^,}]+/g, 'N')
      .replace(/\b\d+(?:\.\d+)? ?(?:ms|s|seconds?|minutes?|KiB|MiB|kB|MB)\b/g, 'AMOUNT')
      .replace(/\b[0-9a-f]{16,64}\b/g, 'DIGEST')
      .replace(/\b[0-9a-z]{1,8}-[0-9a-z]{8}-[0-9a-z]+\b/g, 'NAME')
      .replace(/\b\d+ (?:user|system) /g, 'N ')
      // A limit of 100 ms is warned of at 80, unless both have passed when somebody looks.
      .replace(/\bperson:\d+/g, 'person:N')
  );
}

async function play(stage: Stage, store: string, env: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const directory = stage.makeDirectory('played');
  stage.shell(directory, `find . -mindepth 1 -delete; ${project}`);
  const answers: string[] = [];
  for (const { words, input, env: own } of steps) {
    const options = { env: { ...env, ...own, CTX_DATA: store }, ...(input === undefined ? {} : { input }) };
    answers.push(`ctx ${words.join(' ')}\n${plain(await stage.ctx(directory, words, options), store)}`);
  }
  return answers;
}

function signalsAlike(stage: Stage, turn: Turn): void {
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const) {
    turn.test(`ends alike by ${name}`, async () => {
      const ends: string[] = [];
      for (const env of [keeperOff, keeperOn]) {
        const directory = stage.project();
        const running = stage.startCtx(directory, ['exec', '--', 'sh', '-c', 'echo ready; exec sleep 61'], { env });
        await running.printed('ready');
        running.child.kill(name);
        const { code, signal, stdout, stderr } = await running.finished;
        ends.push(JSON.stringify({ code, signal, stdout, stderr }));
      }
      assert.equal(ends[1], ends[0]);
    });
  }

  turn.test('ends alike where nobody reads its output, and where the pipe is full', async () => {
    const scripts = [
      `${stage.program} exec -- yes | head -1`,
      `${stage.program} exec -- sh -c 'head -c 300000 /dev/zero' | (sleep 0.3; wc -c)`,
      `${stage.program} exec -- sh -c 'echo hi; exec >&-; exit 4' >&-`,
      `${stage.program} status >/dev/full`,
    ];
    for (const script of scripts) {
      const ends: string[] = [];
      for (const env of [keeperOff, keeperOn]) {
        const directory = stage.makeDirectory('piped');
        const { code, stdout, stderr } = await stage.start(
          directory,
          ['bash', '-c', `${script}; echo "\${PIPESTATUS[@]}"`],
          { env },
        ).finished;
        ends.push(JSON.stringify({ code, stdout, stderr }));
      }
      assert.equal(ends[1], ends[0], script);
    }
  });
}

/** A kernel that does not know it is asked for another timer slack in its place. */
const changed = (change: string) => `
import ctypes, os, platform, sys
system, arm = ctypes.CDLL(None), platform.machine() == "aarch64"
if system.${change} < 0: system.prctl(29, 123457, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])`;

/** Callers that are not as the keeper is: each changes itself, then becomes `ctx`. What any user can change is of each in turn. */
function otherCallers(user: TestUser, turn: Turn): readonly string[] {
  const always = [
    'umask 027',
    'ulimit -n 512',
    // As it is already in a session that sudo has begun.
    ...(/^Max core file size +0 /m.test(readFileSync('/proc/self/limits', 'utf8')) ? [] : ['ulimit -c 0']),
    'ulimit -f 100000',
    'LC_ALL=C; export LC_ALL',
    'TZ=UTC; export TZ',
  ];
  const wrapped = [
    // Where it is not at its lowest already, as in a run behind everything else.
    ...(getPriority() < 19 ? ['exec nice -n 3'] : []),
    'exec setpriv --no-new-privs',
    'exec choom -n 500 --',
    'exec ionice -c 3',
    'exec taskset 1',
    // What no other process can see of it: native/call says it.
    'exec setarch -R',
    ...[
      'prctl(29, 123456, 0, 0, 0)',
      // Where its memory is put, whether it may be merged, and which keys of a session it has.
      'syscall(arm and 237 or 238, 3, ctypes.byref(ctypes.c_ulong(1)), ctypes.c_ulong(8))',
      'prctl(67, 1, 0, 0, 0)',
      'syscall(arm and 219 or 250, 1, None)',
    ].map((change) => `exec /usr/bin/python3 -c '${changed(change)}'`),
  ];
  const roots = [
    'exec setpriv --groups 7',
    'exec setpriv --bounding-set -sys_boot',
    'exec setpriv --securebits +keep_caps_locked',
    'exec unshare -n',
    'exec unshare -m',
  ];
  const asUser = ['exec unshare --user --map-current-user'];
  return [...turn.of([...always, ...wrapped]), ...(user.uid === 0 ? roots : asUser)];
}

forEitherUser((user) => {
  const stage = useStage(user);
  const company = keepCompany(user);
  const warm = () => `${stage.directory}/store-warm`;
  after(async () => {
    company.end();
    await endKeeper(warm());
  });

  it('answers every verb it serves as a Node of its own does', async () => {
    const cold = `${stage.directory}/store-cold`;
    const expected = await play(stage, cold, keeperOff);
    const pid = await startKeeper(stage, stage.project(), warm());
    const before = callsRunBy(pid);
    const got = await play(stage, warm(), keeperOn);
    assert.ok(callsRunBy(pid) > before, 'the keeper ran them');
    const differs = (_: string, index: number) => got[index] !== expected[index];
    assert.deepEqual(got.filter(differs), expected.filter(differs));
    assert.ok(isAlive(pid));
  });
});

forUsersInTurn((user, turn) => {
  const stage = useStage(user);
  const company = keepCompany(user);
  after(async () => {
    company.end();
    for (const store of [stage.store, `${stage.directory}/other`]) await endKeeper(store);
  });

  describe('with a keeper', { concurrency: 1 }, () => {
    let pid = 0;
    it('is left behind by the first verb, without anything of its caller', async () => {
      const directory = stage.project();
      pid = await startKeeper(stage, directory);
      assert.doesNotMatch(readFileSync(`/proc/${pid}/environ`, 'utf8'), /CTX_KEEPER|SECRET/);
      await stage.ctx(directory, ['exec', '--', 'true'], { env: { ...keeperOn, SECRET: 'of one call' } });
      assert.doesNotMatch(readFileSync(`/proc/${pid}/environ`, 'utf8'), /SECRET/);
      // Those of a call that it has just run may be gone when they are looked at.
      const links = stage.shell('/', `ls -l /proc/${pid}/cwd /proc/${pid}/fd 2>&1 || :`);
      assert.match(links, /cwd -> [\s\S]*store\/keeper\//);
      assert.doesNotMatch(links, /project|pts|tty/);
      const { stdout } = await stage.ctx(directory, ['ps']);
      assert.match(stdout, new RegExp(`^${pid}  keeper  the store`, 'm'));
    });

    signalsAlike(stage, turn);

    turn.test('opens no debugger by SIGUSR1, and goes on', async () => {
      const pid = await startKeeper(stage, stage.project());
      process.kill(pid, 'SIGUSR1');
      await sleep(500);
      await stage.ctx(stage.project(), ['status'], { env: keeperOn });
      const said = readdirSync(join(stage.store, 'keeper')).map((key) =>
        readFileSync(join(stage.store, 'keeper', key, 'error'), 'utf8'),
      );
      assert.deepEqual([keeperOf(stage.store), said.join('')], [pid, '']);
    });

    /** Whether it runs the call of `argv`, which is given a command: that waits until this was looked at, and a call lasts as long. */
    const runs = async (directory: string, argv: (command: readonly string[]) => readonly string[], what: string) => {
      await callsHaveEnded(pid);
      const command = ['sh', '-c', 'echo ready; read line; echo done'];
      const running = stage.start(directory, argv(command), { env: keeperOn, stdio: ['pipe', 'pipe', 'pipe'] });
      await running.printed('ready');
      // A copy that some other call has not waited for goes at once.
      let isServed = true;
      for (let looks = 0; looks < 100 && isServed; looks++) {
        isServed = callsOf(pid).length > 0;
        if (isServed) await sleep(20);
      }
      running.child.stdin?.end('\n');
      const { stdout, stderr } = await running.finished;
      assert.equal(stdout, 'ready\ndone\n', `${what}: ${stderr}`);
      return isServed;
    };
    const exec = (command: readonly string[]) => [stage.program, 'exec', '--', ...command];

    const callers = otherCallers(user, turn);
    it('runs nothing for a caller that has other rights, limits or namespaces than it', async () => {
      const directory = stage.project();
      for (const become of callers) {
        const start = `${become.startsWith('exec') ? become : `${become}; exec`} "$0" "$@"`;
        assert.ok(!(await runs(directory, (command) => ['sh', '-c', start, ...exec(command)], become)), become);
      }
      // On a busy machine a caller does not wait for it.
      let isServed = false;
      for (let tries = 0; tries < 10 && !isServed; tries++) isServed = await runs(directory, exec, 'itself');
      assert.ok(isServed, 'it runs one of a caller as itself');
    });

    it('is asked by nobody else, and no jail has it', async () => {
      const directory = stage.project();
      const seen = await stage.ctx(directory, ['exec', '--', 'ls', join(stage.store, 'keeper')], { env: keeperOn });
      assert.notEqual(seen.code, 0);
      if (!isRoot) return;
      const other = user.uid === 0 ? { uid: 64_731, gid: 64_731 } : { uid: 64_732, gid: 64_732 };
      const script = `import socket,glob,os; os.stat(${JSON.stringify(join(stage.store, 'keeper'))}); os.listdir(${JSON.stringify(join(stage.store, 'keeper'))})`;
      const { code, stderr } = await stage.start('/', ['python3', '-c', script], other).finished;
      assert.notEqual(code, 0);
      assert.match(stderr, /Permission denied/);

      // With the directories open to everybody: the keeper itself answers its own user alone, whatever the group.
      const [key = ''] = readdirSync(join(stage.store, 'keeper'));
      const place = join(stage.store, 'keeper', key);
      const opened = [stage.store, dirname(place), place];
      const modes = opened.map((path) => statSync(path).mode & 0o777);
      for (const path of opened) chmodSync(path, 0o755);
      chmodSync(join(place, 'socket'), 0o777);
      const connect = `import socket; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.settimeout(20)
s.connect(${JSON.stringify(join(place, 'socket'))}); print(len(s.recv(16)))`;
      const asked = async (who: object) => (await stage.start('/', ['python3', '-c', connect], who).finished).stdout;
      try {
        assert.equal(await asked({}), '1\n', 'whoever it is for is greeted');
        assert.equal(await asked({ uid: other.uid, gid: user.gid }), '0\n');
      } finally {
        for (const [at, path] of opened.entries()) chmodSync(path, modes[at] ?? 0o700);
      }
    });

    const wide = turn.of(['keepers', 'own'].flatMap((which) => [0o701, 0o710, 0o755].map((mode) => ({ which, mode }))));
    it('is not asked where others can look into its directories, behind a link, or of another user', async () => {
      const directory = stage.project();
      const keepers = join(stage.store, 'keeper');
      const [key = ''] = readdirSync(keepers);
      const isUnasked = async (change: () => void, back: () => void, what: string) => {
        // One that looked for its place while that was moved has ended.
        if (!isAlive(pid)) pid = await startKeeper(stage, stage.project());
        await callsHaveEnded(pid);
        change();
        try {
          assert.ok(!(await runs(directory, exec, what)), what);
        } finally {
          back();
        }
      };
      const places = { keepers, own: join(keepers, key) };
      for (const [which, path] of Object.entries(places)) {
        const close = () => chmodSync(path, 0o700);
        for (const { mode } of wide.filter((each) => each.which === which)) {
          await isUnasked(() => chmodSync(path, mode), close, `${path} ${mode.toString(8)}`);
        }
        const by = (script: string) => () => void stage.shell(directory, script);
        // A call that has ended may still be leaving a keeper behind, which makes the directory anew.
        const linked = by(`mv ${path} ${path}-moved; until ln -sT ${path}-moved ${path}; do rm -r ${path}; done`);
        const back = by(`until rm -rf ${path}; mv -T ${path}-moved ${path}; do :; done`);
        await isUnasked(linked, back, `a link at ${path}`);
        if (user.uid !== 0) continue;
        await isUnasked(by(`chown 64731:64731 ${path}`), by(`chown 0:0 ${path}`), `another user’s ${path}`);
      }
      // One that looked for its place while that was moved is about to end.
      await endKeeper(stage.store);
      pid = await startKeeper(stage, stage.project());
    });

    turn.test('ends a jail whose caller is killed', async () => {
      const seconds = ownSeconds();
      const running = stage.startCtx(stage.project(), ['exec', '--', 'sh', '-c', `echo ready; exec sleep ${seconds}`], {
        env: keeperOn,
      });
      await running.printed('ready');
      running.child.kill('SIGKILL');
      await until(() => processesCalled('sleep', seconds).length === 0, 'the command has ended');
      await running.finished;
    });

    /** A call that the keeper has: on a busy machine a caller may do without it, and another is started. */
    const startServed = async (words: readonly string[]) => {
      // One that looked for its place while that was moved has ended.
      pid = await startKeeper(stage, stage.project());
      for (let tries = 0; ; tries++) {
        // What ran before may still be ending, and would be taken for this one.
        await callsHaveEnded(pid);
        const running = stage.startCtx(stage.project(), words, { env: keeperOn, stdio: ['pipe', 'pipe', 'pipe'] });
        for (let looks = 0; looks < 100 && callsOf(pid).length === 0; looks++) await sleep(50);
        if (callsOf(pid).length > 0 || tries === 10) return running;
        running.child.kill('SIGKILL');
        await running.finished;
      }
    };

    const stateOf = (keeper: number) => {
      try {
        return /\) (\w) /.exec(readFileSync(`/proc/${keeper}/stat`, 'utf8'))?.[1];
      } catch {
        return undefined; // it has ended
      }
    };

    /** One that was killed is found for a while on a busy machine, as if it were there. */
    const hasEnded = (keeper: number) => until(() => !isAlive(keeper), 'the keeper has ended');

    turn.test('blocks the call of a harness where it dies in the middle', async () => {
      const reading = await startServed(['hook', 'claude-code']);
      // Until it is told to go on, its caller would do without it.
      await sleep(500);
      process.kill(pid, 'SIGKILL');
      const { code, stderr } = await reading.finished;
      assert.equal(code, 2, stderr);
      assert.match(stderr, /the keeper ended/);
      await hasEnded(pid);
      pid = await startKeeper(stage, stage.project());
    });

    turn.test('is not waited for where it is stopped', async () => {
      // One that has just found a reason to end is not stopped any more.
      for (let isStopped = false; !isStopped; isStopped = stateOf(pid) === 'T') {
        pid = await startKeeper(stage, stage.project());
        process.kill(pid, 'SIGSTOP');
        await until(() => stateOf(pid) === 'T' || !isAlive(pid), 'it is stopped, or has ended');
      }
      try {
        const { code, stdout } = await stage.ctx(stage.project(), ['exec', '--', 'echo', 'done'], {
          env: keeperOn,
          timeoutSeconds: 30,
        });
        assert.deepEqual([code, stdout], [0, 'done\n']);
      } finally {
        process.kill(pid, 'SIGCONT');
      }
    });

    turn.test('takes what it runs with it when it is killed, which is said; and the next verb runs', async () => {
      const seconds = ownSeconds();
      const running = await startServed(['exec', '--', 'sh', '-c', `echo ready; exec sleep ${seconds}`]);
      await running.printed('ready');
      process.kill(pid, 'SIGKILL');
      const { code, stderr } = await running.finished;
      assert.equal(code, 70);
      assert.match(stderr, /the keeper ended/);
      await until(() => processesCalled('sleep', seconds).length === 0, 'the command has ended');
      await hasEnded(pid);
      pid = await startKeeper(stage, stage.project());
    });

    turn.test('ends when it is asked to, after what it runs', async () => {
      const running = await startServed(['exec', '--', 'sh', '-c', 'echo ready; sleep 0.5; echo done']);
      const now = pid;
      await running.printed('ready');
      process.kill(now, 'SIGTERM');
      const { code, stdout } = await running.finished;
      assert.deepEqual([code, stdout], [0, 'ready\ndone\n']);
      await hasEnded(now);
    });

    turn.test('ends with its store, and does not make it again', async () => {
      const store = `${stage.directory}/other`;
      const last = await startKeeper(stage, stage.project(), store);
      rmSync(store, { recursive: true });
      await until(() => !isAlive(last), 'the keeper has ended');
      assert.equal(existsSync(store), false);
    });
  });

  it('is not left in namespaces of its caller’s own, which would last as long as it', async () => {
    // Each kind alone; a user other than root needs a namespace of users for any of them.
    const kinds = ['-m', '-n', '-i', '-u', '-C', '-T'];
    const apart = user.uid === 0 ? kinds : kinds.slice(0, 1).map((kind) => `--user --map-current-user ${kind}`);
    const directory = stage.project();
    const placeOf = (kind: string) => `${stage.directory}/unshared${apart.indexOf(kind)}`;
    for (const kind of apart) {
      const options = { env: { ...keeperOn, CTX_DATA: placeOf(kind) } };
      // By a shell, as a person does: of a process of theirs more can be seen than of this one.
      const script = `unshare ${kind} ${stage.program} status; :`;
      await stage.start(directory, ['sh', '-c', script], options).finished;
    }
    // It would be started when the verb has ended.
    await sleep(1500);
    for (const kind of apart) assert.equal(existsSync(join(placeOf(kind), 'keeper')), false, kind);
    const store = placeOf(apart[0] ?? '');
    await startKeeper(stage, directory, store);
    await endKeeper(store);
  });

  turn.test('is none where it is switched off, and a switch that is neither is refused', async () => {
    const directory = stage.project();
    const store = `${stage.directory}/off`;
    await stage.ctx(directory, ['status'], { env: { CTX_KEEPER: 'off', CTX_DATA: store } });
    assert.equal(existsSync(join(store, 'keeper')), false);
    const { code, stderr } = await stage.ctx(directory, ['status'], { env: { CTX_KEEPER: 'maybe' } });
    assert.equal(code, 2);
    assert.match(stderr, /expected on or off, got 'maybe'/);
  });
});
