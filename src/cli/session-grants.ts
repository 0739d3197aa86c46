/** What a session's commands may do: the options that are not about one command alone. */
import { approvalWait, formOptions } from './decision-verbs.js';
import { runOptions } from './jail-verbs.js';
import type { Arguments, Option } from './verb.js';

/** Options of `ctx exec` that say how one command is run; the others say what it may do, and a session has its own. */
const ofOneCommand = ['shell', 'cwd', 'timeout', 'report', 'env', 'approval-wait'];
const all: readonly Option[] = [...formOptions, ...runOptions, approvalWait];

export const sessionGrants: readonly Option[] = all.filter(({ name }) => !ofOneCommand.includes(name));
/** `readonly` is a session's where it starts with it, and may be one command's where it did not. */
export const perCommand: readonly Option[] = all.filter(({ name }) => [...ofOneCommand, 'readonly'].includes(name));

/** What a call asks for beyond its fork, as one text: the same for calls that may run in one jail. */
export function grantWords(call: Arguments): string {
  return JSON.stringify(askedGrants(call));
}

/** Whether a call may run in the jail of a session with these grants: it asks for the same, or for that read-only. */
export function mayRunWith(call: Arguments, grants: string): boolean {
  const asked = askedGrants(call);
  const writable = asked.map(([name = '', ...values]) => (name === 'readonly' ? [name] : [name, ...values]));
  return [asked, writable].some((words) => JSON.stringify(words) === grants);
}

function askedGrants(call: Arguments): readonly (readonly string[])[] {
  return sessionGrants.map(({ name }) => [name, ...call.values(name)]);
}
