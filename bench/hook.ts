/** The hook, which a harness starts for every tool call: one decision against `node -e 0`, alone and through a kept jail. */
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { coldStartNote, measure, print, type Subject } from './measure.js';
import { ctxProgram, run, setStage, useOnce } from './stage/stage.js';

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

/** The process that keeps the only kept jail of the stage. */
function keeper(): number {
  const jails = join(stage.environment['CTX_DATA'] ?? '', 'jail');
  const [key = ''] = readdirSync(jails);
  return JSON.parse(readFileSync(join(jails, key, 'main.json'), 'utf8')).pid;
}

/** User and system time, in the kernel's ticks of 10 ms: of our children that have ended, or of a process itself. */
function ticks(pid: number | 'children'): number {
  const text = readFileSync(`/proc/${pid === 'children' ? 'self' : pid}/stat`, 'utf8');
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [user = 0, system = 0, childUser = 0, childSystem = 0] = fields.slice(11, 15);
  return pid === 'children' ? childUser + childSystem : user + system;
}

const calls = 200;

/** What a call costs the processors, wherever: in the process that is started, and in the one that keeps the jail. */
async function processorNote({ name, run: call }: Subject): Promise<string> {
  const keptBy = keeper();
  const before = ticks('children') + ticks(keptBy);
  for (let count = 0; count < calls; count += 1) await call();
  const milliseconds = ((ticks('children') + ticks(keptBy) - before) * 10) / calls;
  return `User and system time of one call, the mean of ${calls}: ${name}, ${milliseconds.toFixed(1)} ms.`;
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
  const hook = (name: string, input: string): Subject => ({
    name,
    run: () => started(ctxProgram, ['hook', 'claude-code'], input),
  });
  const node: Subject = { name: 'node -e 0', run: () => started(process.execPath, ['-e', '0'], read) };
  print(
    await measure({
      title: 'One decision of the hook, against a start of Node that does nothing',
      anchor: 'node -e 0',
      rounds: 41,
      directory: stage.directory,
      notes: [coldStartNote, 'Aim: under 1.4x. Each starts through bin/ctx: a shell, then node.'],
      subjects: [
        node,
        hook('Read, granted', read),
        hook('Bash, rewritten', bash),
        hook('Write of 1 MB, granted', large),
        hook('Read, denied and recorded', outside),
      ],
    }),
  );
  const options = { cwd: stage.project, env: stage.environment };
  await run(ctxProgram, ['jail', 'start'], options);
  try {
    const granted = hook('Read, granted', read);
    print(
      await measure({
        title: 'One decision of the hook where a kept jail lives: its process answers, and no Node is started',
        anchor: 'node -e 0',
        rounds: 101,
        directory: stage.directory,
        notes: [coldStartNote, await processorNote(node), await processorNote(granted)],
        subjects: [
          node,
          granted,
          hook('Bash, rewritten', bash),
          hook('Write of 1 MB, granted', large),
          hook('Read, denied and recorded', outside),
          { name: 'ctx why', run: () => started(ctxProgram, ['why', 'read', 'src/a.ts'], '') },
          { name: 'ctx approvals list', run: () => started(ctxProgram, ['approvals', 'list'], '') },
        ],
      }),
    );
  } finally {
    await run(ctxProgram, ['jail', 'stop'], options);
  }
} finally {
  stage.end();
}
