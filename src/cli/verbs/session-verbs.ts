/** The verbs of sessions: a jail that is kept for many commands. */

import { stream } from '../exec/exec-shape.js';
import { fork, json } from '../input/common-options.js';
import { perCommand, sessionGrants } from '../input/session-grants.js';
import type { Verb } from '../verb.js';
import { approvalVerbs } from './decision-verbs.js';
import { execVerb } from './exec-verb.js';
import { hookVerb } from './hook-verb.js';
import { whyVerb } from './object-verbs.js';

const exec: Verb = {
  name: 'session exec',
  summary: 'run a command in the session of this directory',
  operands: '-- COMMAND [ARGUMENT...]',
  words: 'command',
  options: [json, stream, ...perCommand, fork],
  examples: ['ctx session exec -- npm test'],
  load: async () => (await import('../session/session.js')).exec,
};

const stop: Verb = {
  name: 'session stop',
  summary: 'end the session of this directory, and everything that runs in it',
  words: 'none',
  options: [json, fork],
  examples: ['ctx session stop'],
  load: async () => (await import('../session/session.js')).stop,
};

export const sessionVerbs: readonly Verb[] = [
  {
    name: 'session start',
    summary: 'keep a jail on a fork of this directory, for many commands',
    words: 'none',
    options: [
      json,
      ...sessionGrants,
      ...perCommand.filter(({ name }) => name === 'env'),
      fork,
      { name: 'idle', value: 'DURATION', summary: 'end when nobody asked anything for so long; 1h without it' },
      { name: 'foreground', summary: 'stay, and end with this process' },
    ],
    details: [
      'While it lives, `ctx exec` here with the same grants runs in its jail: a command costs milliseconds, and what it',
      'leaves in the background goes on. Between commands the fork is free for `ctx diff`, `rollback` and `apply`. The hook,',
      '`ctx why` and `ctx approvals` are answered by its process too, with no start of Node.',
    ],
    examples: ['ctx session start', 'ctx session start --net registry.npmjs.org --idle 10m'],
    load: async () =>
      (await import('../session/session.js')).start([execVerb, exec, stop, hookVerb, whyVerb, ...approvalVerbs]),
  },
  exec,
  {
    name: 'session list',
    summary: 'the sessions that live',
    words: 'none',
    options: [json],
    examples: ['ctx session list'],
    load: async () => (await import('../session/session.js')).list,
  },
  stop,
  {
    name: 'ps',
    summary: 'what goes on running: commands, kept jails, background deletion; and how to end each',
    words: 'none',
    options: [json],
    details: [
      'Of the whole store, oldest first, with all processes of each and their memory. A kept jail is one of ctx session, of',
      'an MCP server or of a program that uses the SDK; idle ones hold no fork.',
    ],
    examples: ['ctx ps', 'ctx ps --json'],
    load: async () => (await import('./ps.js')).run,
  },
];
