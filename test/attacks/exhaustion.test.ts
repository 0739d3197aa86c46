/**
 * A command that uses up what there is. Meanwhile ctx answers in other projects, the report names the limit that was reached,
 * and afterwards every verb works on what the command left. CTX_SOAK=1 makes the sizes those of an attack; here they are
 * those of a test. Each command has a limit of time: it must not hold the machine that tests it.
 */
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { countedChanges, listedChanges } from '../../src/base/limits/store.js';
import type { Envelope } from '../../src/proxy/report/envelope.js';
import { inKeptJail } from '../support/kept-jail.js';
import { cannotMountSmallDisk, onSmallDisk, overlayWorksOn } from '../support/small-disk.js';
import { parseJson, type Stage, useStage } from '../support/stage.js';
import { forEitherUser, forUsersInTurn, isRoot } from '../support/users.js';

const soaking = process.env['CTX_SOAK'] === '1';
/** Deeper ones are reported and dropped, and not applied: deep-trees.test.ts. */
const levels = soaking ? 1_200 : 120;
const entries = soaking ? 1_000_000 : 1_500;
const crowdSize = soaking ? 2_000 : 800;
const refusedCalls = soaking ? 2_000_000 : 5_000;

/** Takes 1 MiB so many times in files without a name, says so, and keeps them for so many seconds. */
const holdFiles = [
  '/usr/bin/python3',
  '-c',
  `import array, mmap, os, socket, sys, time
way, count, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
kept = []
for number in range(count):
    path = os.path.expanduser("~/held") if way == "at-home" else "held"
    if way == "nameless":
        file = os.open(".", os.O_RDWR | os.O_TMPFILE, 0o600)
    else:
        file = os.open(path, os.O_RDWR | os.O_CREAT)
        os.unlink(path)
    os.write(file, b"x" * (1 << 20))
    kept.append(file)
    if way == "mapped":
        kept.append(mmap.mmap(file, 4096))
    if way == "sent":
        kept.append(socket.socketpair())
        kept[-1][0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file]))])
    if way in ("mapped", "sent"):
        os.close(file)
time.sleep(seconds)`,
];

/** Another project of the same user: a command in its jail, on its first use. */
async function answersMeanwhile(stage: Stage): Promise<void> {
  const { stdout, stderr } = await stage.ctx(stage.project(), ['exec', '--', 'echo', 'alive']);
  assert.equal(stdout, 'alive\n', `meanwhile: ${stderr}`);
}

/** Announces itself; while it goes on, ctx has to answer elsewhere. */
async function whileRunning(
  stage: Stage,
  project: string,
  options: readonly string[],
  argv: readonly string[],
): Promise<Envelope> {
  const words = ['exec', '--json', '--timeout', soaking ? '120s' : '30s', ...options, '--', ...argv];
  const running = stage.startCtx(project, words, { timeoutSeconds: 200 });
  await answersMeanwhile(stage);
  const { stdout, stderr } = await running.finished;
  return parseJson(stdout, stderr) as Envelope;
}

forUsersInTurn((user, turn) => {
  const stage = useStage(user);
  /** A control group is for those who may make one; the others have the kernel's limit of a process. */
  const mayLimit = isRoot && user.uid === 0;

  turn.test('without limits the same commands get all they ask for', async () => {
    // As much as would break a limit below, and no more: this machine is not to be used up.
    const project = stage.project();
    const bounded = {
      processes: 'for i in $(seq 80); do sleep 100 & done; jobs -p | wc -l',
      memory: `node -e 'const kept = []; for (let i = 0; i < 30; i += 1) kept.push(Buffer.alloc(2 ** 22, 1)); console.log(80)'`,
      disk: 'for i in 1 2 3 4; do head -c 4194304 /dev/zero > large$i; done; du -sm . | cut -f1; rm large*',
      files: 'for i in $(seq 300); do : > f$i; done; ls | wc -l; rm f*',
    };
    for (const [what, script] of Object.entries(bounded)) {
      const { stdout, limitsReached } = await stage.exec(project, ['bash', '-c', script]);
      assert.ok(Number(stdout?.text) >= 16, `${what}: ${stdout?.text}`);
      assert.deepEqual(limitsReached, [], what);
    }
  });

  test('a fork bomb is held to its processes and ends with the command', async () => {
    const project = stage.project();
    const bomb = 'bomb() { bomb & bomb & }; bomb 2>/dev/null; sleep 1';
    const envelope = await whileRunning(stage, project, ['--processes', '60'], ['sh', '-c', bomb]);
    // Without a control group no one counts what is refused, and a bomb that is held is never seen full.
    if (mayLimit) assert.match(envelope.limitsReached.join(), /process limit reached: \d+ forks? refused/);
    await answersMeanwhile(stage);
  });

  test('a crowd is held to the kernel’s limit where there is no control group, and the report names it', async () => {
    // None of the crowd ends by itself: on a slow machine the first would be gone before the last has come.
    const crowd = `(for i in $(seq ${crowdSize}); do sleep 100 & done) 2>/dev/null; sleep 2`;
    const envelope = await whileRunning(stage, stage.project(), ['--processes', '500'], ['sh', '-c', crowd]);
    assert.match(envelope.limitsReached.join(), /process limit reached: \d+ (forks? refused|processes and threads)/);
  });

  test('memory is held to its limit, in processes and in /dev/shm alike, and the report names it', {
    skip: mayLimit ? false : 'this user may make no control group',
  }, async () => {
    const eaters = [
      ['node', '-e', 'const kept = []; for (;;) kept.push(Buffer.alloc(2 ** 22, 1));'],
      ['sh', '-c', 'cat /dev/zero > /dev/shm/large'],
    ];
    for (const eater of eaters) {
      const envelope = await whileRunning(stage, stage.project(), ['--memory', '80M'], eater);
      assert.match(envelope.limitsReached.join(), /memory limit reached/, eater.join(' '));
    }
  });

  test('a thousand threads are no crowd, and a program that has one too many is told of in the report', async () => {
    // Refused, it stays briefly: without a control group the kernel counts no refusal, and what is gone at once is not seen.
    const threads = `import threading, time, sys
try:
  for number in range(int(sys.argv[1])): threading.Thread(target=time.sleep, args=(9,), daemon=True).start()
except RuntimeError:
  time.sleep(3)
  raise`;
    const program = (count: string) => ['/usr/bin/python3', '-c', threads, count];
    const many = await stage.exec(stage.project(), program('1500'));
    assert.equal(many.exitCode, 0, many.stderr?.text);
    const envelope = await whileRunning(stage, stage.project(), ['--processes', '400'], program('1500'));
    assert.equal(envelope.exitCode, 1);
    assert.match(envelope.limitsReached.join(), /process limit reached: \d+ (forks? refused|processes and threads)/);
  });

  turn.test('disk and files are held to their limits, however fast they are filled', async () => {
    const bytes = await whileRunning(
      stage,
      stage.project(),
      ['--disk', '8M'],
      ['sh', '-c', 'for i in 1 2 3 4; do cat /dev/zero > large$i & done; wait; sleep 2'],
    );
    assert.match(bytes.limitsReached.join(), /disk limit reached/);
    assert.ok(bytes.changes.reduce((sum, { size }) => sum + size, 0) < 64 * 2 ** 20);
    const files = await whileRunning(
      stage,
      stage.project(),
      ['--files', '200'],
      ['sh', '-c', 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); : > f$i; done'],
    );
    assert.match(files.limitsReached.join(), /file limit reached/);
  });

  turn.test('disk and files are held to their limits by what was deleted and is still open, too', async () => {
    const project = stage.project();
    const hold = async (options: readonly string[], ...words: readonly string[]) => {
      const argv = ['exec', '--json', '--timeout', '100s', ...options, '--', ...holdFiles, ...words];
      const { stdout, stderr } = await stage.ctx(project, argv);
      return parseJson(stdout, stderr) as Envelope;
    };
    for (const way of ['open', 'nameless', 'at-home']) {
      const { exitCode, stderr } = await hold([], way, '24', '0');
      // Files without a name are not to be had in an overlay before Linux 6.3.
      if (way === 'nameless' && stderr?.text.includes('not supported')) continue;
      assert.equal(exitCode, 0, `without a limit it has to work: ${stderr?.text}`);
      assert.match((await hold(['--disk', '8M'], way, '24', '90')).limitsReached.join(), /^disk limit reached/, way);
      assert.match((await hold(['--files', '20'], way, '24', '90')).limitsReached.join(), /^file limit reached/, way);
    }
    await inKeptJail(
      stage,
      async ({ project }) => {
        const words = ['jail', 'exec', '--json', '--', ...holdFiles, 'open', '24', '60'];
        const { stdout, stderr } = await stage.ctx(project, words);
        assert.match((parseJson(stdout, stderr) as Envelope).limitsReached.join(), /^disk limit reached/);
      },
      { options: ['--disk', '8M'] },
    );
  });

  test('nor can it be hidden in mappings, and in sockets that descriptors are sent by', {
    skip: cannotMountSmallDisk ?? false,
  }, async (context) => {
    // What is hidden is taken from the growth of the filesystem: here no one else writes it.
    const disk = stage.makeDirectory('hidden');
    if (!(await overlayWorksOn(stage, disk))) return context.skip('this kernel has no overlay on tmpfs');
    const project = stage.project();
    const quoted = holdFiles.map((word) => `'${word}'`).join(' ');
    for (const way of ['mapped', 'sent']) {
      const run = (options: string, seconds: number) =>
        `cd ${project}; CTX_DATA=${disk}/store $CTX exec --json --timeout 60s ${options} -- ${quoted} ${way} 24 ${seconds}`;
      const free = await onSmallDisk(stage, disk, 'size=96m', run('', 0));
      assert.equal((parseJson(free.stdout, free.stderr) as Envelope).exitCode, 0, 'without a limit it has to work');
      const held = await onSmallDisk(stage, disk, 'size=96m', run('--disk 8M', 50));
      const { limitsReached, timedOut } = parseJson(held.stdout, held.stderr) as Envelope;
      assert.match(limitsReached.join(), /^disk limit reached/, way);
      assert.equal(timedOut, false);
    }
  });

  turn.test('descriptors run out for the process that opens them, and for nobody else', async () => {
    const script = `const { openSync } = require('fs'); let open = 0;
      try { for (;;) { openSync('/dev/null'); open += 1; } } catch (error) { console.log(error.code, open > 500); }
      setTimeout(() => {}, 700);`;
    const envelope = await whileRunning(stage, stage.project(), [], ['node', '-e', script]);
    assert.equal(envelope.stdout?.text, 'EMFILE true\n');
  });

  test('kill -9 of everybody reaches nobody outside', async () => {
    const bystander = stage.start('/', ['sleep', '60']);
    try {
      const envelope = await stage.exec(stage.project(), [
        'sh',
        '-c',
        `kill -9 ${bystander.pid} && echo won; trap '' TERM; (kill -9 -1); kill -9 -1`,
      ]);
      assert.equal(envelope.stdout?.text, '');
      process.kill(bystander.pid, 0);
    } finally {
      bystander.child.kill('SIGKILL');
    }
  });
});

// What the report counts and verbs work on, whoever it is of.
forEitherUser((user) => {
  const stage = useStage(user);

  test('output without end on both streams is dropped and counted, not kept', async () => {
    const envelope = await whileRunning(
      stage,
      stage.project(),
      [],
      ['sh', '-c', 'head -c 12000000 /dev/zero & yes | head -c 12000000 >&2; wait'],
    );
    for (const stream of [envelope.stdout, envelope.stderr]) {
      assert.ok((stream?.dropped ?? 0) > 0, `${stream?.bytes} bytes`);
    }
  });

  test(`${refusedCalls} refused system calls are one line of the report`, async () => {
    const script = `import ctypes; c = ctypes.CDLL(None)\nfor i in range(${refusedCalls}): c.unshare(0x10000000)`;
    const envelope = await whileRunning(stage, stage.project(), [], ['/usr/bin/python3', '-c', script]);
    assert.deepEqual(
      envelope.refusals.map(({ call, count }) => [call, count]),
      [['unshare', refusedCalls]],
    );
  });

  test(`a tree of ${levels} levels is reported, applied, and its removal dropped`, async () => {
    const project = stage.project('echo x > x');
    const dig = `const { mkdirSync, writeFileSync } = require('fs');
      for (let i = 0; i < ${levels}; i += 1) { mkdirSync('directory'); process.chdir('directory'); }
      writeFileSync('bottom', 'deep');`;
    const made = await stage.exec(project, ['node', '-e', dig]);
    assert.equal(made.changes.length, levels + 1);
    assert.equal((await stage.json(project, ['apply']))['done'], true);
    assert.equal(stage.shell(project, 'find . -name bottom | wc -c').trim(), String(levels * 10 + 9));
    await stage.inside(project, 'rm -r directory');
    assert.equal((await stage.json(project, ['drop']))['dropped'], levels + 1);
  });

  test(`a directory of ${entries} entries is reported, shown and dropped`, async () => {
    const project = stage.project();
    const script = `mkdir wide; cd wide; seq ${entries} | xargs touch`;
    const words = ['exec', '--json', '--', 'sh', '-c', script];
    const { stdout, stderr } = await stage.ctx(project, words, { timeoutSeconds: 300 });
    const { changes, pending } = parseJson(stdout, stderr) as Envelope;
    const listed = entries < listedChanges ? entries + 1 : 1;
    assert.deepEqual([changes.length, pending], [listed, entries + 1]);
    const names = await stage.ctx(project, ['diff', '--names'], { timeoutSeconds: 300 });
    assert.equal(names.stdout.split('\n').length, listed + 1);
    const dropped = await stage.ctx(project, ['drop'], { timeoutSeconds: 300 });
    const count = entries < countedChanges ? entries + 1 : `at least ${countedChanges}`;
    assert.equal(dropped.stdout, `dropped ${count} changes\n`);
    await answersMeanwhile(stage);
  });

  test('a file of a terabyte that takes no room takes none in the report, in diff and when applied', async () => {
    const project = stage.project();
    await stage.inside(project, 'truncate -s 1T vast');
    assert.match(
      (await stage.ctx(project, ['diff'])).stdout,
      /Binary files .* differ\n {2}nothing -> 1099511627776 bytes/,
    );
    assert.equal((await stage.json(project, ['apply']))['done'], true);
    const { size, blocks } = statSync(join(project, 'vast'));
    assert.deepEqual([size, blocks < 100], [2 ** 40, true]);
  });
});
