/** What a jail costs: `ctx exec` against plain spawn, a Node start and bubblewrap; then real work in a fork. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { RunningJail } from '../src/jail/launch.js';
import { execute } from '../src/proxy/execute.js';
import { onFork } from '../src/proxy/run/open-fork-target.js';
import { coldStartNote, measure, print, type Subject } from './measure.js';
import { bubblewrapArguments, bubblewrapVersion } from './stage/bubblewrap.js';
import { ctxProgram, fileNames, inJail, planFor, run, type Stage, setStage, useOnce } from './stage/stage.js';

const command = '/bin/true';

async function starts(stage: Stage): Promise<void> {
  const options = { cwd: stage.project, env: stage.environment };
  const plan = await planFor(stage, [command]);
  const bubblewrap = bubblewrapVersion();
  const subjects: Subject[] = [
    { name: 'spawn', run: () => run(command, [], options) },
    { name: 'node -e 0', run: () => run(process.execPath, ['-e', '0'], options) },
    { name: 'the jail program', run: () => inJail(stage, plan) },
    {
      name: 'ctx as a library',
      run: () => {
        const request = { argv: [command], cwd: stage.project, environmentAdditions: [], wait: false, weakened: [] };
        return execute(stage.host, { ...request, streams: 'capture' }, onFork);
      },
    },
    { name: 'ctx exec', run: () => run(ctxProgram, ['exec', '--', command], options) },
  ];
  if (bubblewrap !== undefined) {
    const args = bubblewrapArguments(plan, stage.project, join(stage.directory, 'bubblewrap'));
    subjects.splice(2, 0, { name: 'bubblewrap', run: () => run('bwrap', args, options) });
  }
  print(
    await measure({
      title: `Running ${command}`,
      anchor: 'spawn',
      rounds: 41,
      directory: stage.directory,
      subjects,
      notes: [
        coldStartNote,
        `The jail program carries out a plan of ${plan.length} operations; ${bubblewrap ?? 'bubblewrap (skipped: not installed)'} has its binds, links, tmpfs and`,
        'namespaces, a bind in place of the overlay, and neither masks nor Landlock nor seccomp.',
        'The library is ctx without its Node start: lock and scan, jail, diff, record.',
      ],
    }),
  );
}

/** A command that finds another at work on its fork gets a clone of its mount. */
async function joins(stage: Stage): Promise<void> {
  const request = {
    cwd: stage.project,
    environmentAdditions: [],
    wait: false,
    weakened: [],
    streams: 'capture',
  } as const;
  const exec = () => execute(stage.host, { ...request, argv: [command] }, onFork);
  let other: RunningJail | undefined;
  let otherEnded: Promise<unknown> | undefined;
  const before = () =>
    new Promise<void>((resolve) => {
      const onStarted = (jail: RunningJail) => {
        other = jail;
        void jail.started.then(() => setTimeout(resolve, 5));
      };
      otherEnded = execute(stage.host, { ...request, argv: ['sleep', '1000'], onStarted }, onFork).catch(
        () => undefined,
      );
    });
  // Its jail ends before it has let go of the fork.
  const after = async () => {
    other?.kill();
    await otherEnded;
  };
  print(
    await measure({
      title: `Running ${command} alone on the fork, and beside another command`,
      anchor: 'alone',
      rounds: 41,
      directory: stage.directory,
      subjects: [
        { name: 'alone', run: exec },
        { name: 'joined', run: exec, before, after },
      ],
      notes: ['ctx as a library, without its Node start. The other command is started before, and not measured.'],
    }),
  );
}

const git = ['-c', 'user.name=bench', '-c', 'user.email=bench@localhost', '-c', 'commit.gpgsign=false'];

function makeProject({ project, environment }: Stage): void {
  for (const name of fileNames(1_000)) {
    mkdirSync(join(project, dirname(name)), { recursive: true });
    writeFileSync(join(project, name), `${name} and some more words to look for\n`.repeat(20));
  }
  writeFileSync(join(project, 'main.c'), '#include <stdio.h>\nint main(void) { return printf("hello\\n") < 0; }\n');
  const options = { cwd: project, env: environment, stdio: 'ignore' } as const;
  execFileSync('git', ['init', '-q'], options);
  execFileSync('git', ['add', '.'], options);
  for (const message of ['one', 'two', 'three']) {
    execFileSync('git', [...git, 'commit', '-q', '--allow-empty', '-m', message], options);
  }
}

const readAll = `
  const { readFileSync, readdirSync } = require('node:fs');
  for (let round = 0; round < 5; round += 1)
    for (const name of readdirSync('.', { recursive: true }))
      if (name.endsWith('.txt')) readFileSync(name);`;

interface Task {
  readonly name: string;
  readonly argv: readonly string[];
  readonly needs?: string;
}

const shell = (script: string) => ['/bin/sh', '-ec', script];
const times = (count: number, script: string) => shell(`for i in $(seq ${count}); do ${script}; done`);

const tasks: readonly Task[] = [
  {
    name: 'git status and git log, 10 times',
    argv: times(10, 'git status >/dev/null; git log >/dev/null'),
    needs: 'git',
  },
  { name: 'grep -r, 10 times', argv: times(10, 'grep -r nothing-of-it d* || true') },
  { name: 'node reads 1,000 files, 5 times', argv: ['node', '-e', readAll] },
  {
    name: 'create and delete 1,000 files, 5 times',
    argv: times(5, 'mkdir new; for j in $(seq 1000); do : >new/$j; done; rm -r new'),
  },
  { name: 'gcc compiles a small program, 3 times', argv: times(3, 'gcc -O1 -o main main.c'), needs: 'gcc' },
];

function isMissing(program: string): boolean {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).status !== 0;
}

async function work(stage: Stage, { name, argv, needs }: Task): Promise<void> {
  if (needs !== undefined && isMissing(needs)) {
    process.stderr.write(`skipped: ${name} (${needs} is not installed)\n`);
    return;
  }
  const plan = await planFor(stage, argv);
  const [program = '', ...args] = argv;
  print(
    await measure({
      title: `In a fork: ${name}`,
      anchor: 'native',
      rounds: 15,
      directory: stage.directory,
      subjects: [
        { name: 'native', run: () => run(program, args, { cwd: stage.project, env: stage.environment }) },
        { name: 'in the fork', run: () => inJail(stage, plan) },
      ],
      notes: [
        "Both on one filesystem. In the fork: the jail's start and its overlay included, ctx's own Node start not.",
      ],
    }),
  );
}

const stage = setStage('exec');
try {
  makeProject(stage);
  await useOnce(stage);
  await starts(stage);
  await joins(stage);
  for (const task of tasks) await work(stage, task);
} finally {
  stage.end();
}
