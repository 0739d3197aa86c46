/** The verbs about one jail, and the options of every verb that runs a command in one. */

import { json } from './common-options.js';
import { approvalWait } from './decision-verbs.js';
import { authorityOptions } from './object-verbs.js';
import type { Option, Verb } from './verb.js';

export const runOptions: readonly Option[] = [
  { name: 'timeout', value: 'DURATION', summary: 'end the command after 500ms, 30s, 5m or 1h' },
  {
    name: 'report',
    value: 'WHEN',
    choices: ['auto', 'always', 'never'],
    summary: 'what changed, on stderr; auto (or CTX_REPORT): on a terminal only',
  },
  ...authorityOptions,
  {
    name: 'env',
    value: 'NAME[=VALUE]',
    repeated: true,
    summary: 'a variable for the command; nothing is inherited',
  },
  {
    name: 'net',
    value: 'any|HOST[:PORT]',
    repeated: true,
    summary: 'what it may connect to, through a proxy; else nothing',
  },
  {
    name: 'net-private',
    value: 'HOST:PORT',
    repeated: true,
    summary: 'as --net, for a private or loopback address',
  },
  {
    name: 'secret',
    value: "'HOST HEADER: $NAME'",
    repeated: true,
    summary: 'a header that the proxy adds for a host: the command never holds it',
  },
  { name: 'memory', value: 'SIZE', summary: 'the most memory it and its children may use: 512M, 4G' },
  { name: 'processes', value: 'COUNT', summary: 'the most processes and threads at one time' },
  { name: 'disk', value: 'SIZE', summary: 'the most that the fork and its private home may hold: 512M, 4G' },
  { name: 'files', value: 'COUNT', summary: 'the most files, directories and links in them' },
  { name: 'cpus', value: 'COUNT', summary: 'the most processors, 0.5 is half of one' },
  {
    name: 'weaken',
    value: 'LAYER',
    choices: ['landlock', 'seccomp'],
    repeated: true,
    summary: 'do without a layer this host lacks; recorded',
  },
];

const dir: Option = { name: 'dir', value: 'DIRECTORY', summary: 'there instead of here' };

export const jailVerbs: readonly Verb[] = [
  {
    name: 'jail plan',
    summary: 'every operation a jail here would be made of',
    operands: '[AGENT] [-- COMMAND [ARGUMENT...]]',
    words: { least: 0, most: 1, command: true },
    options: [json, dir, ...authorityOptions],
    details: ['Nothing is made or run: this is the list that the native jail program would execute.'],
    examples: [
      'ctx jail plan -- npm test',
      'ctx jail plan coder --dir ~/src/api',
      'ctx jail plan --agent coder --json',
    ],
    load: async () => (await import('./jail-plan.js')).run,
  },
  {
    name: 'jail run',
    summary: 'run a command in a jail on this directory itself, without a fork',
    operands: '-- COMMAND [ARGUMENT...]',
    words: 'command',
    options: [json, dir, ...runOptions, approvalWait],
    details: [
      'As `ctx exec`, with the same surface and the same jail, but what it writes here is written: there is no fork, so',
      'nothing is listed and nothing can be undone. The report says so, and so does the record. What --write names is',
      'written directly, too; --disk and --files are limits of a fork, and are refused.',
    ],
    examples: ['ctx jail run -- make', 'ctx jail run --dir /srv/site --net registry.npmjs.org -- npm ci'],
    load: async () => (await import('./jail-run.js')).run,
  },
];
