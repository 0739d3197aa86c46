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
  { name: 'no-copy', summary: 'for trees too large to copy: forks are layers over the directory itself' },
  { name: 'live', summary: 'the same as --no-copy; unlike with ctx exec --live, changes stay in forks' },
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
      'The first command in a directory does this by itself. If the directory has a vault already, that one is kept, and',
      'gets the name if it has none; other differences are refused (ctx vault set, ctx vault delete). --no-copy is weaker:',
      'your edits show in every fork at once, even in the middle of a command, and checkpoints do not hold what you had.',
      'The directory is compared before and after each command, and its changes are reported as warnings. Not for root.',
    ],
    examples: ['ctx vault create api --from ../api', 'ctx vault create --no-copy --from ../monorepo'],
    load: async () => (await load()).create,
  },
  {
    name: 'vault import',
    summary: 'the same as ctx vault create',
    operands: '[NAME]',
    words: one,
    options: creation,
    examples: ['ctx vault import --from .'],
    load: async () => (await load()).create,
  },
  {
    name: 'vault sync',
    summary: 'pick up your edits, as the next command would',
    words: 'none',
    options: onFork,
    examples: ['ctx vault sync'],
    load: async () => (await load()).sync,
  },
  {
    name: 'vault list',
    summary: 'list the directories that have forks',
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
    summary: 'set the name of a vault, and the limits of all its forks together',
    operands: '[VAULT]',
    words: one,
    options: [
      json,
      { name: 'name', value: 'NAME', summary: 'what to call it from now on' },
      { name: 'moved', summary: 'accept the directory that is now at its path' },
      ...limits,
    ],
    details: [
      'A vault knows its directories by device and inode. If another directory is at the path (a new clone, a link, an empty',
      'mount point), every verb refuses with ESTALE until --moved accepts it.',
      '`none` removes a limit. Limits are checked when your directory or edits are imported, before a command and while it',
      'runs: a command that exceeds one is ended, so usage can be above the limit for a short time.',
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
    summary: 'delete a vault and all its forks; your directory is not touched',
    operands: 'VAULT',
    words: { least: 1, most: 1 },
    options: [json],
    examples: ['ctx vault delete api'],
    load: async () => (await load()).remove,
  },
  {
    name: 'vault migrate',
    summary: 'show the format of the store; --undo takes a migration from an older one back',
    words: 'none',
    options: [json, { name: 'undo', summary: 'make it a store of the older format again, if no command has used it' }],
    details: [
      'The first verb that opens a store of an older format migrates it: directories are renamed, nothing is copied. A',
      'migration that was cut off is finished by the next verb. It can be undone until a command runs or a verb changes a',
      'fork; ctx status, ctx diff, ctx fsck and ctx doctor only look. A store of a newer format is refused.',
    ],
    examples: ['ctx vault migrate', 'ctx vault migrate --undo'],
    load: async () => (await load()).migrate,
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
    summary: 'check that every vault is whole; reads only, without --repair',
    words: 'none',
    options: [json, { name: 'repair', summary: 'repair what can be repaired, and say what is lost' }],
    examples: ['ctx fsck', 'ctx fsck --repair'],
    load: async () => (await load()).fsck,
  },
  {
    name: 'flatten',
    summary: 'merge the layers of the fork into one; done automatically beyond sixteen',
    words: 'none',
    options: onFork,
    examples: ['ctx flatten'],
    load: async () => (await load()).flatten,
  },
];
