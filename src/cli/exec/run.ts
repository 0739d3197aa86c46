/** `ctx run`: a profile's grants, added to those of the call; then as `ctx exec` does. */
import { ErrnoError, ExitCode } from '../../base/errno.js';
import { visible } from '../../base/visible-text.js';
import { currentDirectory } from '../../sdk/current-directory.js';
import { type Harnessed, type Need, type Profile, Profiles } from '../../sdk/operator/harness.js';
import type { Envelope } from '../../sdk/report.js';
import { optionsOf } from '../input/asked-options.js';
import { workspaceHere } from '../input/workspace-here.js';
import { type Paint, painter, print, printError, printJson } from '../text/output.js';
import { reportText } from '../text/report-text.js';
import type { Arguments, Run } from '../verb.js';
import { showCommand } from './run-command.js';

function profileText({ name, summary, command, keys = [], ...needs }: Profile, paint: Paint): string {
  const line = (verb: string) => (need: Need) =>
    `  ${verb} ${need.what}${paint('dim', `  ${need.why}${need.secret === true ? '; secret: --credentials' : ''}`)}\n`;
  return [
    `${paint('bold', name)}  ${visible(summary)}: ${command.map(visible).join(' ')}\n`,
    ...needs.hosts.map(line('connects to')),
    ...needs.reads.map(line('sees')),
    ...needs.environment.map(line('gets your')),
    ...needs.variables.map(line('gets')),
    ...keys.map(({ variable, host }) =>
      line('uses your')({ what: variable, why: `added outside, for ${host}: --key-outside` }),
    ),
    ...needs.copies.map(({ what, ...need }) => line('gets a copy of')({ ...need, what: `~/${what}` })),
  ].join('');
}

function list(call: Arguments, profiles: readonly Profile[]): number {
  if (call.flag('json')) printJson({ version: 1, profiles });
  else print(profiles.map((profile) => profileText(profile, painter(process.stdout))).join('\n'));
  return ExitCode.ok;
}

/** The options of the call, widened by what the profile needs. */
async function widened(call: Arguments, profiles: Profiles, profile: Profile): Promise<Harnessed> {
  const harnessed = await profiles.widen(profile, optionsOf(call), {
    directory: currentDirectory(),
    credentials: call.flag('credentials'),
    fresh: call.flag('fresh'),
    keyOutside: call.flag('key-outside'),
  });
  if (harnessed.homeEnds) {
    printError(`ctx: your credentials are in its home for this run; the home is deleted when it ends\n`);
  }
  return harnessed;
}

/** The two commands that end a fork's changes. */
function ways({ pending, workspace }: Envelope, call: Arguments): string {
  if (pending === 0) return '';
  const named = call.value('fork') === undefined ? '' : ` --fork ${workspace.fork}`;
  return `  keep it: ctx apply${named}\n  drop it: ctx drop${named}\n`;
}

const remediesOfProfiles = {
  'key-outside': '--secret adds a key to the requests of any command: docs/network.md',
  credentials: '--read shows a plain command files of yours, --env gives it variables',
  fresh: "ctx drop discards the fork's home, which a plain command has",
} as const;

/** What only a profile has would be passed over silently. */
function refuseOfProfiles(call: Arguments, command: string): void {
  for (const [option, remedy] of Object.entries(remediesOfProfiles)) {
    if (!call.flag(option)) continue;
    const reason = `expected a profile with --${option}, got '${command}'`;
    throw new ErrnoError('EINVAL', { operation: 'run', reason, remedy });
  }
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
  const profile = known.find((each) => each.name === name);
  if (profile === undefined) refuseOfProfiles(call, name);
  const shown = showCommand<Envelope>(call, {
    host: makeHost,
    report: call.value('report') !== 'never',
    text: (envelope, paint) => reportText(envelope, paint) + ways(envelope, call),
  });
  let harnessed: Harnessed | undefined;
  try {
    if (profile !== undefined) harnessed = await widened(call, profiles, profile);
    const options = harnessed?.options ?? optionsOf(call);
    const workspace = await workspaceHere(makeHost, { ...options, onProgress: shown.onProgress });
    const command = profile === undefined ? call.words : [...profile.command, ...rest];
    return await shown.end(await workspace.exec(command, shown.options));
  } catch (error) {
    return shown.refuse(error);
  } finally {
    await harnessed?.release();
  }
};
