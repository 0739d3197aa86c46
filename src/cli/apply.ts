/** `ctx apply`: the fork's changes become the person's. */
import { ExitCode } from '../base/errno.js';
import { visible } from '../base/visible-text.js';
import { keepFork } from '../proxy/fork-verbs.js';
import type { ConflictChoice } from '../vault/apply-plan.js';
import { counted } from './change-text.js';
import { currentDirectory } from './current-directory.js';
import { painter, printJson } from './output.js';
import type { Run } from './verb.js';

export const run: Run = async (call, host) => {
  const choice = (call.value('conflicts') ?? 'refuse') as ConflictChoice;
  const applied = await keepFork(await host(), { cwd: currentDirectory(), wait: call.flag('wait') }, choice);
  const { plan, done, problems } = applied;
  const exitCode = done ? ExitCode.ok : ExitCode.failed;
  if (call.flag('json')) {
    printJson({ version: 1, done, applied: done ? plan.steps : [], conflicts: plan.conflicts, problems });
    return exitCode;
  }
  if (done) {
    const paint = painter(process.stdout);
    const kept =
      plan.conflicts.length > 0 && choice === 'ours' ? `, ${counted(plan.conflicts.length, 'path')} left as yours` : '';
    process.stdout.write(`${paint('green', 'applied')} ${counted(plan.steps.length, 'change')}${kept}\n`);
    for (const { path, reason } of problems) {
      process.stderr.write(
        `  ${painter(process.stderr)('yellow', `left out: ${visible(path)} (${visible(reason)})`)}\n`,
      );
    }
    return exitCode;
  }
  const paint = painter(process.stderr);
  const lines = [
    `${paint('red', 'ctx:')} apply: both you and the fork changed ${counted(plan.conflicts.length, 'path')}; nothing was written (EBUSY)`,
    ...plan.conflicts.map((path) => `  ${visible(path)}`),
    `${paint('dim', '  try:')} --conflicts ours keeps yours, --conflicts theirs takes the fork's`,
  ];
  process.stderr.write(`${lines.join('\n')}\n`);
  return exitCode;
};
