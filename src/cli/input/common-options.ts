/** Options that many verbs share, each in the same words. */
import type { Option } from '../verb.js';

export const json: Option = { name: 'json', summary: 'print JSON for machines' };
export const fork: Option = { name: 'fork', value: 'NAME', summary: 'the fork to use, by name; else the one in use' };
export const wait: Option = { name: 'wait', summary: 'wait until no other command uses the fork, instead of refusing' };
export const alone: Option = {
  name: 'alone',
  summary: 'run only if no other command uses the fork (or --wait for that); pick up no edits',
};

/** Of every verb that works on one fork. */
export const onFork: readonly Option[] = [json, fork, wait];
