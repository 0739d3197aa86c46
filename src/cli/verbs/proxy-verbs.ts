/** The verbs around a command: making its fork ready, and looking at what a run did. */

import { authorityOptions } from '../input/command-options.js';
import { fork, json, wait } from '../input/common-options.js';
import type { Verb } from '../verb.js';

export const proxyVerbs: readonly Verb[] = [
  {
    name: 'prepare',
    summary: 'make the fork of this directory ready, without a command',
    words: 'none',
    options: [json, ...authorityOptions, fork, wait],
    details: [
      'Imports the directory and what --write adds, and takes over your edits: the next command starts at once.',
    ],
    examples: ['ctx prepare', 'ctx prepare --write ../api'],
    load: async () => (await import('./inspect.js')).prepare,
  },
  {
    name: 'inspect',
    summary: 'what a run did: its command, decision, changes and end',
    operands: '[RUN|FORK]',
    words: { least: 0, most: 1 },
    options: [json],
    details: [
      'From the record. Without an operand the last run here, or what was denied since; with a FORK all of its runs.',
    ],
    examples: ['ctx inspect', 'ctx inspect main', 'ctx inspect main --json'],
    load: async () => (await import('./inspect.js')).inspect,
  },
];
