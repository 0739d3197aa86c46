/** The verbs of vaults, and of the store's upkeep. */
import { json } from './object-verbs.js';
import type { Option, Verb } from './verb.js';

const wait: Option = { name: 'wait', summary: 'wait while another command uses the fork, instead of refusing' };
const fork: Option = { name: 'fork', value: 'NAME', summary: 'a fork of this directory; else the one in use' };
const load = async () => import('./vault.js');
const one = { least: 0, most: 1 };

export const vaultVerbs: readonly Verb[] = [
  {
    name: 'vault create',
    summary: 'import a directory, under a name of your choice',
    operands: '[NAME]',
    words: one,
    options: [json, { name: 'from', value: 'DIR', summary: 'the directory; else this one' }],
    details: ['The first command in a directory does this by itself.'],
    examples: ['ctx vault create api --from ../api'],
    load: async () => (await load()).create,
  },
  {
    name: 'vault import',
    summary: 'as ctx vault create',
    operands: '[NAME]',
    words: one,
    options: [json, { name: 'from', value: 'DIR', summary: 'the directory; else this one' }],
    examples: ['ctx vault import --from .'],
    load: async () => (await load()).create,
  },
  {
    name: 'vault sync',
    summary: 'take over what you edited, as the next command would',
    words: 'none',
    options: [json, fork, wait],
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
    summary: 'one vault: its directories, forks and layers',
    operands: '[VAULT]',
    words: one,
    options: [json],
    examples: ['ctx vault info api'],
    load: async () => (await load()).info,
  },
  {
    name: 'vault export',
    summary: 'write out what a fork shows, to a new directory or a .tar file',
    operands: 'TO',
    words: { least: 1, most: 1 },
    options: [json, fork, wait],
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
    summary: 'whether every vault is whole; only reads',
    words: 'none',
    options: [json],
    examples: ['ctx fsck'],
    load: async () => (await load()).fsck,
  },
  {
    name: 'flatten',
    summary: 'make one layer of many; happens by itself beyond sixteen',
    words: 'none',
    options: [json, fork, wait],
    examples: ['ctx flatten'],
    load: async () => (await load()).flatten,
  },
];
