/** `ctx run`: a profile's grants, added to those of the call; then as `ctx exec` does. */
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { ErrnoError, ExitCode } from '../base/errno.js';
import { visible } from '../base/visible-text.js';
import { type Envelope, exitCodeOfCommand } from '../proxy/envelope.js';
import type { ExecRequest } from '../proxy/exec-request.js';
import { execute } from '../proxy/execute.js';
import { type Host, placeOf } from '../proxy/host.js';
import { withDefaultPort } from '../sdk/network-name.js';
import { profileHome } from '../vault/profile-home.js';
import { grantsOf } from './asked-grants.js';
import { currentDirectory } from './current-directory.js';
import { approvalsFor, exitCodeOfRefusal, Interrupts } from './exec.js';
import { errorJson, errorText, type Paint, painter, printJson } from './output.js';
import { parseDuration } from './parse-arguments.js';
import { type Need, needsOf, type Profile } from './profiles.js';
import { readProfiles } from './profiles-file.js';
import { progressLine } from './progress.js';
import { reportText } from './report-text.js';
import type { Arguments, Run } from './verb.js';

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

type Given = Pick<ExecRequest, 'reads' | 'network' | 'environmentAdditions' | 'home'>;

/** What the profile adds; the home is made here. */
async function givenBy(profile: Profile, call: Arguments, host: Host): Promise<Given> {
  const credentials = call.flag('credentials');
  const needs = needsOf(profile, credentials);
  const { path, made } = await profileHome({
    store: host.store,
    tree: host.tree,
    name: profile.name,
    owner: placeOf(host, currentDirectory()).owner,
    source: host.home,
    copies: needs.copies.map(({ what }) => what),
    fresh: call.flag('fresh'),
  });
  if (credentials && !made && profile.copies.some(({ secret }) => secret === true)) {
    process.stderr.write(
      `ctx: the home of ${profile.name} is there already and stays as it is; --fresh makes a new one\n`,
    );
  }
  const set = ({ what }: Need) => host.environment[what] !== undefined && host.environment[what] !== '';
  return {
    // What is not installed in that way is no news.
    reads: needs.reads.map(({ what }) => what.replace(/^~(?=\/)/, host.home)).filter((each) => existsSync(each)),
    network: needs.hosts.map(({ what }) => withDefaultPort(what)),
    environmentAdditions: [
      ...needs.variables.map(({ what }) => what),
      ...needs.environment.filter(set).map(({ what }) => what),
    ],
    home: path,
  };
}

/** The two commands that end a fork's changes. */
function ways({ pending, workspace }: Envelope, call: Arguments): string {
  if (pending === 0) return '';
  const named = call.value('fork') === undefined ? '' : ` --fork ${workspace.fork}`;
  return `  keep it: ctx apply${named}\n  drop it: ctx drop${named}\n`;
}

export const run: Run = async (call, makeHost) => {
  const host = await makeHost();
  const profiles = await readProfiles(host.operatorDirectories);
  if (call.flag('list')) return list(call, profiles);
  const [name, ...rest] = call.words;
  if (name === undefined) {
    throw new ErrnoError('EINVAL', {
      operation: 'run',
      reason: 'expected a profile or a command',
      remedy: 'ctx run --list shows the profiles; ctx run shell is a shell',
    });
  }
  const grants = grantsOf(call);
  const timeout = call.value('timeout');
  const timeoutMilliseconds = timeout === undefined ? undefined : parseDuration(timeout);
  const json = call.flag('json');
  const profile = profiles.find((each) => each.name === name);
  const given: Given = profile === undefined ? { environmentAdditions: [] } : await givenBy(profile, call, host);
  const interrupts = new Interrupts();
  const progress = progressLine(process.stderr, 'ctx: first use here, importing this directory');
  try {
    const envelope = await execute(host, {
      ...grants,
      argv: profile === undefined ? call.words : [...profile.command, ...rest],
      cwd: currentDirectory(),
      fork: call.value('fork'),
      reads: [...(grants.reads ?? []), ...(given.reads ?? [])],
      network: [...new Set([...(grants.network ?? []), ...(given.network ?? [])])],
      environmentAdditions: [...given.environmentAdditions, ...call.values('env')],
      home: given.home,
      timeoutMilliseconds,
      streams: json ? 'capture' : 'inherit',
      wait: call.flag('wait'),
      onProgress: progress.update,
      onReady: progress.clear,
      ...approvalsFor(call, progress.clear),
      onStarted: (jail) => interrupts.started(jail),
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
