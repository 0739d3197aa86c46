/** `ctx exec` as the command line has it: what it takes and how it is described. What it does is `exec-verb`, or a bundle of its own. */
import { approvalWait, formOptions, runOptions } from '../input/command-options.js';
import { alone, fork, json, wait } from '../input/common-options.js';
import type { Option, Verb } from '../verb.js';

export const stream: Option = {
  name: 'stream',
  summary: 'with --json: output and limits as they come, one event a line',
};

export const execShape: Omit<Verb, 'load'> = {
  name: 'exec',
  summary: 'run a command in a jail, on a fork of this directory',
  operands: '-- COMMAND [ARGUMENT...]',
  words: 'command',
  options: [
    json,
    stream,
    ...formOptions,
    ...runOptions,
    fork,
    approvalWait,
    alone,
    wait,
    { name: 'keep', summary: 'run it in a kept jail with the same grants, which is started if needed' },
    { name: 'live', summary: 'run it on the directory itself, like ctx jail run: nothing can be undone' },
  ],
  details: [
    'The command sees this directory (or the repository it is in), read-write, as a copy-on-write fork: your own files',
    'stay as they are until `ctx apply`. It sees the system read-only, a private home and /tmp, and the network of --net.',
    'Where other commands are at work on the fork it joins them, as in one directory: same files, a jail of its own. Their',
    'ports of localhost are not its own: a server and its clients that speak TCP share them in one kept jail, by --keep.',
    "ctx exits with the command's exit code; 127 when it is not found, 126 when it cannot be executed.",
  ],
  examples: [
    'ctx exec -- npm test',
    'ctx exec --net registry.npmjs.org -- npm install',
    'ctx exec --timeout 5m --memory 2G --json -- make check',
    'ctx exec --mount chunked:notes.ctx=/notes:rw -- sh -c "date >> /notes/log"',
    'ctx exec --agent coder --read ../api -- node build.js',
  ],
};

/** Options by which a call is more than one command on a fork: code that the others do not read. */
export const otherForms = ['live', 'keep'] as const;
