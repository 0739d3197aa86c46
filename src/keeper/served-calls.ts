/**
 * Which calls a keeper runs. It runs what is done with files, streams and processes alone, as a Node of the caller's own would do it.
 * What reads a terminal, stays, or serves is left to that. Pure.
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

/** They print and read nothing: no question, no pager. */
const onlyPrinted: readonly string[] = ['status', 'blame', 'inspect', 'classify', 'surface', 'preamble'];

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
}

export function isServed({ given, terminals }: AskedCall): boolean {
  const [verb = '', second = ''] = given;
  if (!servedVerbs.includes(verb) || (verb === 'fork' && !servedForkVerbs.includes(second))) return false;
  if (verb === 'hook' && !servedHooks.includes(second)) return false;
  if (terminals.includes(true) && !onlyPrinted.includes(verb)) return false;
  const end = given.indexOf('--');
  return !given.slice(0, end < 0 ? given.length : end).some((word) => staying.test(word));
}
