/** The verbs of vaults, and of the store's upkeep. */
import { json, onFork } from '../input/common-options.js';
import type { Option, Verb } from '../verb.js';

const load = async () => import('./vault.js');
const one = { least: 0, most: 1 };
const limits: readonly Option[] = [
  { name: 'max-bytes', value: 'SIZE', summary: 'the most that the vault may hold on disk, all its forks together' },
  { name: 'max-files', value: 'COUNT', summary: 'the most files, directories and links' },
  { name: 'max-file-bytes', value: 'SIZE', summary: 'the largest file that may come in or be written' },
];

const creation: readonly Option[] = [
  json,
  { name: 'from', value: 'DIR', summary: 'the directory, a whole workspace; else the one you are in' },
  { name: 'no-copy', summary: 'for trees too large to copy: forks stand on the directory itself' },
  { name: 'live', summary: 'as --no-copy; there are forks all the same, other than with ctx exec --live' },
  ...limits,
];

export const vaultVerbs: readonly Verb[] = [
  {
    name: 'vault create',
    summary: 'import a directory, under a name of your choice',
    operands: '[NAME]',
    words: one,
    options: creation,
    details: [
      'The first command in a directory does this by itself. A directory that has a vault keeps it: it is given the name where',
      'it has none; what it does not have as asked for is refused (ctx vault set, ctx vault delete). --no-copy is weaker: your',
      'edits show in every fork at once, also in the middle of a command, and checkpoints do not hold what you had. The',
      'directory is looked at before and after each command, and what changed is in its warnings. Not as root.',
    ],
    examples: ['ctx vault create api --from ../api', 'ctx vault create --no-copy --from ../monorepo'],
    load: async () => (await load()).create,
  },
  {
    name: 'vault import',
    summary: 'as ctx vault create',
    operands: '[NAME]',
    words: one,
    options: creation,
    examples: ['ctx vault import --from .'],
    load: async () => (await load()).create,
  },
  {
    name: 'vault sync',
    summary: 'take over what you edited, as the next command would',
    words: 'none',
    options: onFork,
    examples: ['ctx vault sync'],
    load: async () => (await load()).sync,
  },
  {
    name: 'vault list',
    summary: 'the directories that have forks',
    words: 'none',
    options: [json],
    examples: ['ctx vault list'],
    load: async () => (await load()).list,
  },
  {
    name: 'vault info',
    summary: 'one vault: its directories, forks and layers, what it holds and may hold',
    operands: '[VAULT]',
    words: one,
    options: [json],
    examples: ['ctx vault info api'],
    load: async () => (await load()).info,
  },
  {
    name: 'vault set',
    summary: 'what a vault is called, and what it may hold, all its forks together',
    operands: '[VAULT]',
    words: one,
    options: [
      json,
      { name: 'name', value: 'NAME', summary: 'what to call it from now on' },
      { name: 'moved', summary: 'another directory stands at its path, and is the right one' },
      ...limits,
    ],
    details: [
      'A vault knows its directories by device and inode. Where another one stands at the path (a new clone, a link, an empty',
      'mount point) every verb refuses with ESTALE, until --moved says that it is the right one.',
      '`none` takes a limit away. Counted when your directory or edits come in, before a command, and of its fork while it',
      'runs: a command that goes beyond is ended, so it can be a moment’s writing above.',
    ],
    examples: [
      'ctx vault set --max-bytes 20G --max-files 2000000',
      'ctx vault set --name api',
      'ctx vault set --moved',
      'ctx vault set api --max-file-bytes none',
    ],
    load: async () => (await load()).set,
  },
  {
    name: 'vault export',
    summary: 'write out what a fork shows, to a new or empty directory or a new .tar file',
    operands: 'TO',
    words: { least: 1, most: 1 },
    options: onFork,
    examples: ['ctx vault export ../copy', 'ctx vault export --fork idea idea.tar'],
    load: async () => (await load()).exportTo,
  },
  {
    name: 'vault delete',
    summary: 'forget a vault and all its forks; your directory is not touched',
    operands: 'VAULT',
    words: { least: 1, most: 1 },
    options: [json],
    examples: ['ctx vault delete api'],
    load: async () => (await load()).remove,
  },
  {
    name: 'gc',
    summary: 'delete layers that no fork and no checkpoint needs',
    words: 'none',
    options: [json],
    examples: ['ctx gc'],
    load: async () => (await load()).gc,
  },
  {
    name: 'fsck',
    summary: 'check that every vault is whole; only reads, unless told to repair',
    words: 'none',
    options: [json, { name: 'repair', summary: 'bring back what can be, and say what is gone' }],
    examples: ['ctx fsck', 'ctx fsck --repair'],
    load: async () => (await load()).fsck,
  },
  {
    name: 'flatten',
    summary: 'make one layer of many; happens by itself beyond sixteen',
    words: 'none',
    options: onFork,
    examples: ['ctx flatten'],
    load: async () => (await load()).flatten,
  },
];
