/** `ctx run`: a profile's grants, added to those of the call; then as `ctx exec` does. */
import { constants } from 'node:os';
import { ErrnoError, ExitCode } from '../base/errno.js';
import { visible } from '../base/visible-text.js';
import { type Need, type Profile, Profiles } from '../sdk/harness.js';
import type { WorkspaceOptions } from '../sdk/options.js';
import { type Envelope, exitCodeOfCommand } from '../sdk/report.js';
import { currentDirectory } from './current-directory.js';
import { approvalsFor, exitCodeOfRefusal, Interrupts } from './exec.js';
import { errorJson, errorText, type Paint, painter, printJson } from './output.js';
import { parseDuration } from './parse-arguments.js';
import { progressLine } from './progress.js';
import { reportText } from './report-text.js';
import type { Arguments, Run } from './verb.js';
import { optionsOf, workspaceHere } from './workspace-here.js';

function profileText({ name, summary, command, ...needs }: Profile, paint: Paint): string {
  const line = (verb: string) => (need: Need) =>
    `  ${verb} ${need.what}${paint('dim', `  ${need.why}${need.secret === true ? '; secret: --credentials' : ''}`)}\n`;
  return [
    `${paint('bold', name)}  ${visible(summary)}: ${command.map(visible).join(' ')}\n`,
    ...needs.hosts.map(line('connects to')),
    ...needs.reads.map(line('sees')),
    ...needs.environment.map(line('gets your')),
    ...needs.variables.map(line('gets')),
    ...needs.copies.map(({ what, ...need }) => line('gets a copy of')({ ...need, what: `~/${what}` })),
  ].join('');
}

function list(call: Arguments, profiles: readonly Profile[]): number {
  if (call.flag('json')) printJson({ version: 1, profiles });
  else process.stdout.write(profiles.map((profile) => profileText(profile, painter(process.stdout))).join('\n'));
  return ExitCode.ok;
}

/** The options of the call, widened by what the profile needs. */
async function widened(call: Arguments, profiles: Profiles, profile: Profile): Promise<WorkspaceOptions> {
  const { options, withoutSecrets } = await profiles.widen(profile, optionsOf(call), {
    directory: currentDirectory(),
    credentials: call.flag('credentials'),
    fresh: call.flag('fresh'),
  });
  if (withoutSecrets) {
    process.stderr.write(
      `ctx: the home of ${profile.name} is there already and stays as it is; --fresh makes a new one\n`,
    );
  }
  return options;
}

/** The two commands that end a fork's changes. */
function ways({ pending, workspace }: Envelope, call: Arguments): string {
  if (pending === 0) return '';
  const named = call.value('fork') === undefined ? '' : ` --fork ${workspace.fork}`;
  return `  keep it: ctx apply${named}\n  drop it: ctx drop${named}\n`;
}

export const run: Run = async (call, makeHost) => {
  const profiles = new Profiles(await makeHost());
  const known = await profiles.list();
  if (call.flag('list')) return list(call, known);
  const [name, ...rest] = call.words;
  if (name === undefined) {
    throw new ErrnoError('EINVAL', {
      operation: 'run',
      reason: 'expected a profile or a command',
      remedy: 'ctx run --list shows the profiles; ctx run shell is a shell',
    });
  }
  const timeout = call.value('timeout');
  const timeoutMilliseconds = timeout === undefined ? undefined : parseDuration(timeout);
  const json = call.flag('json');
  const profile = known.find((each) => each.name === name);
  const options = profile === undefined ? optionsOf(call) : await widened(call, profiles, profile);
  const interrupts = new Interrupts();
  const progress = progressLine(process.stderr, 'ctx: first use here, importing this directory');
  try {
    const workspace = await workspaceHere(makeHost, { ...options, onProgress: progress.update });
    const envelope = await workspace.exec(profile === undefined ? call.words : [...profile.command, ...rest], {
      timeoutMilliseconds,
      streams: json ? 'capture' : 'inherit',
      onReady: progress.clear,
      ...approvalsFor(call, progress.clear),
      onStarted: (command) => interrupts.started(command),
      signal: interrupts.signal,
    });
    if (json) printJson(envelope);
    else if (call.value('report') !== 'never') {
      process.stderr.write(reportText(envelope, painter(process.stderr)) + ways(envelope, call));
    }
    return exitCodeOfCommand(envelope, constants.signals);
  } catch (error) {
    progress.clear();
    const exitCode = exitCodeOfRefusal(error);
    if (exitCode === undefined || !(error instanceof ErrnoError)) throw error;
    if (json) printJson(errorJson(error));
    else process.stderr.write(errorText(error, painter(process.stderr)));
    return exitCode;
  }
};
