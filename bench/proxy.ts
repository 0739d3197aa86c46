/** What the proxy costs around a command: cold, through a live kept jail by the native client, and in process. */
import { join } from 'node:path';
import { commandPlan, keptPlan } from '../src/jail/plan.js';
import { ServedJail } from '../src/jail/serve.js';
import { KeptJail } from '../src/kept-jail/kept-jail.js';
import { enforcedPlan } from '../src/proxy/grants/enforced-plan.js';
import { coldStartNote, measure, print, type Subject } from './measure.js';
import { bubblewrapArguments, bubblewrapVersion } from './stage/bubblewrap.js';
import { ctxProgram, planFor, run, type Stage, setStage, useOnce, viewFor } from './stage/stage.js';

const argv = ['/bin/true'] as const;

async function cold(stage: Stage): Promise<void> {
  const options = { cwd: stage.project, env: stage.environment };
  print(
    await measure({
      title: 'ctx exec -- /bin/true, cold',
      anchor: 'node -e 0',
      rounds: 31,
      directory: stage.directory,
      subjects: [
        { name: 'node -e 0', run: () => run(process.execPath, ['-e', '0'], options) },
        { name: 'ctx exec', run: () => run(ctxProgram, ['exec', '--', ...argv], options) },
      ],
      notes: [coldStartNote],
    }),
  );
}

async function warm(stage: Stage): Promise<void> {
  const options = { cwd: stage.project, env: stage.environment };
  const plan = await planFor(stage, argv);
  const view = await viewFor(stage, argv);
  const jail = await ServedJail.make({ program: stage.host.jailProgram, plan: enforcedPlan(view, keptPlan) });
  const command = commandPlan(view.jail);
  await run(ctxProgram, ['fork', 'create', 'library'], options);
  const kept = await KeptJail.start(stage.host, {
    cwd: stage.project,
    fork: 'library',
    environmentAdditions: [],
    weakened: [],
    wait: false,
  });
  await run(ctxProgram, ['jail', 'start'], options);
  const subjects: Subject[] = [
    { name: 'spawn', run: () => run(argv[0], [], options) },
    {
      name: 'the served jail alone',
      run: () => jail.start({ plan: command, input: 'nothing', onOutput: () => undefined }).done,
    },
    {
      name: 'a kept jail, in process',
      run: () => kept.exec({ argv, cwd: stage.project, environmentAdditions: [] }),
    },
    {
      name: 'a kept jail, in process, writing',
      run: () => kept.exec({ argv: ['/usr/bin/touch', 'written'], cwd: stage.project, environmentAdditions: [] }),
    },
    {
      name: 'ctx exec, with a kept jail',
      run: () => run(ctxProgram, ['exec', '--', ...argv], options),
    },
  ];
  if (bubblewrapVersion() !== undefined) {
    const words = bubblewrapArguments(plan, stage.project, join(stage.directory, 'bubblewrap'));
    subjects.push({ name: 'bubblewrap', run: () => run('bwrap', words, options) });
  }
  try {
    print(
      await measure({
        title: 'Running /bin/true in a kept jail',
        anchor: 'spawn',
        rounds: 101,
        directory: stage.directory,
        subjects,
        notes: [
          coldStartNote,
          'A kept jail decides, records, makes a checkpoint, mounts, runs, reports what changed: each time.',
        ],
      }),
    );
  } finally {
    await run(ctxProgram, ['jail', 'stop'], options);
    await kept.end();
    await jail.end();
  }
}

const stage = setStage('proxy');
try {
  await useOnce(stage);
  await cold(stage);
  await warm(stage);
} finally {
  stage.end();
}
