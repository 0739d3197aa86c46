/** What a session's commands may do: the options that are not about one command alone. */
import { approvalWait, formOptions } from './decision-verbs.js';
import { runOptions } from './jail-verbs.js';
import type { Arguments, Option } from './verb.js';

/** Options of `ctx exec` that say how one command is run; the others say what it may do, and a session has its own. */
const ofOneCommand = ['shell', 'cwd', 'timeout', 'report', 'env', 'approval-wait'];
const all: readonly Option[] = [...formOptions, ...runOptions, approvalWait];

export const sessionGrants: readonly Option[] = all.filter(({ name }) => !ofOneCommand.includes(name));
export const perCommand: readonly Option[] = all.filter(({ name }) => ofOneCommand.includes(name));

/** What a call asks for beyond its fork, as one text: the same for calls that may run in one jail. */
export function grantWords(call: Arguments): string {
  return JSON.stringify(sessionGrants.map(({ name }) => [name, ...call.values(name)]));
}
