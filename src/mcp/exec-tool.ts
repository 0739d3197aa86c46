/** Commands, in the jail that the workspace keeps. */
import { ErrnoError } from '../base/errno.js';
import type { Command } from '../sdk/options.js';
import { type Envelope, toldRefusals } from '../sdk/report.js';
import { count, type ToolInput, text, words } from './input.js';
import { counted, nameText, shortened } from './texts.js';
import { type McpTool, type ToolAnswer, toldWhileRunning } from './tool.js';

const changesNamed = 40;
const letters = { added: 'A', modified: 'M', deleted: 'D', restored: 'R' } as const;

function commandOf(input: ToolInput): Command {
  const argv = input.words('argv');
  const shell = input.optionalText('shell');
  if ((argv === undefined) === (shell === undefined)) {
    throw new ErrnoError('EINVAL', {
      operation: 'exec',
      reason: 'expected argv or shell, and not both',
      remedy: '{"argv": ["npm", "test"]} or {"shell": "npm test | tail"}',
    });
  }
  return argv ?? { shell: shell ?? '' };
}

function outcome({ exitCode, signal, timedOut, limitError }: Envelope): string {
  if (timedOut) return 'ended by its time limit';
  if (limitError !== undefined) return 'failed: it reached a limit on what it may write';
  return exitCode === null ? `ended by ${signal}` : `exit ${exitCode}`;
}

/** What the jail did about it, which the command itself cannot know. */
function remarks(envelope: Envelope): readonly string[] {
  const { changes, pending, refusals, connections, limitsReached, warnings, clashes } = envelope;
  const named = changes.slice(0, changesNamed).map(({ kind, path }) => `${letters[kind]} ${nameText(path)}`);
  return [
    ...named,
    ...(changes.length > changesNamed ? [`and ${changes.length - changesNamed} more: see diff`] : []),
    ...toldRefusals(refusals).map(({ call, count: times, why }) => `refused ${call} ${times} times: ${why}`),
    ...connections
      .filter(({ verdict }) => verdict !== 'allowed')
      .map(({ host, port, reason }) => `refused to connect to ${host}:${port}: ${reason}`),
    ...limitsReached,
    ...clashes.map((path) => `the person changed ${nameText(path)} too`),
    ...warnings,
    ...(pending > 0 ? [`${counted(pending, 'change')} pending in the fork`] : []),
  ];
}

export function reportOf(envelope: Envelope): ToolAnswer {
  const { stdout, stderr, exitCode, signal, timedOut, durationMilliseconds, changes, pending, approval } = envelope;
  const said = { stdout: shortened(stdout?.text ?? ''), stderr: shortened(stderr?.text ?? '') };
  const notes = remarks(envelope);
  const parts = [said.stdout, said.stderr === '' ? '' : `stderr:\n${said.stderr}`].map((part) => part.trimEnd());
  const head = `[${outcome(envelope)}, ${Math.round(durationMilliseconds)} ms]`;
  return {
    text: [...parts.filter((part) => part !== ''), head, ...notes].join('\n'),
    facts: {
      exitCode,
      signal,
      timedOut,
      ...said,
      durationMilliseconds,
      changes: changes.slice(0, changesNamed).map(({ kind, path }) => ({ kind, path })),
      pending,
      approval,
      notes,
    },
  };
}

const isGiven = (time: number | undefined): time is number => time !== undefined;

export const execTool: McpTool = {
  name: 'exec',
  title: 'Run a command',
  description:
    'Runs a command in the jail, on the fork of the workspace, and answers with its output, its exit code and the files it changed. ' +
    'What it leaves running in the background keeps running. Undo with rollback.',
  input: {
    fields: {
      argv: words('the program and its arguments'),
      shell: text('a text for bash, instead of argv'),
      directory: text('where it starts: a directory of the workspace'),
      input: text('what it reads on stdin'),
      timeout_seconds: count('ends it after this time, where the server does not end it sooner', 86_400),
    },
  },
  effect: 'changes the fork',
  async run(input, context) {
    const { workspace, signal, timeoutMilliseconds } = context;
    const seconds = input.count('timeout_seconds');
    const most = [seconds === undefined ? undefined : seconds * 1000, timeoutMilliseconds].filter(isGiven);
    const envelope = await workspace.run(commandOf(input), {
      directory: input.optionalText('directory'),
      input: input.optionalText('input'),
      timeoutMilliseconds: most.length === 0 ? undefined : Math.min(...most),
      signal,
      ...toldWhileRunning(context),
    });
    return reportOf(envelope);
  },
};
