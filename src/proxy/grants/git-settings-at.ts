/**
 * The person's own git configuration, as commands see it: the files it names are shown with it, signing is off, since the key stays
 * outside, and values that hold credentials are left out. A file without any is shown as it is. Where one holds a credential none of
 * them is shown: git reads what is left from files that the jail makes.
 */
import { posix } from 'node:path';
import { redactText } from '../../audit/redact.js';
import { contains } from '../../authority/absolute-path.js';
import {
  type GitSetting,
  gitKey,
  gitPath,
  gitSettingsText,
  isInclude,
  isSigning,
  namesFile,
  parseGitSettings,
  signingSettings,
} from '../../authority/git-settings.js';
import { isKeptSecret } from '../../authority/program-paths.js';
import { canonicalPath } from '../../base/canonical-path.js';
import { gitConfigurationBytes, gitConfigurationFiles } from '../../base/limits/store.js';
import { smallFileAt } from '../../base/small-file.js';
import { visible } from '../../base/visible-text.js';

export interface GitSettings {
  /** Files to show, as they are named: read-only. */
  readonly reads: readonly string[];
  /** Canonical paths of files that are not shown, since they hold credentials. */
  readonly withheld: readonly string[];
  /** Files of the jail's own, by path. */
  readonly made: ReadonlyMap<string, string>;
  readonly environment: Readonly<Record<string, string>>;
  /** What a person who makes a commit has to know. */
  readonly notes: readonly string[];
}

interface ReadFile {
  readonly named: string;
  readonly path: string;
  readonly settings: readonly GitSetting[];
  /** By the value that names it. */
  readonly includes: ReadonlyMap<string, ReadFile>;
  readonly isSecret: boolean;
}

interface Reading {
  readonly home: string;
  readonly isUntrusted: (path: string) => boolean;
  readonly seen: Set<string>;
  readonly notes: string[];
}

const textOf = (path: string) => smallFileAt(path, gitConfigurationBytes);

/** `user.signingKey` says which key signs, and is no secret: written so, it is a name like that of one. */
function looksSecret(text: string): boolean {
  const read = text.replace(/\bsigningKey\b/gi, 'signingkey');
  return redactText(read) !== read;
}

/** A header that is sent, an address with a password, a helper that says one; and whatever looks like a secret elsewhere. */
function isSecretSetting(setting: GitSetting): boolean {
  if (/^extraheader$|(pass|passwd|password|token|secret|apikey)$/.test(setting.key)) return true;
  if (looksSecret(`${gitKey(setting)} = ${setting.value}`)) return true;
  if (/\bhttps?:\/\/[^\s/?#@"']+@/i.test(`${setting.subsection ?? ''} ${setting.value}`)) return true;
  return setting.section === 'credential' && setting.key === 'helper' && setting.value.startsWith('!');
}

/** In every file with a secret that `redactText` does not see in its text. A continued line or a quote may part a word from its value. */
const mayHoldSecret = /extraheader|pass|token|secret|key|:\/\/|[!"\\]/i;

function readFrom(named: string, reading: Reading): ReadFile | undefined {
  const path = canonicalPath(named);
  if (path === undefined || reading.seen.has(path) || reading.seen.size >= gitConfigurationFiles) return undefined;
  reading.seen.add(path);
  // What an agent wrote could name any file of the person's.
  if (reading.isUntrusted(path)) return undefined;
  const text = textOf(path);
  if (text === undefined) return undefined;
  const settings = parseGitSettings(text);
  if (settings === undefined) {
    reading.notes.push(`${visible(path)} is not shown: git's configuration in it cannot be read`);
    return { named, path, settings: [], includes: new Map(), isSecret: true };
  }
  const includes = new Map<string, ReadFile>();
  for (const { value } of settings.filter(isInclude)) {
    const other = gitPath(value, reading.home, posix.dirname(named));
    const file = other === undefined ? undefined : readFrom(other, reading);
    if (file !== undefined) includes.set(value, file);
  }
  // Nearly always nothing: the whole text is looked at before each of its settings.
  const isSecret = looksSecret(text) || (mayHoldSecret.test(text) && settings.some(isSecretSetting));
  return { named, path, settings, includes, isSecret };
}

function all(files: readonly ReadFile[]): readonly ReadFile[] {
  return files.flatMap((file) => [file, ...all([...file.includes.values()])]);
}

/** The directory that `gitdir:./` means. */
function withDirectory(setting: GitSetting, { named }: ReadFile): GitSetting {
  const { subsection } = setting;
  if (subsection === undefined || !/^gitdir(\/i)?:\.\//.test(subsection)) return setting;
  return { ...setting, subsection: subsection.replace(':./', `:${posix.dirname(named)}/`) };
}

/** The text of a file without what is secret, its includes led to where they are inside. */
function madeText(file: ReadFile, made: Map<string, string>): string {
  const settings = file.settings
    .filter((setting) => !isSecretSetting(setting))
    .map((setting): GitSetting => {
      if (!isInclude(setting)) return setting;
      const included = file.includes.get(setting.value);
      if (included === undefined) return setting;
      const whole = withDirectory(setting, file);
      if (!all([included]).some(({ isSecret }) => isSecret)) return { ...whole, value: included.named };
      const path = `/etc/gitconfig.${made.size + 1}`;
      made.set(path, ''); // its place is taken before those it includes take theirs
      made.set(path, madeText(included, made));
      return { ...whole, value: path };
    });
  return gitSettingsText(settings);
}

function namedFiles({ settings }: ReadFile, { home, notes }: Reading): readonly string[] {
  return settings.filter(namesFile).flatMap((setting) => {
    const path = gitPath(setting.value, home);
    if (path === undefined) return [];
    if (!isKeptSecret(canonicalPath(path) ?? path, home)) return [path];
    notes.push(`${gitKey(setting)} of git's configuration names ${visible(path)}, which is not shown`);
    return [];
  });
}

const unsigned =
  'commits and tags inside are not signed, since your key stays outside: sign what you keep after ctx apply';

function unsignedEnvironment(): Readonly<Record<string, string>> {
  const variables = signingSettings.flatMap((key, index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, 'false'],
  ]);
  return { GIT_CONFIG_COUNT: String(signingSettings.length), ...Object.fromEntries(variables) };
}

/** `configuration` is XDG's directory of it; `repository` the workspace's own file, of which only signing is taken. */
export function gitSettingsAt(places: {
  readonly home: string;
  readonly configuration: string;
  readonly repository: string;
  readonly untrusted: readonly string[];
}): GitSettings {
  const { home, untrusted } = places;
  const isUntrusted = (path: string) => untrusted.some((directory) => contains(directory, path));
  const reading: Reading = { home, isUntrusted, seen: new Set(), notes: [] };
  const tops = [`${places.configuration}/git/config`, `${home}/.gitconfig`].flatMap((path) => {
    const file = readFrom(path, reading);
    return file === undefined ? [] : [file];
  });
  const files = all(tops);
  const secret = files.filter(({ isSecret }) => isSecret);
  const made = new Map<string, string>();
  if (secret.length > 0) {
    made.set('/etc/gitconfig', tops.map((file) => madeText(file, made)).join(''));
    const names = secret.map(({ path }) => visible(path)).join(', ');
    reading.notes.push(`git inside has your settings without the credentials of ${names}`);
  }
  const withheld = secret.length === 0 ? [] : [...secret, ...tops].map(({ path }) => path);
  const own = parseGitSettings(textOf(places.repository) ?? '') ?? [];
  const signs = [...files.flatMap(({ settings }) => settings), ...own].some(isSigning);
  const named = files.flatMap((file) => namedFiles(file, reading));
  return {
    reads: [...files.map((file) => file.named), ...named].filter((path) => !isUntrusted(canonicalPath(path) ?? path)),
    withheld,
    made,
    environment: signs ? unsignedEnvironment() : {},
    notes: [...reading.notes, ...(signs ? [unsigned] : [])],
  };
}
