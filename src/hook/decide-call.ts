/**
 * Decide: may this tool call go ahead? A function of the call, what is granted, and where paths lead; it acts on nothing.
 * Every path is resolved before it is compared, in every reading a harness may give it, and each must be granted.
 */
import { hookCommandBytes } from '../base/limits/decisions.js';
import { allow, type Call, type CallVerdict, deny, type PathUse } from './call.js';
import { patternStarts } from './glob-pattern.js';
import {
  coveredRefusal,
  fetchRefusal,
  type HookGrants,
  pathRefusal,
  searchRefusal,
  toolRefusal,
  treeRefusal,
} from './grants.js';
import { isJailed, type JailedForm, jailed } from './jailed-command.js';
import { readingsOf, shownPath } from './path-readings.js';
import type { Resolve } from './resolve-path.js';

/** What happens to a shell command: run in the jail instead, or denied with the form that would run there. */
export type CommandMode = 'rewrite' | 'deny';

export interface HookRules {
  readonly grants: HookGrants;
  readonly resolve: Resolve;
  readonly commands: CommandMode;
  readonly form: JailedForm;
}

/** Longer commands are not repeated in a reason. */
const repeatedCommand = 2_000;

async function useRefusal({ grants, resolve }: HookRules, use: PathUse, cwd: string): Promise<string | undefined> {
  const readings = readingsOf(use.path, cwd);
  if (!readings.ok) return readings.fault;
  for (const reading of readings.paths) {
    const resolved = await resolve(reading);
    if (!resolved.ok) return `${shownPath(use.path)} cannot be checked: ${resolved.fault}`;
    const refusal =
      pathRefusal(grants, resolved.path, use.access) ??
      (use.tree ? treeRefusal(grants, resolved.path, use.access) : undefined);
    if (refusal !== undefined) return refusal;
    for (const other of use.tree ? grants.elsewhere(resolved.path) : []) {
      const there = await resolve(other);
      if (!there.ok || there.exists) return coveredRefusal(resolved.path, other);
    }
  }
  return undefined;
}

/** The fixed starts of a pattern, each below the directory that is searched. */
function withPattern(use: PathUse): readonly PathUse[] | string {
  if (use.pattern === undefined) return [use];
  if (use.pattern.trimStart().startsWith('~'))
    return 'expected a pattern below the working directory: `~` may mean a home';
  const found = patternStarts(use.pattern);
  if (!found.ok) return found.fault;
  const { pattern: _pattern, ...directory } = use;
  const starts = found.starts.map((start) => ({
    ...directory,
    path: start.startsWith('/') ? start : `${use.path}/${start}`,
  }));
  return [directory, ...starts];
}

async function decidePaths(rules: HookRules, call: Call, uses: readonly PathUse[]): Promise<CallVerdict> {
  for (const use of uses) {
    const parts = withPattern(use);
    if (typeof parts === 'string') return deny(parts);
    for (const part of parts) {
      const refusal = await useRefusal(rules, part, call.cwd);
      if (refusal !== undefined) return deny(refusal);
    }
  }
  return allow('inside the surface of this task');
}

async function decideCommand(rules: HookRules, call: Call, command: string): Promise<CallVerdict> {
  const { form } = rules;
  if (command.trim() === '') return deny('expected a command, got none');
  if (command.includes('\0') || /\p{Surrogate}/u.test(command)) {
    return deny('expected a command without NUL characters and without halves of characters');
  }
  // The jail is that of the directory the command starts in: it must be one that this task may work in.
  const refusal = await useRefusal(rules, { path: call.cwd, access: 'write', tree: false }, call.cwd);
  if (refusal !== undefined) return deny(`commands run in the working directory, and ${refusal}`);
  if (isJailed(command, form)) return allow('runs in the jail');
  const inJail = jailed(command, form);
  if (Buffer.byteLength(inJail) > hookCommandBytes) {
    return deny(`expected a command of less than ${hookCommandBytes} bytes; write a script into a file and run that`);
  }
  if (rules.commands === 'rewrite') {
    return Object.freeze({ decision: 'rewrite', reason: 'runs in the jail, on a fork', command: inJail });
  }
  const example = inJail.length <= repeatedCommand ? inJail : jailed('COMMAND', form);
  return deny(`commands run in the jail only; call it in exactly this form: ${example}`);
}

function judged(refusal: string | undefined, granted: string): CallVerdict {
  return refusal === undefined ? allow(granted) : deny(refusal);
}

export async function decideCall(rules: HookRules, call: Call): Promise<CallVerdict> {
  const { action, cwd, tool } = call;
  if (!cwd.startsWith('/')) return deny('expected an absolute working directory');
  switch (action.kind) {
    case 'paths':
      return action.uses.length === 0 ? deny('expected a path, got none') : decidePaths(rules, call, action.uses);
    case 'command':
      return decideCommand(rules, call, action.command);
    case 'fetch':
      return judged(fetchRefusal(rules.grants, action.url), 'the host is granted');
    case 'search':
      return judged(searchRefusal(rules.grants), 'any public host is granted');
    case 'harmless':
      return allow(action.why);
    case 'tool':
      return judged(toolRefusal(rules.grants, tool, action.name), 'the tool is granted');
  }
}
