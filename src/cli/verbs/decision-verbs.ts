/** The verbs of what commands may do: how they are classified and decided, and who approves. */
import { commandClasses, scopes } from '../../sdk/words.js';
import { shellText } from '../input/command-options.js';
import { json } from '../input/common-options.js';
import type { Option, Verb } from '../verb.js';

const why: Option = { name: 'why', value: 'TEXT', summary: 'a reason, shown to the asker' };

export const approvalVerbs: readonly Verb[] = [
  {
    name: 'approvals list',
    summary: 'commands that wait for an approval',
    words: 'none',
    options: [json, { name: 'all', summary: 'include answered and expired ones' }],
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
        summary: 'once (default); session: the same command until the asker ends; rule: always',
      },
      {
        name: 'net',
        value: 'any|HOST[:PORT]',
        repeated: true,
        summary: 'also let it connect there; not with --for rule',
      },
      why,
    ],
    details: [
      'The approval covers exactly this command, directory, environment and authority; once, also the fork as it is now.',
      'Of several answers the first one counts.',
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
    summary: 'classify a command by its words',
    operands: '-- COMMAND [ARGUMENT...]',
    words: 'command',
    options: [json, shellText],
    details: [
      'read_only, interactive, mutating, destructive, networked, host_escape_risk: what is found anywhere in the command, with',
      'the reason. Nothing is run. It is an estimate: what a program really does is limited by the jail.',
    ],
    examples: ['ctx classify -- git push --force', 'ctx classify --shell \'find . -name "*.o" | xargs rm\''],
    load: async () => (await import('./classify.js')).run,
  },
  {
    name: 'rules list',
    summary: "list the operator's rules about commands",
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
      { name: 'agent', value: 'NAME', summary: 'for one agent and its children; without it, for all' },
      { name: 'no-agent', summary: 'for commands without an agent' },
      { name: 'prefix', summary: 'with an allow rule: cover every command that begins with these words' },
    ],
    details: [
      'ACTION is allow, allow_with_checkpoint, require_approval or deny. An allow rule covers exactly these words, or with',
      '--prefix every command that begins with them. A rule that asks or denies matches the program however it is called,',
      'with these operands and options anywhere. If several rules match, the most specific decides, then the strictest.',
    ],
    examples: [
      'ctx rules add deny -- git push --force',
      'ctx rules add require_approval --agent coder -- npm publish',
      'ctx rules add allow --no-agent --class mutating',
    ],
    load: async () => (await import('./rules.js')).add,
  },
  {
    name: 'rules test',
    summary: 'show what would be decided about a command; nothing is run',
    operands: '-- COMMAND [ARGUMENT...]',
    words: 'command',
    options: [
      json,
      shellText,
      { name: 'agent', value: 'NAME', summary: 'as if it ran for this agent' },
      { name: 'networked', summary: 'as if a network was granted' },
    ],
    details: ['The exit code is 0 if it would run, and 13 if it would be denied or wait for an approval.'],
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
