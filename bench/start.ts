/** The CLI's own start, and what a keeper saves of it, against `node -e 0`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { coldStartNote, measure, print } from './measure.js';
import { ctxProgram, run, setStage, useOnce } from './stage/stage.js';

const stage = setStage('start');
try {
  for (const name of ['a', 'b', 'c']) writeFileSync(join(stage.project, name), name);
  await useOnce(stage);
  const options = { cwd: stage.project, env: stage.environment };
  const kept = { ...options, env: { ...stage.environment, CTX_KEEPER: 'on' } };
  const start = (name: string, command: string, ...args: readonly string[]) => ({
    name,
    run: () => run(command, args, options),
  });
  // `script` makes the terminal, and starts a shell in it.
  const typed = ['-qec', `${ctxProgram} exec -- true`, '/dev/null'];
  // Leaves a keeper behind, which ends with the stage's store; the first rounds may still be without.
  await run(ctxProgram, ['status'], kept);
  print(
    await measure({
      title: 'A start of ctx, against a start of Node that does nothing',
      anchor: 'node -e 0',
      rounds: 41,
      directory: stage.directory,
      notes: [
        coldStartNote,
        'Each ctx starts through bin/ctx: a shell that finds the checkout, then node. `ctx status` locks and walks the fork.',
      ],
      subjects: [
        start('node -e 0', process.execPath, '-e', '0'),
        start('ctx --version', ctxProgram, '--version'),
        start('ctx --help', ctxProgram, '--help'),
        start('ctx status', ctxProgram, 'status'),
        start('ctx exec -- true', ctxProgram, 'exec', '--', 'true'),
        { name: 'ctx status, a keeper runs', run: () => run(ctxProgram, ['status'], kept) },
        { name: 'ctx exec -- true, a keeper runs', run: () => run(ctxProgram, ['exec', '--', 'true'], kept) },
        start('at a terminal: true', 'script', '-qec', 'true', '/dev/null'),
        start('at a terminal: ctx exec -- true', 'script', ...typed),
        { name: 'at a terminal: ctx exec -- true, a keeper runs', run: () => run('script', typed, kept) },
      ],
    }),
  );
} finally {
  stage.end();
}
