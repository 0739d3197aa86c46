/**
 * A file of git's configuration, read as git reads it, and written again. Pure. What git would not read is refused whole: a line that
 * means one thing here and another to git could hide a secret.
 */

export interface GitSetting {
  /** In small letters, as `key` is: git does not tell them apart. */
  readonly section: string;
  readonly subsection?: string | undefined;
  readonly key: string;
  readonly value: string;
}

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', b: '\b', '"': '"', '\\': '\\' };

/** From after `=` to the end of the line, or of several where a backslash ends one; undefined where it is none. */
function readValue(text: string, start: number): { readonly value: string; readonly end: number } | undefined {
  let value = '';
  let kept = 0; // without blanks at the end, unless they are quoted
  let quoted = false;
  let at = start;
  for (; at < text.length && text[at] !== '\n'; at += 1) {
    const letter = text[at] ?? '';
    if (letter === '\\') {
      at += 1;
      if (text[at] === '\r' && text[at + 1] === '\n') at += 1;
      if (text[at] === '\n') continue;
      const meant = escapes[text[at] ?? ''];
      if (meant === undefined) return undefined;
      value += meant;
      kept = value.length;
    } else if (letter === '"') quoted = !quoted;
    else if (!quoted && (letter === '#' || letter === ';')) {
      while (at < text.length && text[at] !== '\n') at += 1;
      break;
    } else if (!quoted && /[ \t\r]/.test(letter)) {
      if (value !== '') value += letter;
    } else {
      value += letter;
      kept = value.length;
    }
    if (quoted) kept = value.length;
  }
  return quoted ? undefined : { value: value.slice(0, kept), end: at };
}

const head = /\[([A-Za-z0-9-]+)(?:\.([^\]\s"]+))?(?:[ \t]+"((?:[^"\\\n]|\\[^\n])*)")?[ \t]*\]/y;
const name = /([A-Za-z][A-Za-z0-9-]*)[ \t]*(=|(?=\r?\n|$))/y;
const blank = /(?:[ \t\r\n\f]|[#;][^\n]*)+/y;

/** Undefined where git itself would refuse the file. */
export function parseGitSettings(text: string): readonly GitSetting[] | undefined {
  const settings: GitSetting[] = [];
  let section: Pick<GitSetting, 'section' | 'subsection'> | undefined;
  let at = text.startsWith('\ufeff') ? 1 : 0;
  const next = (pattern: RegExp) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found !== null) at = pattern.lastIndex;
    return found;
  };
  for (;;) {
    next(blank);
    if (at >= text.length) return settings;
    const begun = next(head);
    if (begun !== null) {
      // Written after a dot, in quotes or both: `[a.B "C"]` is `a.b.C`.
      const parts = [begun[2]?.toLowerCase(), begun[3]?.replace(/\\(.)/g, '$1')].filter((part) => part !== undefined);
      const subsection = parts.length === 0 ? undefined : parts.join('.');
      section = { section: (begun[1] ?? '').toLowerCase(), subsection };
      continue;
    }
    const named = next(name);
    if (named === null || section === undefined) return undefined;
    const read = named[2] === '=' ? readValue(text, at) : { value: 'true', end: at };
    if (read === undefined) return undefined;
    at = read.end;
    settings.push({ ...section, key: (named[1] ?? '').toLowerCase(), value: read.value });
  }
}

/** `section.subsection.key`, as git names it. */
export function gitKey({ section, subsection, key }: GitSetting): string {
  return subsection === undefined ? `${section}.${key}` : `${section}.${subsection}.${key}`;
}

export function gitSettingsText(settings: readonly GitSetting[]): string {
  const escaped = (value: string) =>
    value.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\t', '\\t').replaceAll('\b', '\\b');
  return settings
    .map(({ section, subsection, key, value }) => {
      const of = subsection === undefined ? '' : ` "${subsection.replace(/[\\"]/g, '\\$&')}"`;
      return `[${section}${of}]\n\t${key} = "${escaped(value)}"\n`;
    })
    .join('');
}

/** A file that is read in its place. */
export function isInclude({ section, key }: GitSetting): boolean {
  return (section === 'include' || section === 'includeif') && key === 'path';
}

/** Settings whose value names what git reads or runs: without it commits take in what is ignored, pass without their hooks, or fail. */
const fileSettings = new Set([
  'blame.ignorerevsfile',
  'commit.template',
  'core.attributesfile',
  'core.excludesfile',
  'core.hookspath',
  'mailmap.file',
]);

export function namesFile(setting: GitSetting): boolean {
  return fileSettings.has(gitKey(setting));
}

/** A path as git means it in a file of `directory`; undefined where only git knows (`%(prefix)`, another user's home). */
export function gitPath(value: string, home: string, directory?: string): string | undefined {
  if (value.startsWith('/')) return value;
  if (value.startsWith('~/')) return `${home}${value.slice(1)}`;
  if (value === '' || /^[~%]/.test(value) || directory === undefined) return undefined;
  return `${directory}/${value}`;
}

const signing = /^(commit\.gpgsign|push\.gpgsign|tag\.forcesignannotated|tag\.gpgsign)$/;

/** Whether it makes git ask for a signing key, which stays outside. */
export function isSigning(setting: GitSetting): boolean {
  return signing.test(gitKey(setting)) && !/^(false|no|off|0|)$/i.test(setting.value);
}

/** The names it has in git's environment, so that they are off whichever file turns them on. */
export const signingSettings = Object.freeze([
  'commit.gpgSign',
  'push.gpgSign',
  'tag.forceSignAnnotated',
  'tag.gpgSign',
] as const);
