/** `ctx exec`, as the table of verbs has it. */

import { execShape } from '../exec/exec-shape.js';
import type { Verb } from '../verb.js';

export const execVerb: Verb = {
  ...execShape,
  load: async (call) => {
    if (call.flag('live')) return (await import('../exec/jail-run.js')).execLive;
    if (call.flag('keep')) return (await import('../kept-jail/exec-keep.js')).keep(execShape.options);
    return (await import('../exec/exec.js')).run;
  },
};
