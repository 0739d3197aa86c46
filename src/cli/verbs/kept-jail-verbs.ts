/** The verbs of kept jails: one jail that stays for many commands. */

import { stream } from '../exec/exec-shape.js';
import { fork, json } from '../input/common-options.js';
import { keptJailGrants, perCommand } from '../input/kept-jail-grants.js';
import type { Verb } from '../verb.js';
import { approvalVerbs } from './decision-verbs.js';
import { execVerb } from './exec-verb.js';
import { hookVerb } from './hook-verb.js';
import { whyVerb } from './object-verbs.js';

const exec: Verb = {
  name: 'jail exec',
  summary: 'run a command in the kept jail of this directory',
  operands: '-- COMMAND [ARGUMENT...]',
  words: 'command',
  options: [json, stream, ...perCommand, fork],
  examples: ['ctx jail exec -- npm test'],
  load: async () => (await import('../kept-jail/kept-jail.js')).exec,
};

const stop: Verb = {
  name: 'jail stop',
  summary: 'end the kept jail of this directory, and everything that runs in it',
  words: 'none',
  options: [json, fork],
  examples: ['ctx jail stop'],
  load: async () => (await import('../kept-jail/kept-jail.js')).stop,
};

const start: Verb = {
  name: 'jail start',
  summary: 'keep a jail on a fork of this directory, for many commands',
  words: 'none',
  options: [
    json,
    ...keptJailGrants,
    ...perCommand.filter(({ name }) => name === 'env'),
    fork,
    { name: 'idle', value: 'DURATION', summary: 'end after this long without a request (default 1h)' },
    { name: 'foreground', summary: 'keep it in this process, and end with it' },
  ],
  details: [
    'While it runs, `ctx exec` here with the same grants uses its jail: a command costs milliseconds, and what it leaves',
    'in the background keeps running. Between commands the fork is free for `ctx diff`, `rollback` and `apply`. Its',
    'process also answers the hook, `ctx why` and `ctx approvals`, without starting Node. One process keeps all kept jails',
    'of a user; the process number that is printed belongs to this jail alone, and killing it ends no other jail.',
  ],
  examples: ['ctx jail start', 'ctx jail start --net registry.npmjs.org --idle 10m'],
  load: async () =>
    (await import('../kept-jail/kept-jail.js')).start(start, [
      execVerb,
      exec,
      stop,
      hookVerb,
      whyVerb,
      ...approvalVerbs,
    ]),
};

export const keptJailVerbs: readonly Verb[] = [
  start,
  exec,
  {
    name: 'jail list',
    summary: 'list the kept jails',
    words: 'none',
    options: [json],
    examples: ['ctx jail list'],
    load: async () => (await import('../kept-jail/kept-jail.js')).list,
  },
  stop,
  {
    name: 'ps',
    summary: 'list what is running: commands, kept jails, mounts, servers; what each costs, how to end it',
    words: 'none',
    options: [json],
    details: [
      'Of the whole store, oldest first, with all processes of each and their memory. Jails are kept by `ctx jail start`,',
      'by an MCP server and by programs that use the SDK; an idle one does not hold its fork. Of a process that keeps',
      'several, `keeper` in JSON, each has an equal part of the memory.',
    ],
    examples: ['ctx ps', 'ctx ps --json'],
    load: async () => (await import('./ps.js')).run,
  },
];
