/**
 * Whether a change of a repository's configuration may come home unasked. Both sides are compared whole, key by key, as git's own
 * parser lists them, removals too. What passes can neither run a program, send work elsewhere, nor hide a change. Pure.
 */
import { isRefName } from './git-refs.js';

export interface Setting {
  /** As git lists it: section and variable in lower case. */
  readonly key: string;
  readonly value: string;
}

/** Of `git config --list -z`. A key without a value is true to git. */
export function parseSettings(output: Buffer): readonly Setting[] {
  const items = output.toString('latin1').split('\0').slice(0, -1);
  return items.map((item) => {
    const end = item.indexOf('\n');
    return end < 0 ? { key: item, value: 'true' } : { key: item.slice(0, end), value: item.slice(end + 1) };
  });
}

export interface ConfigurationSides {
  readonly before: readonly Setting[];
  readonly after: readonly Setting[];
  /** The person has no repository there: what git writes with a new one passes. */
  readonly isNew: boolean;
  readonly isBranchGone: (branch: string) => boolean;
  /** Whether the person has a repository at this absolute path: what a push to it runs is theirs. */
  readonly isOwnRepository: (path: string) => boolean;
}

/** What `git init` and `git clone` write on Linux, with the values that hide nothing. */
const firstSettings: Readonly<Record<string, RegExp>> = {
  'core.repositoryformatversion': /^0$/,
  'core.filemode': /^true$/,
  'core.bare': /^false$/,
  'core.logallrefupdates': /^true$/,
  // Who made the commits of a repository that the fork made; in one that the person has, it would sign theirs.
  'user.name': /^[\s\S]*$/,
  'user.email': /^[\s\S]*$/,
};

/** No helper program, no path of this machine, no option in place of a host. */
const plainUrl =
  /^(?:(?:https?|ssh|git):\/\/(?:[\w.~-]+@)?[A-Za-z0-9][\w.-]*(?::\d+)?\/[\x21-\x7e]*|[\w.~-]+@[A-Za-z0-9][\w.-]*:[\w./~-]+)$/;

function valuesByKey(settings: readonly Setting[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const { key, value } of settings) {
    const known = found.get(key);
    if (known === undefined) found.set(key, [value]);
    else known.push(value);
  }
  return found;
}

type Values = ReadonlyMap<string, readonly string[]>;

function isTrackingAllowed(variable: string, value: string, remotes: Values): boolean {
  if (variable === 'merge') return value.startsWith('refs/heads/') && isRefName(value);
  if (variable === 'rebase') return value === 'true' || value === 'false';
  return variable === 'remote' && (value === '.' || remotes.has(`remote.${value}.url`));
}

type IsOwn = ConfigurationSides['isOwnRepository'];

/** Of a clone that was made from a directory; git takes what has a colon for something else. */
function isOwnPath(value: string, isOwn: IsOwn): boolean {
  const [, path = ''] = /^(?:file:\/\/)?(\/[^\x00-\x1f\x7f:\\"#;]*)$/.exec(value) ?? [];
  return path !== '' && isOwn(path);
}

function isFirstAllowed(key: string, values: readonly string[], isOwn: IsOwn): boolean {
  const [, remote = '', variable] = /^remote\.([\w.-]+)\.(url|fetch)$/.exec(key) ?? [];
  if (variable === 'url') {
    const [value = ''] = values;
    return values.length === 1 && (plainUrl.test(value) || isOwnPath(value, isOwn));
  }
  if (variable === 'fetch') {
    const into = `:refs/remotes/${remote}/`;
    return values.every((value) => /^\+refs\/heads\/[\w./*-]+:refs\/remotes\//.test(value) && value.includes(into));
  }
  const expected = Object.hasOwn(firstSettings, key) ? firstSettings[key] : undefined;
  return expected !== undefined && values.every((value) => expected.test(value));
}

/** The first key whose change needs a yes, with a word on what it does; undefined where all changes pass. */
export function configurationFault(sides: ConfigurationSides): string | undefined {
  const { before, after, isNew, isBranchGone, isOwnRepository } = sides;
  const [old, now] = [valuesByKey(before), valuesByKey(after)];
  const isSame = (key: string) => JSON.stringify(old.get(key)) === JSON.stringify(now.get(key));
  const changed = new Set([...old.keys(), ...now.keys()].filter((key) => !isSame(key)));
  for (const key of changed) {
    const [had, has] = [old.get(key) ?? [], now.get(key) ?? []];
    const [, branch, variable = ''] = /^branch\.([\s\S]+)\.([a-z0-9-]+)$/.exec(key) ?? [];
    const remotes = isNew ? now : old;
    const isTracking = branch !== undefined && had.length === 0 && has.length === 1;
    if (isTracking && isTrackingAllowed(variable, has[0] ?? '', remotes)) continue;
    const isLeft = [...now.keys()].some((each) => each.startsWith(`branch.${branch}.`));
    if (branch !== undefined && has.length === 0 && !isLeft && isBranchGone(branch)) continue;
    if (isNew && had.length === 0 && isFirstAllowed(key, has, isOwnRepository)) continue;
    return `it ${had.length === 0 ? 'sets' : has.length === 0 ? 'removes' : 'changes'} ${key}`;
  }
  // The last of two counts, and one that includes a file stands for all of that file: their order is part of what they say.
  const rest = (settings: readonly Setting[]) => JSON.stringify(settings.filter(({ key }) => !changed.has(key)));
  return rest(before) === rest(after) ? undefined : 'it puts settings in another order';
}

const plainLine =
  /^[ \t]*(?:\[[A-Za-z0-9-]+(?:[ \t]+"[^"\\\]=\x00]*")?\]|[A-Za-z][A-Za-z0-9-]*(?:[ \t]*=[ \t]*[^\\"#;\x00]*)?|[#;][^\\\x00]*)?$/;

/**
 * Whether the lines that differ are in the one form that git itself writes. The person's other programs have parsers of their own:
 * a line that they could read otherwise than git did does not pass.
 */
export function arePlainChanges(before: string, after: string): boolean {
  const [old, now] = [before.split('\n'), after.split('\n')];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  if ((now[start - 1] ?? '').endsWith('\\')) return false;
  return now.slice(start, now.length - end).every((line) => plainLine.test(line));
}
