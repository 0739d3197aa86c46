/** A changed configuration, asked of git's own parser on both sides. */
import { arePlainChanges, configurationFault, parseSettings, type Setting } from './git-configuration.js';
import { type Git, sterile } from './git-program.js';

export interface ConfigurationRequest {
  readonly git: Git;
  /** A directory of ours. */
  readonly scratch: string;
  /** The person's; undefined where there is none, null where it cannot be read. */
  readonly before: Buffer | undefined | null;
  readonly after: Buffer;
  /** The person has no repository there. */
  readonly isNew: boolean;
  readonly isBranchGone: (branch: string) => boolean;
  readonly isOwnRepository: (path: string) => boolean;
}

/** Undefined where git does not read it to its end. */
async function settingsOf(git: Git, scratch: string, input: Buffer): Promise<readonly Setting[] | undefined> {
  const words = ['config', '--file', '-', '--list', '-z', '--no-includes'];
  const { code, stdout } = await git.run({ words, environment: { ...sterile, GIT_DIR: scratch }, input, cwd: scratch });
  return code === 0 ? parseSettings(stdout) : undefined;
}

/** Why it is held back; undefined for one that may come home. */
export async function judgeConfiguration(request: ConfigurationRequest): Promise<string | undefined> {
  const { git, scratch, before, after, isNew, isBranchGone, isOwnRepository } = request;
  if (before === null) return 'yours cannot be read';
  const [old, now] = await Promise.all([
    before === undefined ? [] : settingsOf(git, scratch, before),
    settingsOf(git, scratch, after),
  ]);
  if (old === undefined || now === undefined) return 'git cannot read it to its end';
  const fault = configurationFault({ before: old, after: now, isNew, isBranchGone, isOwnRepository });
  if (fault !== undefined) return fault;
  const isPlain = arePlainChanges(before?.toString('latin1') ?? '', after.toString('latin1'));
  return isPlain ? undefined : 'it is written in a form that git itself does not write';
}
