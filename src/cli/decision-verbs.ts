/** The verbs of what commands may do: how they are classified and decided, and who approves. */
import { json } from './object-verbs.js';
import type { Option, Verb } from './verb.js';

export const shellText: Option = {
  name: 'shell',
  value: 'TEXT',
  summary: 'a text for the shell, instead of a command and its arguments',
};

export const decisionVerbs: readonly Verb[] = [
  {
    name: 'classify',
    summary: 'what a command may do, judged by its words',
    operands: '-- COMMAND [ARGUMENT...]',
    words: 'command',
    options: [json, shellText],
    details: [
      'read_only, interactive, mutating, destructive, networked, host_escape_risk: what is found anywhere in the command, with',
      'the reason. Nothing is run. It is a coarse look: what a program does once it runs is held by the jail.',
    ],
    examples: ['ctx classify -- git push --force', 'ctx classify --shell \'find . -name "*.o" | xargs rm\''],
    load: async () => (await import('./classify.js')).run,
  },
];
