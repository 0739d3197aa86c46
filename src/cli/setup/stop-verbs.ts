/** The verbs that end what goes on running. */
import { json } from '../input/common-options.js';
import type { Verb } from '../verb.js';

export const stopVerbs: readonly Verb[] = [
  {
    name: 'stop',
    summary: 'end what is running: kept jails, commands, mounts, MCP servers, keepers',
    operands: '[PID...]',
    words: { least: 0, most: Number.POSITIVE_INFINITY },
    options: [json, { name: 'all', summary: 'everything that ctx ps lists' }],
    details: [
      'Jails and mounts are ended in good order; other processes get SIGTERM and after four seconds SIGKILL, with all',
      'that runs in their jails. What a fork holds stays.',
    ],
    examples: ['ctx stop --all', 'ctx stop 4711'],
    load: async () => (await import('./stop.js')).run,
  },
  {
    name: 'uninstall',
    summary: 'end everything, and say what stays and how to remove the program',
    words: 'none',
    options: [json],
    details: ['Nothing is deleted: your forks, the record and your secrets are in the store until you delete it.'],
    examples: ['ctx uninstall'],
    load: async () => (await import('./stop.js')).uninstall,
  },
];
