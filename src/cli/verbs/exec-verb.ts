/** `ctx exec`, as the table of verbs has it. */

import { execShape } from '../exec/exec-shape.js';
import type { Verb } from '../verb.js';

export const execVerb: Verb = {
  ...execShape,
  load:
    async () =>
    async (...asked) => {
      const [call] = asked;
      if (call.flag('live')) return (await import('../exec/jail-run.js')).execLive(...asked);
      if (call.flag('keep')) return (await import('../kept-jail/exec-keep.js')).keep(execShape.options)(...asked);
      return (await import('../exec/exec.js')).run(...asked);
    },
};
