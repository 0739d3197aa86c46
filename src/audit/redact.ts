/**
 * Secrets do not go into the record: what looks like one in an argument, a variable or a text becomes `[secret]`. By form
 * (tokens of known makers, private keys, URLs with a password) and by name (`--token X`, `API_KEY=x`, `Authorization: ...`).
 * Pure. It cannot know a secret that has no form and no name; test/vectors/secrets.json says what it does know.
 */
import type { Json } from '../base/canonical-json.js';

export const hidden = '[secret]';

/** In every name and text that tells of a secret. Most have none of it, and then nothing larger is compiled. */
const secretHint = /pass|pwd|secret|token|key|credential|auth|bearer|basic|digest|cookie|session|connection/i;

/** Last words of a name whose value is secret. */
const secretWords = new Set(
  'pass password passwd passphrase passcode pwd secret secrets token tokens apikey apikeys credential credentials auth bearer cookie'.split(
    ' ',
  ),
);
const secretPairs = new Set(
  ['api', 'access', 'private', 'secret', 'signing', 'session'].flatMap((word) => [`${word} key`, `${word} keys`]),
)
  .add('session id')
  .add('connection string');
/** Words that were written as one: `PGPASSWORD`, `authtoken`. */
const joinedWord = /.(?:password|passwd|passphrase|secret|token)$|^sshpass$/;
const harmlessPairs = new Set(['max tokens', 'min tokens', 'new tokens', 'used tokens', 'no auth']);

/** `GITHUB_TOKEN`, `clientSecret`, `api-key-2`: by whole words, of which the last say what it is. */
function isSecretName(name: string): boolean {
  if (!secretHint.test(name)) return false;
  // Between a small and a capital letter there is a word's end: `accessToken`.
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[_.-]+/);
  while (words.length > 1 && /^(?:\d+|value|base64|)$/.test(words.at(-1) ?? '')) words.pop();
  const [before = '', last = ''] = words.slice(-2).length === 1 ? ['', words[0]] : words.slice(-2);
  const pair = `${before} ${last}`;
  return secretPairs.has(pair) || ((secretWords.has(last) || joinedWord.test(last)) && !harmlessPairs.has(pair));
}

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
const userInfo = /\b([a-z][a-z0-9+.-]*:\/\/)([^\s/?#"']+)@/gi;
/** Within quotes that are escaped themselves; quoted and plain parts in a row, as a shell joins them; or to the end, behind a quote without another. */
const value = String.raw`\\"(?:[^"\\]|\\[^"])*\\"|(?:"(?:[^"\\]|\\[\s\S])*"|'[^']*'|[^\s&;,"'\\]+|\\[^"])+|["'][\s\S]*`;
const namedValue = new RegExp(
  String.raw`((?:\\?["'])?)([A-Za-z_][A-Za-z0-9_.-]*)\1(\s*=\s*|\s*:\s+|:(?=\\?["']))(?:${value})`,
  'g',
);
const scheme = /\b(bearer|basic|digest|token)\s+[A-Za-z0-9+/_.~=-]{8,}/gi;
const header = /\b((?:proxy-)?authorization|x-[a-z-]*(?:key|token|secret)|(?:set-)?cookie)(\s*:\s*)([^\r\n"']+)/gi;

function hideUserInfo(_whole: string, start: string, user: string): string {
  const colon = user.indexOf(':');
  if (colon >= 0) return `${start}${user.slice(0, colon)}:${hidden}@`;
  // `git@` and the like are names; a long one alone is a token.
  return user.length >= 20 ? `${start}${hidden}@` : `${start}${user}@`;
}

export function redactText(text: string): string {
  if (!anyHint.test(text)) return text;
  let shown = text;
  for (const [hints, form] of formHint.test(text) ? knownForms : []) {
    if (hints.some((hint) => shown.includes(hint))) shown = shown.replace(form, hidden);
  }
  if (shown.includes('@') && shown.includes('://')) shown = shown.replace(userInfo, hideUserInfo);
  if (!secretHint.test(shown)) return shown;
  shown = shown.replace(header, (_whole, name: string, colon: string) => `${name}${colon}${hidden}`);
  shown = shown.replace(scheme, (_whole, word: string) => `${word} ${hidden}`);
  return shown.replace(namedValue, (whole, quote: string, name: string, sign: string) =>
    isSecretName(name) ? `${quote}${name}${quote}${sign}${hidden}` : whole,
  );
}

/** Options whose next argument is `user:password`. */
const userOption = /^(?:-u|--user|--proxy-user|-U)$/;
/** The same in one word; `-u1000:1000` are ids. */
const userAttached = /^(-u|--user=|--proxy-user=|-U)(?!\d+:\d+$)([^:=]+):./;

/** Of a list of a hundred thousand paths most have nothing to hide: so many are looked at with one look. */
const lookedAtOnce = 200;

/** Whether nothing in them tells of a secret, nor is there an option that could. */
const areHarmless = (words: readonly string[]) =>
  !words.some((word) => word.startsWith('-')) && !anyHint.test(words.join('\n'));

/** An argument may say what the next one is. */
export function redactArgv(argv: readonly string[]): readonly string[] {
  if (argv.length <= lookedAtOnce) return areHarmless(argv) ? argv : redactEach(argv, '');
  const shown: string[] = [];
  for (let at = 0; at < argv.length; at += lookedAtOnce) {
    const words = argv.slice(at, at + lookedAtOnce);
    const before = argv[at - 1] ?? '';
    shown.push(...(!before.startsWith('-') && areHarmless(words) ? words : redactEach(words, before)));
  }
  return shown;
}

function redactEach(argv: readonly string[], first: string): readonly string[] {
  return argv.map((word, index) => {
    const before = argv[index - 1] ?? first;
    if (userOption.test(before) && /^[^:]+:./.test(word)) return `${word.slice(0, word.indexOf(':'))}:${hidden}`;
    const [, asks, user] = userAttached.exec(word) ?? [];
    if (asks !== undefined) return `${asks}${user}:${hidden}`;
    const option = /^--?([A-Za-z][\w-]*)$/.exec(before)?.[1];
    const isValue = option !== undefined && isSecretName(option) && !word.startsWith('-');
    return isValue ? hidden : redactText(word);
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
