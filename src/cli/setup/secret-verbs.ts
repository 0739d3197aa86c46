/** The verbs of secrets that the network proxy adds to requests. */
import { json } from '../input/common-options.js';
import type { Verb } from '../verb.js';

export const secretVerbs: readonly Verb[] = [
  {
    name: 'secret set',
    summary: 'store a secret for --secret, or replace it',
    operands: 'NAME',
    words: { least: 1, most: 1 },
    options: [
      json,
      { name: 'command', value: 'COMMAND', summary: "a shell command that prints it, such as your password manager's" },
    ],
    details: [
      'The value is read from stdin, or typed at the terminal without being shown; it is one line. It is stored with mode',
      '0600 in the store, which no jail shows. `--secret` looks for $NAME among your variables first, then here. A new value',
      'counts from the next request on, also in kept jails; what a command prints is used for a minute.',
    ],
    examples: ['ctx secret set GITHUB_TOKEN', "ctx secret set NPM_TOKEN --command 'pass show npm'"],
    load: async () => (await import('./secret.js')).set,
  },
  {
    name: 'secret list',
    summary: 'the names of stored secrets; never their values',
    words: 'none',
    options: [json],
    examples: ['ctx secret list'],
    load: async () => (await import('./secret.js')).list,
  },
  {
    name: 'secret rm',
    summary: 'delete a stored secret',
    operands: 'NAME',
    words: { least: 1, most: 1 },
    options: [json],
    details: ['Jails that use it get an error for their next request that needs it.'],
    examples: ['ctx secret rm GITHUB_TOKEN'],
    load: async () => (await import('./secret.js')).remove,
  },
];
