/**
 * Secrets do not go into the record: what looks like one in an argument, a variable or a text becomes `[secret]`. By form
 * (tokens of known makers, private keys, URLs with a password) and by name (`--token X`, `API_KEY=x`, `Authorization: ...`).
 * Pure. It cannot know a secret that has no form and no name; test/vectors/secrets.json says what it does know.
 */
import type { Json } from '../base/canonical-json.js';

export const hidden = '[secret]';

/** A name that says its value is secret: whole words, joined by `_`, `-` or a change of case. */
const secretWord =
  '(?:pass(?:word|wd|phrase|code)?|pwd|secrets?|tokens?|api[_-]?keys?|apikey|access[_-]?keys?|private[_-]?keys?|secret[_-]?keys?|signing[_-]?keys?|credentials?|auth|bearer|cookie|session[_-]?(?:id|key)|connection[_-]?string)';
const secretName = new RegExp(`(?:^|[_.-]|[a-z0-9](?=[A-Z]))${secretWord}(?:$|[_-](?:\\d+|value|base64))`, 'i');
/** What such words say of no secret. */
const harmlessName =
  /(?:author|auth[_-]?(?:type|method|mode|url|host)|token(?:[_-]?(?:limit|count|type)|s[_-]?used)|max[_-]?tokens)/i;

function isSecretName(name: string): boolean {
  // Between a small and a capital letter there is a word's end: `accessToken`.
  const spaced = name.replace(/([a-z0-9])([A-Z])/g, '$1_$2');
  return secretName.test(spaced) && !harmlessName.test(spaced);
}

const knownForms: readonly RegExp[] = [
  /-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|$)/g,
  /\b(?:gh[opsur]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,})/g,
  /\bglpat-[A-Za-z0-9_-]{20,}/g,
  /\bsk-(?:ant-|proj-|svcacct-|or-)?[A-Za-z0-9_-]{20,}/g,
  /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/g,
  /\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b/g,
  /\bAIza[0-9A-Za-z_-]{35}/g,
  /\bya29\.[0-9A-Za-z_-]{20,}/g,
  /\bnpm_[A-Za-z0-9]{36}/g,
  /\bpypi-[A-Za-z0-9_-]{40,}/g,
  /\bhf_[A-Za-z0-9]{30,}/g,
  /\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}/g,
  /\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}/g,
  /\bdop_v1_[0-9a-f]{40,}/g,
  /\bAGE-SECRET-KEY-1[0-9A-Z]{40,}/g,
  /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g,
];

/** Quick to ask, and true of every text that the rest could change. */
const suspicious =
  /[=:@]|PRIVATE KEY|gh[opsur]_|github_pat_|glpat-|\bsk-|xox|AKIA|ASIA|ABIA|ACCA|AIza|ya29|npm_|pypi-|hf_|_live_|_test_|SG\.|dop_v1_|AGE-SECRET|eyJ|[Bb]earer|[Bb]asic/;

const userInfo = /\b([a-z][a-z0-9+.-]*:\/\/)([^\s/?#@"']+)@/gi;
const namedValue = /(["']?)([A-Za-z_][A-Za-z0-9_.-]*)\1(\s*=\s*|\s*:\s+|:(?=["']))("[^"]*"|'[^']*'|[^\s&;,"']+)/g;
const scheme = /\b(bearer|basic|digest|token)\s+[A-Za-z0-9+/_.~=-]{8,}/gi;
const header = /\b((?:proxy-)?authorization|x-[a-z-]*(?:key|token|secret)|(?:set-)?cookie)(\s*:\s*)([^\r\n"']+)/gi;

function hideUserInfo(_whole: string, start: string, user: string): string {
  const colon = user.indexOf(':');
  if (colon >= 0) return `${start}${user.slice(0, colon)}:${hidden}@`;
  // `git@` and the like are names; a long one alone is a token.
  return user.length >= 20 ? `${start}${hidden}@` : `${start}${user}@`;
}

export function redactText(text: string): string {
  if (!suspicious.test(text)) return text;
  let shown = text;
  for (const form of knownForms) shown = shown.replace(form, hidden);
  shown = shown.replace(userInfo, hideUserInfo);
  shown = shown.replace(header, (_whole, name: string, colon: string) => `${name}${colon}${hidden}`);
  shown = shown.replace(scheme, (_whole, word: string) => `${word} ${hidden}`);
  return shown.replace(namedValue, (whole, quote: string, name: string, sign: string, value: string) =>
    isSecretName(name) && value !== hidden ? `${quote}${name}${quote}${sign}${hidden}` : whole,
  );
}

/** Options whose next argument is `user:password`. */
const userOption = /^(?:-u|--user|--proxy-user|-U)$/;

/** An argument may say what the next one is. */
export function redactArgv(argv: readonly string[]): readonly string[] {
  return argv.map((word, index) => {
    const before = argv[index - 1] ?? '';
    if (userOption.test(before) && /^[^:]+:./.test(word)) return `${word.slice(0, word.indexOf(':'))}:${hidden}`;
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
