/** Names whose value is secret: of variables, options, members and headers. By their words, as people write them. Pure. */

/** In every name and text that tells of a secret. Most have none of it, and then nothing larger is compiled. */
export const secretHint =
  /pass|pwd|secret|token|key|credential|auth|bearer|basic|digest|cookie|session|connection|identified/i;

/** Last words of a name whose value is secret. */
const secretWords = new Set(
  'pass password passwd passphrase passcode pwd secret secrets token tokens apikey apikeys credential credentials auth bearer cookie'.split(
    ' ',
  ),
);
const secretPairs = new Set(
  'api access private secret signing session master encryption account storage shared deploy webhook hmac jwt'
    .split(' ')
    .flatMap((word) => [`${word} key`, `${word} keys`]),
)
  .add('session id')
  .add('connection string');
/** Words that were written as one: `PGPASSWORD`, `authtoken`, `storepass`, `accesskey`. */
const joinedWord =
  /.(?:password|passwd|passphrase|secret|token)$|^(?:ssh|store|key|db|root|admin|user)pass$|^(?:secret|access|private|master|account|storage|encryption)keys?$/;
const harmlessPairs = new Set(['max tokens', 'min tokens', 'new tokens', 'used tokens', 'no auth']);

/** `SECRET_KEY_BASE`, `PASSWORD_HASH`: in a variable's name these count wherever they are, unless its last word is one of the others. */
const strongWords = new Set(
  'password passwd passphrase passcode secret secrets token credential credentials'.split(' '),
);
const harmlessEnds = new Set(
  `file files path dir directory name names url uri host port user type kind ttl age length size count limit min max
   policy provider store manager helper version format prefix field header timeout expiry expires enabled required stdin
   endpoint issuer audience scope backend mount class`.split(/\s+/),
);
/** `STRIPE_KEY` and the like, but not these. */
const harmlessKeys = new Set(
  'public primary foreign sort partition cache index row map hash group object host known hot unique lookup routing message event config'.split(
    ' ',
  ),
);

/** Between a small and a capital letter there is a word's end: `accessToken`. */
function wordsOf(name: string): string[] {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[_.-]+/);
  while (words.length > 1 && /^(?:\d+|v\d+|value|base64|)$/.test(words.at(-1) ?? '')) words.pop();
  return words;
}

/** Of a variable, as it is in an environment. */
const isVariable = (name: string) => /^[A-Z][A-Z0-9]*_[A-Z0-9_]*$/.test(name);

/** `GITHUB_TOKEN`, `clientSecret`, `api-key-2`: by whole words, of which the last say what it is. */
export function isSecretName(name: string): boolean {
  if (!secretHint.test(name)) return false;
  const words = wordsOf(name);
  const [before = '', last = ''] = words.slice(-2).length === 1 ? ['', words[0]] : words.slice(-2);
  const pair = `${before} ${last}`;
  if (secretPairs.has(pair)) return true;
  if ((secretWords.has(last) || joinedWord.test(last)) && !harmlessPairs.has(pair)) return true;
  return isVariable(name) && !harmlessEnds.has(last) && words.some((word) => strongWords.has(word));
}

/** A variable such as `STRIPE_KEY`, whose value is one, or the path of a file with one. */
export function isKeyVariable(name: string, value: string): boolean {
  if (!/_KEYS?(?:_?\d+)?$/.test(name) || !isVariable(name) || /^["']?(?:~|\.{0,2}\/)/.test(value)) return false;
  return !harmlessKeys.has(wordsOf(name).at(-2) ?? '');
}

/** A name of several words alone, as settings have it: `aws_secret_access_key`, `//registry/:_authToken`, `github.token`. */
export function isSecretSetting(word: string): boolean {
  const [name = ''] = /[A-Za-z_][\w.-]*$/.exec(word) ?? [];
  return /[a-z0-9][_.-][a-z0-9]|[a-z][A-Z]/i.test(name) && isSecretName(name);
}
