/** What a jail costs: launching /bin/true, a warm command in a kept jail, and real work inside against outside. */
import { spawnSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { commandPlan, keptPlan } from '../src/jail/plan.js';
import { ServedJail } from '../src/jail/serve.js';
import { enforcedPlan } from '../src/proxy/grants/enforced-plan.js';
import { coldStartNote, measure, print, type Subject } from './measure.js';
import { bubblewrapArguments, bubblewrapVersion } from './stage/bubblewrap.js';
import { inJail, planFor, run, type Stage, setStage, useOnce, viewFor } from './stage/stage.js';

const command = '/bin/true';

function isMissing(program: string): boolean {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).error !== undefined;
}

async function keptCommand(stage: Stage): Promise<{ readonly subject: Subject; readonly end: () => Promise<void> }> {
  const view = await viewFor(stage, [command]);
  const jail = await ServedJail.make({ program: stage.host.jailProgram, plan: enforcedPlan(view, keptPlan) });
  const plan = commandPlan(view.jail);
  const warm = () => jail.start({ plan, input: 'nothing', onOutput: () => undefined }).done;
  return { subject: { name: 'a command in a kept jail', run: warm }, end: () => jail.end() };
}

async function starts(stage: Stage): Promise<void> {
  const options = { cwd: stage.project, env: stage.environment };
  const plan = await planFor(stage, [command]);
  const bubblewrap = bubblewrapVersion();
  const kept = await keptCommand(stage);
  const subjects: Subject[] = [
    { name: 'spawn', run: () => run(command, [], options) },
    kept.subject,
    { name: 'a jail for it alone', run: () => inJail(stage, plan) },
  ];
  if (bubblewrap !== undefined) {
    const args = bubblewrapArguments(plan, stage.project, join(stage.directory, 'bubblewrap'));
    subjects.push({ name: 'bubblewrap', run: () => run('bwrap', args, options) });
  }
  const runtime = !isMissing('srt');
  if (runtime) subjects.push({ name: 'sandbox-runtime', run: () => run('srt', [command], options) });
  const notes = [
    coldStartNote,
    `The jail carries out ${plan.length} operations; ${bubblewrap ?? 'bubblewrap (skipped: not installed)'} has its binds, links, tmpfs and`,
    'namespaces, a bind in place of the overlay, and neither masks nor Landlock nor seccomp, which ours has.',
    ...(runtime ? [] : ['sandbox-runtime: skipped, `srt` is not installed.']),
  ];
  const launching = { rounds: 101, directory: stage.directory, subjects, notes };
  print(await measure({ title: `Launching ${command}`, anchor: 'spawn', ...launching }));
  if (bubblewrap !== undefined) {
    const compared = subjects.filter(({ name }) => name === 'bubblewrap' || name === 'a jail for it alone');
    print(
      await measure({ ...launching, title: 'The same against bubblewrap', anchor: 'bubblewrap', subjects: compared }),
    );
  }
  await kept.end();
}

interface Work {
  readonly title: string;
  readonly script: string;
  readonly needs: readonly string[];
}

/** Start and end of the server are in it, on both sides. */
const redis = `
  redis-server --port 16379 --save '' --appendonly no --daemonize no --dir /tmp >/dev/null &
  until redis-cli -p 16379 ping >/dev/null 2>&1; do sleep 0.01; done
  redis-benchmark -p 16379 -n 20000 -c 20 -t set,get,lpush -q >/dev/null
  redis-cli -p 16379 shutdown nosave; wait`;

const works: readonly Work[] = [
  { title: 'Redis under load', script: redis, needs: ['redis-server', 'redis-benchmark'] },
  {
    title: 'Compiling a C program',
    script: 'gcc -std=gnu11 -O2 -pthread -D_GNU_SOURCE -o program tree/*.c',
    needs: ['gcc'],
  },
  {
    title: '10,000 renames of a file, each told to the owner',
    script: `perl -e 'open F, ">x0"; for (0..9999) { rename "x".($_ % 2), "x".(($_ + 1) % 2) or die $! }'`,
    needs: ['perl'],
  },
];

async function work(stage: Stage, { title, script, needs }: Work): Promise<void> {
  const missing = needs.filter(isMissing);
  if (missing.length > 0) {
    process.stderr.write(`skipped: ${title} (${missing.join(', ')} not installed)\n`);
    return;
  }
  const argv = ['/bin/sh', '-ec', script] as const;
  const plan = await planFor(stage, argv);
  const options = { cwd: stage.project, env: stage.environment };
  print(
    await measure({
      title,
      anchor: 'outside',
      rounds: 9,
      directory: stage.directory,
      subjects: [
        { name: 'outside', run: () => run(argv[0], argv.slice(1), options) },
        { name: 'inside', run: () => inJail(stage, plan) },
      ],
      notes: ["Inside: the jail's launch and its overlay included."],
    }),
  );
}

const stage = setStage('jail');
try {
  const sources = fileURLToPath(new URL('../../../native/tree', import.meta.url));
  cpSync(sources, join(stage.project, 'tree'), { recursive: true });
  await useOnce(stage);
  await starts(stage);
  for (const each of works) await work(stage, each);
} finally {
  stage.end();
}
