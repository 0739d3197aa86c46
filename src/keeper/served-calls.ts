/**
 * Which calls a keeper runs. It runs what is done with files, streams and processes alone, as a Node of the caller's own would do it.
 * What reads a terminal that nobody carries, stays, or serves is left to that. Pure.
 */

/**
 * By first word: all of its forms, or those after which nothing stays and nothing serves. `bin/ctx` asks for no others. What asks servers
 * of others (trees of the VFS, sources of tools) or a password manager, ends keepers, moves the store or looks at its own Node is left to
 * that.
 */
const served: Readonly<Record<string, 'all' | readonly string[]>> = {
  exec: 'all',
  status: 'all',
  diff: 'all',
  apply: 'all',
  drop: 'all',
  rollback: 'all',
  checkpoint: 'all',
  fork: ['create', 'list', 'info', 'use', 'delete'],
  blame: 'all',
  inspect: 'all',
  classify: 'all',
  rules: 'all',
  approvals: 'all',
  trust: 'all',
  secret: ['list', 'rm'],
  why: 'all',
  surface: 'all',
  preamble: 'all',
  agent: 'all',
  tool: ['new', 'show', 'ls', 'set', 'rm'],
  policy: 'all',
  mount: 'all',
  ps: 'all',
  hook: ['claude-code', 'json'],
  audit: ['query', 'show', 'verify', 'keys'],
  vault: ['list', 'info'],
  fsck: 'all',
};

export const servedVerbs: readonly string[] = Object.keys(served);

/** What may read stdin: where that is a terminal, in the session of the person. */
const readers: readonly string[] = [
  ...['hook', 'trust', 'agent new', 'agent set', 'tool new', 'tool set', 'policy check', 'mount check'],
];

/** Options of `ctx exec` by which its jail has a terminal as stdin alone, and would read it itself. */
const captured = /^--(?:json|stream)(?:=|$)/;

/** Options of `ctx exec` by which something stays, or serves. */
const staying = /^--(?:keep|mount)(?:=|$)/;

/** What names a descriptor of the caller's beyond the three that come with the call: `<(COMMAND)` of a shell. */
const ofCaller = /\/(?:dev\/fd|proc\/(?:self|thread-self))(?:\/|$)/;

/** Variables that Node, its libraries or the C library read once, when they start; `native/call` starts a keeper with them. NODE_ENV is none. */
const startVariable =
  /^(?:(?:NODE_(?!ENV=)|UV_|LD_|LC_|LANG|GLIBC_|MALLOC_|OPENSSL|SSL_|ICU_|TZ)[A-Za-z0-9_]*|CTX_BOOT)=/;

/** Those of an environment, in an order of their own. */
export function startVariables(environment: readonly string[]): string {
  return environment
    .filter((each) => startVariable.test(each))
    .sort()
    .join('\0');
}

export interface AskedCall {
  /** What was typed after `ctx`. */
  readonly given: readonly string[];
  readonly terminals: readonly boolean[];
  /** Its caller reads and writes the person's terminal for it. */
  readonly carries: boolean;
}

/**
 * Whether a process of another session does what the caller's Node would do at these terminals. It may write there; what reads, asks or
 * shows a pager is in the session of the person.
 */
function suitsTerminals(
  [verb = '', second = '']: readonly string[],
  options: readonly string[],
  { terminals, carries }: Pick<AskedCall, 'terminals' | 'carries'>,
): boolean {
  const [input = false, output = false] = terminals;
  if (verb === 'exec') return !input || (carries && output && !options.some((word) => captured.test(word)));
  if (readers.includes(verb) || readers.includes(`${verb} ${second}`)) return !input;
  return verb !== 'diff' || !output;
}

export function isServed({ given, ...streams }: AskedCall): boolean {
  const [verb = '', second = ''] = given;
  const forms = Object.hasOwn(served, verb) ? served[verb] : undefined;
  if (forms === undefined || (forms !== 'all' && !forms.includes(second))) return false;
  const end = given.indexOf('--');
  const options = given.slice(0, end < 0 ? given.length : end);
  // Behind it `exec` has words of the command, whose descriptors are its own, and every other verb may have files.
  const opened = verb === 'exec' ? options : given;
  if (options.some((word) => staying.test(word)) || opened.some((word) => ofCaller.test(word))) return false;
  return suitsTerminals(given, options, streams);
}
