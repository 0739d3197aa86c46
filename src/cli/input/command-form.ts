/** The command that a verb is given, in one of two forms. */
import { ErrnoError } from '../../base/errno.js';
import type { CommandForm } from '../../sdk/classify.js';
import type { Arguments } from '../verb.js';

/** The command that a verb is given: its words, or `--shell`. */
export function commandForm(call: Arguments, verb: string): CommandForm {
  const text = call.value('shell');
  if ((text === undefined) === (call.words.length === 0)) {
    throw new ErrnoError('EINVAL', {
      operation: `ctx ${verb}`,
      reason: 'expected a command, or --shell TEXT, and not both',
      remedy: `ctx ${verb} --help shows the usage`,
    });
  }
  return text === undefined ? { argv: call.words } : { text };
}
