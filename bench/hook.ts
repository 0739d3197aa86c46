/** The hook, which a harness starts for every tool call: one decision against `node -e 0`. */
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { coldStartNote, measure, print } from './measure.js';
import { ctxProgram, setStage, useOnce } from './stage/stage.js';

const stage = setStage('hook');

/** From the start to the end of the process, with the message on its stdin, as a harness does it. */
function started(command: string, args: readonly string[], input: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const options = { cwd: stage.project, env: stage.environment, stdio: ['pipe', 'ignore', 'inherit'] as const };
    const child = spawn(command, args, { ...options, stdio: [...options.stdio] });
    child.on('error', reject);
    child.on('close', (code) => (code === 0 ? resolve() : reject(new Error(`${command} ended with ${code}`))));
    child.stdin?.on('error', () => undefined); // `node -e 0` does not read it
    child.stdin?.end(input);
  });
}

function message(tool: string, input: Readonly<Record<string, string>>): string {
  return JSON.stringify({
    session_id: 'bench',
    cwd: stage.project,
    hook_event_name: 'PreToolUse',
    tool_name: tool,
    tool_input: input,
  });
}

try {
  mkdirSync(join(stage.project, '.git'));
  mkdirSync(join(stage.project, 'src'));
  writeFileSync(join(stage.project, 'src', 'a.ts'), 'a');
  await useOnce(stage);
  const read = message('Read', { file_path: join(stage.project, 'src', 'a.ts') });
  const outside = message('Read', { file_path: '/etc/shadow' });
  const bash = message('Bash', { command: 'npm test' });
  const large = message('Write', { file_path: join(stage.project, 'new.ts'), content: 'x'.repeat(1_000_000) });
  const hook = (name: string, input: string) => ({
    name,
    run: () => started(ctxProgram, ['hook', 'claude-code'], input),
  });
  print(
    await measure({
      title: 'One decision of the hook, against a start of Node that does nothing',
      anchor: 'node -e 0',
      rounds: 41,
      directory: stage.directory,
      notes: [coldStartNote, 'Aim: under 1.4x. Each starts through bin/ctx: a shell, then node.'],
      subjects: [
        { name: 'node -e 0', run: () => started(process.execPath, ['-e', '0'], read) },
        hook('Read, granted', read),
        hook('Bash, rewritten', bash),
        hook('Write of 1 MB, granted', large),
        hook('Read, denied and recorded', outside),
      ],
    }),
  );
} finally {
  stage.end();
}
