/** The verb that the others are about. */

import { fork, json, wait } from './common-options.js';
import { approvalWait, formOptions } from './decision-verbs.js';
import { runOptions } from './jail-verbs.js';
import type { Option, Verb } from './verb.js';

export const stream: Option = {
  name: 'stream',
  summary: 'with --json: output and limits as they come, one event a line',
};

const options: readonly Option[] = [
  json,
  stream,
  ...formOptions,
  ...runOptions,
  fork,
  approvalWait,
  wait,
  { name: 'keep', summary: 'in a session with the same grants, which goes on after it' },
  { name: 'live', summary: 'on the directory itself, as ctx jail run: nothing can be undone' },
];

export const execVerb: Verb = {
  name: 'exec',
  summary: 'run a command in a jail, on a fork of this directory',
  operands: '-- COMMAND [ARGUMENT...]',
  words: 'command',
  options,
  details: [
    'The command sees this directory (or the repository it is in), read-write, as a copy-on-write fork: your own files',
    'stay as they are until `ctx apply`. It sees the system read-only, a private home and /tmp, and the network of --net.',
    "Its exit code is ctx's own; 127 when it is not found, 126 when it cannot be executed.",
  ],
  examples: [
    'ctx exec -- npm test',
    'ctx exec --net registry.npmjs.org -- npm install',
    'ctx exec --timeout 5m --memory 2G --json -- make check',
    'ctx exec --agent coder --read ../api -- node build.js',
  ],
  load:
    async () =>
    async (...asked) => {
      const [call] = asked;
      if (call.flag('live')) return (await import('./jail-run.js')).execLive(...asked);
      if (call.flag('keep')) return (await import('./exec-keep.js')).keep(options)(...asked);
      return (await import('./exec.js')).run(...asked);
    },
};
