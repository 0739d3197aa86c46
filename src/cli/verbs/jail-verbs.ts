/** The verbs about one jail. */

import { approvalWait, authorityOptions, runOptions } from '../input/command-options.js';
import { json } from '../input/common-options.js';
import type { Option, Verb } from '../verb.js';

const dir: Option = { name: 'dir', value: 'DIRECTORY', summary: 'the directory to use instead of this one' };

export const jailVerbs: readonly Verb[] = [
  {
    name: 'jail plan',
    summary: 'list every operation that would make a jail here',
    operands: '[AGENT] [-- COMMAND [ARGUMENT...]]',
    words: { least: 0, most: 1, command: true },
    options: [json, dir, ...authorityOptions],
    details: ['Nothing is made or run: this is the list that the native jail program would execute.'],
    examples: [
      'ctx jail plan -- npm test',
      'ctx jail plan coder --dir ~/src/api',
      'ctx jail plan --agent coder --json',
    ],
    load: async () => (await import('../exec/jail-plan.js')).run,
  },
  {
    name: 'jail run',
    summary: 'run a command in a jail on this directory itself, without a fork',
    operands: '-- COMMAND [ARGUMENT...]',
    words: 'command',
    options: [json, dir, ...runOptions, approvalWait],
    details: [
      'Like `ctx exec`, with the same surface and the same jail, but it writes to the directory itself: there is no fork,',
      'so changes are not listed and cannot be undone. The report and the record say so. What --write names is written',
      'directly, too; --disk and --files are limits of a fork, and are refused.',
    ],
    examples: ['ctx jail run -- make', 'ctx jail run --dir /srv/site --net registry.npmjs.org -- npm ci'],
    load: async () => (await import('../exec/jail-run.js')).run,
  },
];
