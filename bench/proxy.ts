/** What the proxy costs around a command: cold, through a live session by the native client, and in process. */
import { join } from 'node:path';
import { commandPlan, keptPlan } from '../src/jail/plan.js';
import { KeptJail } from '../src/jail/serve.js';
import { enforcedPlan } from '../src/proxy/grants/enforced-plan.js';
import { Session } from '../src/session/session.js';
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
  const jail = await KeptJail.make({ program: stage.host.jailProgram, plan: enforcedPlan(view, keptPlan) });
  const command = commandPlan(view.jail);
  await run(ctxProgram, ['fork', 'create', 'library'], options);
  const session = await Session.start(stage.host, {
    cwd: stage.project,
    fork: 'library',
    environmentAdditions: [],
    weakened: [],
    wait: false,
  });
  await run(ctxProgram, ['session', 'start'], options);
  const subjects: Subject[] = [
    { name: 'spawn', run: () => run(argv[0], [], options) },
    {
      name: 'the kept jail alone',
      run: () => jail.start({ plan: command, input: 'nothing', onOutput: () => undefined }).done,
    },
    {
      name: 'a session, in process',
      run: () => session.exec({ argv, cwd: stage.project, environmentAdditions: [] }),
    },
    {
      name: 'a session, in process, writing',
      run: () => session.exec({ argv: ['/usr/bin/touch', 'written'], cwd: stage.project, environmentAdditions: [] }),
    },
    {
      name: 'ctx exec, a session lives',
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
        title: 'Running /bin/true in a live session',
        anchor: 'spawn',
        rounds: 101,
        directory: stage.directory,
        subjects,
        notes: [
          coldStartNote,
          'A session decides, records, makes a checkpoint, mounts, runs, reports what changed: each time.',
        ],
      }),
    );
  } finally {
    await run(ctxProgram, ['session', 'stop'], options);
    await session.end();
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
