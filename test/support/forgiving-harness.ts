/**
 * A harness as they are: it asks its hook, and goes on wherever the hook did not say no. Exit code 2 and a denial stop a call;
 * a time-out, a crash, any other exit code, no answer and one that is no JSON do not.
 */
import { hasCode } from '../../src/base/errno.js';
import type { Stage } from './stage.js';

export interface HookedCall {
  /** The hook's command, as it is in the settings. */
  readonly hook: string;
  readonly project: string;
  /** The shell command that the model wants to run. */
  readonly command: string;
  readonly patienceSeconds?: number;
  readonly env?: Readonly<Record<string, string>>;
}

interface Answer {
  readonly hookSpecificOutput?: { readonly permissionDecision?: string; readonly updatedInput?: { command?: string } };
}

function read(stdout: string): Answer {
  try {
    return JSON.parse(stdout) as Answer;
  } catch {
    return {};
  }
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // It has ended, and we have not heard of it yet.
    if (!hasCode(error, 'ESRCH')) throw error;
  }
}

/** Whether the call was let through; then it has been run, as the hook rewrote it. */
export async function letsThrough(
  stage: Stage,
  { hook, project, command, patienceSeconds = 240, env = {} }: HookedCall,
): Promise<boolean> {
  const input = { cwd: project, hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: { command } };
  const asked = stage.start(project, ['/bin/sh', '-c', hook], {
    input: JSON.stringify(input),
    env: { CLAUDE_PROJECT_DIR: project, ...env },
    detached: true,
  });
  const impatience = setTimeout(() => endGroup(asked.pid), patienceSeconds * 1000);
  const { code, stdout } = await asked.finished;
  clearTimeout(impatience);
  const answer = code === 0 ? read(stdout).hookSpecificOutput : undefined;
  if (code === 2 || answer?.permissionDecision === 'deny') return false;
  await stage.start(project, ['/bin/sh', '-c', answer?.updatedInput?.command ?? command]).finished;
  return true;
}
