/** `ctx jail plan`: every operation a jail would be made of, one a line. */

import { ErrnoError } from '../../base/errno.js';
import { having, list, parsedAs, text } from '../../base/shape.js';
import { visible } from '../../base/visible-text.js';
import { optionsOf } from '../input/asked-options.js';
import { workspaceHere } from '../input/workspace-here.js';
import { painter, print, printJson } from '../text/output.js';
import type { Run } from '../verb.js';

/** Numbers as people write them; the filter's bytes are for the kernel. */
function readable(key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `0x${value.toString(16)}`;
  if (key === 'mode' && typeof value === 'number') return `0${value.toString(8)}`;
  return key === 'filter' ? `${(value as { data: readonly number[] }).data.length / 8} instructions` : value;
}

/** An operation with its numbers as texts. */
interface ShownOperation {
  readonly do: string;
}

function fieldText(value: unknown): string {
  if (typeof value === 'string') return visible(value);
  if (Array.isArray(value)) return value.map(fieldText).join(' ');
  return visible(JSON.stringify(value));
}

export const run: Run = async (call, host) => {
  const [named] = call.words;
  const agent = call.value('agent') ?? named;
  if (named !== undefined && named !== agent) {
    throw new ErrnoError('EINVAL', {
      operation: 'ctx jail plan',
      reason: `expected one agent, got ${named} and ${agent}`,
      remedy: 'put the command after --: ctx jail plan -- COMMAND',
    });
  }
  const workspace = await workspaceHere(host, { ...optionsOf(call), agent }, call.value('dir'));
  const plan = await workspace.plan(call.command.length === 0 ? undefined : call.command);
  const lines = parsedAs<readonly ShownOperation[]>(JSON.stringify(plan, readable), list(having({ do: text }))) ?? [];
  if (call.flag('json')) {
    printJson({ version: 1, plan: lines });
    return 0;
  }
  const paint = painter(process.stdout);
  for (const { do: name, ...fields } of lines) {
    const rest = Object.entries(fields).map(([key, value]) => `${paint('dim', key)} ${fieldText(value)}`);
    print(`${paint('bold', name.padEnd(18))}${rest.join('  ')}\n`);
  }
  return 0;
};
