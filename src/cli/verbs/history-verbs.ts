/** The verbs of checkpoints and forks. */
import { json, onFork, wait } from '../input/common-options.js';
import type { Verb } from '../verb.js';

const load = async () => import('./history.js');
const loadMount = async () => import('../mounts/fork-mount.js');
const anyNumber = { least: 0, most: Number.POSITIVE_INFINITY, bytes: true };

const rollbackDetails = [
  'Without a CHECKPOINT (a number or a name), undoes the last command that changed anything; PATHs after one: only those.',
  'Your own edits stay. The state before the rollback is kept as a checkpoint too, so a rollback can be undone.',
];

export const historyVerbs: readonly Verb[] = [
  {
    name: 'rollback',
    summary: 'undo the last command, or go back to a checkpoint',
    operands: '[CHECKPOINT] [PATH...]',
    words: anyNumber,
    options: onFork,
    details: rollbackDetails,
    examples: ['ctx rollback', 'ctx rollback 3', 'ctx rollback before-upgrade src/parser.ts'],
    load: async () => (await load()).rollback,
  },
  {
    name: 'checkpoint save',
    summary: 'save a checkpoint of the fork',
    operands: '[NAME]',
    words: { least: 0, most: 1 },
    options: onFork,
    examples: ['ctx checkpoint save before-upgrade'],
    load: async () => (await load()).save,
  },
  {
    name: 'checkpoint list',
    summary: 'list the checkpoints: one before every command, and your own',
    words: 'none',
    options: onFork,
    examples: ['ctx checkpoint list'],
    load: async () => (await load()).list,
  },
  {
    name: 'checkpoint info',
    summary: 'one checkpoint, and what changed since it',
    operands: 'CHECKPOINT',
    words: { least: 1, most: 1 },
    options: onFork,
    examples: ['ctx checkpoint info 3'],
    load: async () => (await load()).info,
  },
  {
    name: 'checkpoint restore',
    summary: 'the same as ctx rollback CHECKPOINT',
    operands: 'CHECKPOINT [PATH...]',
    words: { least: 1, most: Number.POSITIVE_INFINITY, bytes: true },
    options: onFork,
    details: rollbackDetails,
    examples: ['ctx checkpoint restore before-upgrade'],
    load: async () => (await load()).rollback,
  },
  {
    name: 'checkpoint delete',
    summary: 'delete a checkpoint; what only it held is freed',
    operands: 'CHECKPOINT',
    words: { least: 1, most: 1 },
    options: onFork,
    examples: ['ctx checkpoint delete 3'],
    load: async () => (await load()).remove,
  },
  {
    name: 'fork create',
    summary: 'make a fork of this fork, of a checkpoint or of your directory',
    operands: '[NAME]',
    words: { least: 0, most: 1 },
    options: [
      json,
      {
        name: 'from',
        value: 'FORK[@CHECKPOINT]',
        summary: '@CHECKPOINT of the fork in use; or origin, or the vault’s name: your directory',
      },
    ],
    details: ['It costs the same whatever the fork holds, and works while a command is running in it.'],
    examples: ['ctx fork create idea', 'ctx fork create retry --from main@3', 'ctx fork create clean --from origin'],
    load: async () => (await load()).forkCreate,
  },
  {
    name: 'fork list',
    summary: 'the forks of this directory',
    words: 'none',
    options: [json],
    examples: ['ctx fork list'],
    load: async () => (await load()).forkList,
  },
  {
    name: 'fork info',
    summary: 'one fork: where it is from, what it changes',
    operands: '[NAME]',
    words: { least: 0, most: 1 },
    options: [json, wait],
    examples: ['ctx fork info idea'],
    load: async () => (await load()).forkInfo,
  },
  {
    name: 'fork use',
    summary: 'choose the fork that commands here use',
    operands: 'NAME',
    words: { least: 1, most: 1 },
    options: [json],
    examples: ['ctx fork use idea'],
    load: async () => (await load()).forkUse,
  },
  {
    name: 'fork mount',
    summary: 'show a fork at an empty directory of this machine, for an editor',
    operands: 'NAME DIR',
    words: { least: 2, most: 2 },
    options: [
      json,
      {
        name: 'writable',
        summary: 'what you write there is in the fork: ctx diff, ctx apply and ctx rollback know it',
      },
      { name: 'foreground', summary: 'serve it in this process, until it is unmounted or ended' },
    ],
    details: [
      'Nothing is copied. Commands on the fork can run meanwhile and see what you write; what changes the fork as a whole',
      '(apply, rollback, drop) waits for ctx fork unmount. Programs in it cannot be executed, and links cannot lead out.',
    ],
    examples: ['ctx fork mount main ~/review', 'ctx fork mount idea ~/idea --writable'],
    load: async () => (await loadMount()).mount,
  },
  {
    name: 'fork unmount',
    summary: 'unmount a fork; what was written is in the fork when it returns',
    operands: 'DIR',
    words: { least: 1, most: 1 },
    options: [json],
    examples: ['ctx fork unmount ~/review'],
    load: async () => (await import('../mounts/unmount.js')).unmountAt,
  },
  {
    name: 'fork delete',
    summary: 'delete a fork; what other forks need stays',
    operands: 'NAME',
    words: { least: 1, most: 1 },
    options: [json],
    examples: ['ctx fork delete idea'],
    load: async () => (await load()).forkDelete,
  },
];
