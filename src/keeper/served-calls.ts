/**
 * Which calls a keeper runs. It runs what is done with files, streams and processes alone, as a Node of the caller's own would do it.
 * What reads a terminal that nobody carries, stays, or serves is left to that. Pure.
 */

/** By their first word. `bin/ctx` asks for no others. */
export const servedVerbs: readonly string[] = [
  ...['exec', 'status', 'diff', 'apply', 'drop', 'rollback', 'checkpoint', 'fork', 'blame', 'inspect'],
  ...['classify', 'rules', 'approvals', 'why', 'surface', 'preamble', 'hook'],
];

/** Of the verbs on forks, those after which nothing stays. */
const servedForkVerbs: readonly string[] = ['create', 'list', 'info', 'use', 'delete'];

/** Of the hook's, those that judge one call; the others write settings. */
const servedHooks: readonly string[] = ['claude-code', 'json'];

/** Options of `ctx exec` by which its jail has a terminal as stdin alone, and would read it itself. */
const captured = /^--(?:json|stream)(?:=|$)/;

/** Options of `ctx exec` by which something stays, or serves. */
const staying = /^--(?:keep|mount)(?:=|$)/;

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
  verb: string,
  options: readonly string[],
  { terminals, carries }: Pick<AskedCall, 'terminals' | 'carries'>,
): boolean {
  const [input = false, output = false] = terminals;
  if (verb === 'exec') return !input || (carries && output && !options.some((word) => captured.test(word)));
  if (verb === 'hook') return !input;
  return verb !== 'diff' || !output;
}

export function isServed({ given, ...streams }: AskedCall): boolean {
  const [verb = '', second = ''] = given;
  if (!servedVerbs.includes(verb) || (verb === 'fork' && !servedForkVerbs.includes(second))) return false;
  if (verb === 'hook' && !servedHooks.includes(second)) return false;
  const end = given.indexOf('--');
  const options = given.slice(0, end < 0 ? given.length : end);
  return suitsTerminals(verb, options, streams) && !options.some((word) => staying.test(word));
}
