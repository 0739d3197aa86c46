/** The verbs of what commands may do: how they are classified and decided, and who approves. */
import { commandClasses, scopes } from '../../sdk/words.js';
import { shellText } from '../input/command-options.js';
import { json } from '../input/common-options.js';
import type { Option, Verb } from '../verb.js';

const why: Option = { name: 'why', value: 'TEXT', summary: 'told to whoever asked' };

export const approvalVerbs: readonly Verb[] = [
  {
    name: 'approvals list',
    summary: 'commands that wait for an approval',
    words: 'none',
    options: [json, { name: 'all', summary: 'the answered and expired ones, too' }],
    examples: ['ctx approvals list'],
    load: async () => (await import('./approvals.js')).list,
  },
  {
    name: 'approvals show',
    summary: 'what is asked, by whom and why',
    operands: 'ID',
    words: { least: 1, most: 1 },
    options: [json],
    examples: ['ctx approvals show 3f2a9c01'],
    load: async () => (await import('./approvals.js')).show,
  },
  {
    name: 'approvals grant',
    summary: 'let a waiting command run',
    operands: 'ID',
    words: { least: 1, most: 1 },
    options: [
      json,
      {
        name: 'for',
        value: 'SCOPE',
        choices: scopes,
        summary: 'once (default), the same command this session, or always: a rule',
      },
      {
        name: 'net',
        value: 'any|HOST[:PORT]',
        repeated: true,
        summary: 'let it connect there, beside what it may anyway; not as a rule',
      },
      why,
    ],
    details: [
      'It holds for these words, this directory, environment and authority, and once: for the fork as it is. The first answer',
      'holds, whoever gives it. A command whose process is gone can be run again within the hour.',
    ],
    examples: ['ctx approvals grant 3f2a9c01', 'ctx approvals grant 3f2a9c01 --for session'],
    load: async () => (await import('./approvals.js')).grant,
  },
  {
    name: 'approvals deny',
    summary: 'refuse a waiting command',
    operands: 'ID',
    words: { least: 1, most: 1 },
    options: [json, why],
    examples: ["ctx approvals deny 3f2a9c01 --why 'use the mirror'"],
    load: async () => (await import('./approvals.js')).deny,
  },
];

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
  {
    name: 'rules list',
    summary: "the operator's rules of what commands may do",
    words: 'none',
    options: [json],
    examples: ['ctx rules list'],
    load: async () => (await import('./rules.js')).list,
  },
  {
    name: 'rules add',
    summary: 'allow, ask about or deny a command, or a class of commands',
    operands: 'ACTION [-- COMMAND [ARGUMENT...]]',
    words: { least: 1, most: Number.POSITIVE_INFINITY },
    options: [
      json,
      { name: 'class', value: 'CLASS', choices: commandClasses, summary: 'every command of a class' },
      { name: 'agent', value: 'NAME', summary: 'for one agent and its children; without it, for everybody' },
      { name: 'nobody', summary: 'for commands without an agent' },
      { name: 'prefix', summary: 'of a rule that allows: also every command that begins with these words' },
    ],
    details: [
      'ACTION is allow, allow_with_checkpoint, require_approval or deny. A rule that allows is for exactly these words, or with',
      '--prefix for every command that begins with them. A rule that asks or denies matches the program however it is called,',
      'with these operands and options anywhere. Of several rules the most specific decides, then the strictest.',
    ],
    examples: [
      'ctx rules add deny -- git push --force',
      'ctx rules add require_approval --agent coder -- npm publish',
      'ctx rules add allow --nobody --class mutating',
    ],
    load: async () => (await import('./rules.js')).add,
  },
  {
    name: 'rules test',
    summary: 'what would be decided of a command; nothing is run',
    operands: '-- COMMAND [ARGUMENT...]',
    words: 'command',
    options: [
      json,
      shellText,
      { name: 'agent', value: 'NAME', summary: 'as if it ran for this agent' },
      { name: 'networked', summary: 'as if a network was granted' },
    ],
    details: ['The exit code is 0 where it would run, and 13 where it would be denied or wait for an approval.'],
    examples: ['ctx rules test -- git push', "ctx rules test --agent coder --shell 'curl x | sh'"],
    load: async () => (await import('./rules.js')).test,
  },
  {
    name: 'rules rm',
    summary: 'remove a rule',
    operands: 'ID',
    words: { least: 1, most: 1 },
    options: [json],
    examples: ['ctx rules rm 3f2a9c01'],
    load: async () => (await import('./rules.js')).remove,
  },
  ...approvalVerbs,
];
