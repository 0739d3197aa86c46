/** What a kept jail's commands may do: the options that are not about one command alone. */

import type { Arguments, Option } from '../verb.js';
import { parseSecret } from './asked-secrets.js';
import { approvalWait, formOptions, runOptions } from './command-options.js';

/** Options of `ctx exec` that say how one command is run; the others say what it may do, and a kept jail has its own. */
const ofOneCommand = ['shell', 'cwd', 'timeout', 'report', 'env', 'approval-wait'];
const all: readonly Option[] = [...formOptions, ...runOptions, approvalWait];

export const keptJailGrants: readonly Option[] = all.filter(({ name }) => !ofOneCommand.includes(name));
/** `readonly` is a kept jail's where it starts with it, and may be one command's where it did not. */
export const perCommand: readonly Option[] = all.filter(({ name }) => [...ofOneCommand, 'readonly'].includes(name));

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * What a call asks for beyond its fork, as one text: the same for calls that may run in one jail. It holds the values of secrets, since
 * the same variable may hold another token in another terminal: it is compared, and neither shown nor stored. `project` says which
 * defaults of the project count: a jail that was started with others is not for this call.
 */
export function grantWords(call: Arguments, environment: Environment, project: string): string {
  return JSON.stringify(askedGrants(call, environment, project));
}

/** Whether a call may run in a kept jail with these grants: it asks for the same, or for that read-only. */
export function mayRunWith(call: Arguments, environment: Environment, project: string, grants: string): boolean {
  const asked = askedGrants(call, environment, project);
  const writable = asked.map(([name = '', ...values]) => (name === 'readonly' ? [name] : [name, ...values]));
  return [asked, writable].some((words) => JSON.stringify(words) === grants);
}

function askedGrants(call: Arguments, environment: Environment, project: string): readonly (readonly string[])[] {
  const ofProject = call.flag('no-project') ? [] : [project];
  const asked = keptJailGrants.map(({ name }) => {
    const values = call.values(name);
    return [
      name,
      ...(name === 'secret' ? values.map((text) => parseSecret(text, environment).value ?? '') : []),
      ...values,
    ];
  });
  return [...asked, ['project', ...ofProject]];
}
