/** The verb for whole harnesses. */

import { approvalWait, runOptions } from '../input/command-options.js';
import { fork, json, wait } from '../input/common-options.js';
import type { Verb } from '../verb.js';

export const runVerb: Verb = {
  name: 'run',
  summary: 'run a whole harness, or a shell, in one jail on one fork',
  operands: 'PROFILE|COMMAND [ARGUMENT...]',
  words: 'command',
  options: [
    json,
    { name: 'list', summary: 'the profiles: what each is given, and why' },
    { name: 'credentials', summary: 'give it your sign-in too: what --list marks as secret' },
    { name: 'key-outside', summary: 'your key is added outside, by the proxy: it uses the key and never holds it' },
    { name: 'fresh', summary: "start with a new home; delete what the profile's home held" },
    ...runOptions,
    fork,
    approvalWait,
    wait,
  ],
  details: [
    'claude, codex, gemini, opencode and shell are profiles: hosts, files and variables that the program needs, and a home',
    'of its own that stays from run to run. Any other word is a plain command. profiles.toml in the configuration',
    'directory changes them. When it ends, what changed is shown, with the commands that keep or drop it.',
  ],
  examples: [
    'ctx run claude',
    'ctx run --key-outside claude',
    'ctx run --credentials codex',
    'ctx run shell',
    'ctx run vim notes.md',
    'ctx run --list',
  ],
  load: async () => (await import('../exec/run.js')).run,
};
