/** Every verb of `ctx`. */

import { fork, json, wait } from './input/common-options.js';
import { secretVerbs } from './setup/secret-verbs.js';
import { stopVerbs } from './setup/stop-verbs.js';
import { trustVerb } from './setup/trust-verb.js';
import type { Verb } from './verb.js';
import { auditVerbs } from './verbs/audit-verbs.js';
import { decisionVerbs } from './verbs/decision-verbs.js';
import { execVerb } from './verbs/exec-verb.js';
import { historyVerbs } from './verbs/history-verbs.js';
import { hookVerb } from './verbs/hook-verb.js';
import { jailVerbs } from './verbs/jail-verbs.js';
import { keptJailVerbs } from './verbs/kept-jail-verbs.js';
import { mcpVerb } from './verbs/mcp-verb.js';
import { objectVerbs } from './verbs/object-verbs.js';
import { proxyVerbs } from './verbs/proxy-verbs.js';
import { runVerb } from './verbs/run-verb.js';
import { vaultVerbs } from './verbs/vault-verbs.js';
import { vfsVerbs } from './verbs/vfs-verbs.js';

export const verbs: readonly Verb[] = [
  execVerb,
  {
    name: 'diff',
    summary: 'what the fork changes in this directory',
    operands: '[PATH...]',
    words: { least: 0, most: Number.POSITIVE_INFINITY, bytes: true },
    options: [
      json,
      { name: 'names', summary: 'list the paths, with what happened to each' },
      { name: 'since', value: 'CHECKPOINT', summary: 'only what changed after this checkpoint' },
      { name: 'full', summary: 'every change, and files up to 16 MiB line by line' },
      { name: 'no-pager', summary: 'on a terminal: print all at once, without $PAGER or less' },
      fork,
      wait,
    ],
    details: [
      'A unified diff; through a pipe it is exact, so that `git apply` takes it. PATHs are files or directories here.',
      'Every change has a line; binary and very large files are shown by size and digest. What is left out is counted.',
    ],
    examples: ['ctx diff', 'ctx diff --names', 'ctx diff src README.md'],
    load: async () => (await import('./verbs/diff.js')).run,
  },
  {
    name: 'status',
    summary: 'the workspace, its fork and what is pending',
    words: 'none',
    options: [json, fork, wait],
    examples: ['ctx status'],
    load: async () => (await import('./verbs/status.js')).run,
  },
  {
    name: 'apply',
    summary: "write the fork's changes into this directory",
    operands: '[PATH...]',
    words: { least: 0, most: Number.POSITIVE_INFINITY, bytes: true },
    options: [
      json,
      fork,
      { name: 'to', value: 'DIR', summary: 'write them into another directory instead; the fork keeps its changes' },
      { name: 'undo', summary: 'take back the last apply: your files as they were, the changes pending again' },
      { name: 'dry-run', summary: 'say what would be written, and write nothing' },
      { name: 'allow-sensitive', summary: 'also write files that your programs run or obey' },
      {
        name: 'ours',
        value: 'PATH',
        repeated: true,
        bytes: true,
        summary: 'keep your version of a path that both changed',
      },
      {
        name: 'theirs',
        value: 'PATH',
        repeated: true,
        bytes: true,
        summary: 'take the fork’s version of a path that both changed',
      },
      {
        name: 'conflicts',
        value: 'CHOICE',
        choices: ['refuse', 'ours', 'theirs'],
        summary: 'paths you changed too: refuse all (default), keep yours, or take the fork’s',
      },
      wait,
    ],
    details: [
      'Your own edits are checked first. With a conflict nothing is written unless you choose a side; --ours and --theirs',
      'also cover what is below a PATH, and the longest PATH decides. Sensitive changes (git hooks and configuration, shell,',
      'editor, CI, MCP files, package scripts) stay in the fork until you allow them. --undo takes no option but',
      '--conflicts ours, which keeps what you changed since.',
      'With --to, a path that differs there from your directory is a conflict; what is replaced is not kept for --undo.',
    ],
    examples: ['ctx apply --dry-run', 'ctx apply src', 'ctx apply --conflicts theirs', 'ctx apply --to ../release'],
    load: async () => (await import('./verbs/apply.js')).run,
  },
  {
    name: 'drop',
    summary: "discard the fork's changes, its checkpoints and its home",
    words: 'none',
    options: [json, fork, wait],
    examples: ['ctx drop'],
    load: async () => (await import('./verbs/drop.js')).run,
  },
  ...proxyVerbs,
  ...decisionVerbs,
  trustVerb,
  ...secretVerbs,
  ...historyVerbs,
  ...vaultVerbs,
  ...vfsVerbs,
  runVerb,
  ...keptJailVerbs,
  ...objectVerbs,
  ...auditVerbs,
  ...stopVerbs,
  {
    name: 'doctor',
    summary: 'what this host offers, and the remedy for what it lacks',
    words: 'none',
    options: [json],
    examples: ['ctx doctor'],
    load: async () => (await import('./verbs/doctor.js')).run,
  },
  hookVerb,
  mcpVerb,
  ...jailVerbs,
  {
    name: 'completion',
    summary: 'a completion script for your shell',
    operands: 'bash|zsh|fish',
    words: { least: 1, most: 1 },
    options: [json],
    examples: ['eval "$(ctx completion bash)"', 'ctx completion fish > ~/.config/fish/completions/ctx.fish'],
    load: async () => (await import('./verbs/completion.js')).completion(verbs),
  },
];
