/** Options that many verbs share, each in the same words. */
import type { Option } from '../verb.js';

export const json: Option = { name: 'json', summary: 'print JSON for machines' };
export const fork: Option = { name: 'fork', value: 'NAME', summary: 'a fork of this directory; else the one in use' };
export const wait: Option = { name: 'wait', summary: 'wait until no other command uses the fork, instead of refusing' };
export const alone: Option = {
  name: 'alone',
  summary: 'run beside no other command, and take in no edits; with --wait, wait for that',
};

/** Of every verb that works on one fork. */
export const onFork: readonly Option[] = [json, fork, wait];
