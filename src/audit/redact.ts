/**
 * Secrets do not go into the record: what looks like one in an argument, a variable or a text becomes `[secret]`. By form
 * (tokens of known makers, private keys, URLs with a password) and by name (`--token X`, `API_KEY=x`, `Authorization: ...`).
 * Pure. It cannot know a secret that has no form and no name; test/vectors/secrets.json says what it does know.
 */
import type { Json } from '../base/canonical-json.js';
import { isKeyVariable, isSecretName, secretHint } from './secret-names.js';
import { hasOptions, hidden, hideInText, SecretWords } from './secret-words.js';

export { hidden } from './secret-words.js';

/** Each with texts of which one is in everything that it takes. */
const knownForms: readonly (readonly [readonly string[], RegExp])[] = [
  [
    ['PRIVATE KEY'],
    /-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|$)/g,
  ],
  [['gh', 'github_pat_'], /\b(?:gh[opsur]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,})/g],
  [['glpat-'], /\bglpat-[A-Za-z0-9_-]{20,}/g],
  [['sk-'], /\bsk-(?:ant-|proj-|svcacct-|or-)?[A-Za-z0-9_-]{20,}/g],
  [['xox'], /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/g],
  [['AKIA', 'ASIA', 'ABIA', 'ACCA'], /\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b/g],
  [['AIza'], /\bAIza[0-9A-Za-z_-]{35}/g],
  [['ya29.'], /\bya29\.[0-9A-Za-z_-]{20,}/g],
  [['npm_'], /\bnpm_[A-Za-z0-9]{36}/g],
  [['pypi-'], /\bpypi-[A-Za-z0-9_-]{40,}/g],
  [['hf_'], /\bhf_[A-Za-z0-9]{30,}/g],
  [['_live_', '_test_'], /\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}/g],
  [['_pat_', '_api_', '_oauth_'], /\b[a-z]{2,10}_(?:pat|api|oauth)_(?=[A-Za-z0-9-]*\d)[A-Za-z0-9-]{20,}/g],
  [['hvs.', 'hvb.'], /\bhv[sb]\.[A-Za-z0-9_-]{20,}/g],
  [['SG.'], /\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}/g],
  [['dop_v1_'], /\bdop_v1_[0-9a-f]{40,}/g],
  [['AGE-SECRET-KEY-1'], /\bAGE-SECRET-KEY-1[0-9A-Z]{40,}/g],
  [['eyJ'], /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g],
];

/** In everything that any of them takes; most texts have none of it. */
const formHint = new RegExp(
  knownForms.flatMap(([hints]) => hints.map((hint) => hint.replaceAll('.', '\\.'))).join('|'),
);

/** In every text that is changed here. */
const anyHint = new RegExp(`${secretHint.source}|${formHint.source}|://`, 'i');

/** Up to the last `@` before the path: a password may hold one. */
const userInfo = /(?<![a-z0-9+.-])([a-z0-9+.-]+:\/\/)([^\s/?#"']+)@/gi;
/** Within quotes that are escaped themselves; quoted and plain parts in a row, as a shell joins them; or to the end, behind a quote without another. */
const value = String.raw`\\"(?:[^"\\]|\\[^"])*\\"|(?:"(?:[^"\\]|\\[\s\S])*"|'[^']*'|[^\s&;,"'\\]+|\\[^"])+|["'][\s\S]*`;
/** From where a run of letters begins, and nowhere within it: a long one is looked at once. */
const namedValue = new RegExp(
  String.raw`((?:\\?["'])?)(?<![A-Za-z0-9_.-])([-.0-9]*)([A-Za-z_][A-Za-z0-9_.-]*)\1(\s*(?::|=)?=>?\s*|\s*:\s+|:(?=\\?["']))(${value})`,
  'g',
);
const scheme = /\b(bearer|basic|digest|token)\s+[A-Za-z0-9+/_.~=-]{8,}/gi;
/** `<password>X</password>`. */
const element = /(<((?:[\w-]*[_-])?(?:password|passwd|secret|token|apikey))>)[^<]+<\/\2/gi;
/** As SQL says it, and `.netrc`. */
const quoted = /\b(password|identified\s+by)\s+(?:'[^']+'|"[^"]+")/gi;
const ofLogin = /\b(login\s+\S+\s+password)\s+\S+/gi;
const written = /\b(echo|printf)\b[\s\S]*/;
/** What is written into the standard input of a program that reads a secret there. */
const piped =
  /(?<![^|;&\n])([^|;&\n]*)\|(?=[^|;&\n]*(?:\bchpasswd\b|--pass[a-z]*-(?:stdin|fd)|--with-token|passwd\s+--stdin))/g;
const header = /\b((?:proxy-)?authorization|x-[a-z-]{0,60}(?:key|token|secret)|(?:set-)?cookie)(\s*:\s*)([^\r\n"']+)/gi;

function hideUserInfo(_whole: string, start: string, user: string): string {
  const colon = user.indexOf(':');
  if (colon >= 0) return `${start}${user.slice(0, colon)}:${hidden}@`;
  // `git@` and the like are names; a long one alone is a token.
  return user.length >= 20 ? `${start}${hidden}@` : `${start}${user}@`;
}

export function redactText(text: string): string {
  const isCommand = hasOptions(text);
  if (!isCommand && !anyHint.test(text)) return text;
  let shown = text;
  for (const [hints, form] of formHint.test(text) ? knownForms : []) {
    if (hints.some((hint) => shown.includes(hint))) shown = shown.replace(form, hidden);
  }
  if (shown.includes('@') && shown.includes('://')) shown = shown.replace(userInfo, hideUserInfo);
  if (isCommand) shown = hideInText(shown);
  if (!secretHint.test(shown)) return shown;
  shown = shown.replace(header, (_whole, name: string, colon: string) => `${name}${colon}${hidden}`);
  shown = shown.replace(scheme, (_whole, word: string) => `${word} ${hidden}`);
  shown = shown.replace(element, (_whole, start: string, name: string) => `${start}${hidden}</${name}`);
  for (const form of [quoted, ofLogin]) shown = shown.replace(form, (_whole, word: string) => `${word} ${hidden}`);
  shown = shown.replace(piped, (_whole, command: string) => `${command.replace(written, `$1 ${hidden} `)}|`);
  return shown.replace(namedValue, (whole, quote: string, dashes: string, name: string, sign: string, given: string) =>
    isSecretName(name) || isKeyVariable(name, given) ? `${quote}${dashes}${name}${quote}${sign}${hidden}` : whole,
  );
}

/** Of a list of a hundred thousand paths most have nothing to hide: so many are looked at with one look. */
const lookedAtOnce = 200;

/** Whether nothing in them tells of a secret, nor is there an option that could. */
const areHarmless = (words: readonly string[]) =>
  !words.some((word) => word.startsWith('-')) && !anyHint.test(words.join('\n'));

/** An argument may say what the next one is. */
export function redactArgv(argv: readonly string[]): readonly string[] {
  if (argv.length <= lookedAtOnce && areHarmless(argv)) return argv;
  const shown: string[] = [];
  for (let at = 0; at < argv.length; at += lookedAtOnce) {
    const words = argv.slice(at, at + lookedAtOnce);
    const before = argv[at - 1] ?? '';
    shown.push(...(!before.startsWith('-') && areHarmless(words) ? words : redactEach(words, before)));
  }
  return shown;
}

function redactEach(argv: readonly string[], before: string): readonly string[] {
  const words = new SecretWords(before);
  return argv.map((word) => {
    const shown = words.shown(word);
    return shown === word ? redactText(word) : shown;
  });
}

/** Every text in a value; a member whose name says that it is secret is hidden whole. */
export function redactFacts<T extends Json | undefined>(value: T, name = ''): T {
  const hide = (given: Json | undefined): Json | undefined => {
    if (typeof given === 'string') return isSecretName(name) ? hidden : redactText(given);
    if (Array.isArray(given)) {
      if (given.every((each) => typeof each === 'string')) return redactArgv(given);
      return given.map((each) => redactFacts(each as Json, name));
    }
    if (given === null || typeof given !== 'object') return given;
    return Object.fromEntries(Object.entries(given).map(([key, each]) => [key, redactFacts(each, key)]));
  };
  return hide(value) as T;
}
