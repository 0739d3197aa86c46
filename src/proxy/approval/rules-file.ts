/** The operator's rules on disk: one file beside the agents, in no jail. Read for every command; there mostly is none. */

import { closeSync, openSync } from 'node:fs';
import { basename, join } from 'node:path';
import { readJsonFile, removeLeftDrafts, writeFileAtomic } from '../../base/atomic-file.js';
import { loadFileLock } from '../../base/file-lock.js';
import { rulesLockMilliseconds } from '../../base/limits/decisions.js';
import { parseJson } from '../../base/shape.js';
import { makeObjectRoot } from '../../vault/store/store-place.js';
import type { Host } from '../host.js';
import { parseRules, printRules, type Rule } from './decision-rule.js';

function rulesFile({ root }: Pick<Host, 'root'>): string {
  return join(root, 'rules.json');
}

export function readRules(host: Pick<Host, 'root'>): readonly Rule[] {
  const file = rulesFile(host);
  const found = readJsonFile(file);
  return found === undefined ? [] : parseRules(found, file);
}

/** One at a time reads what is there and writes what is to be: else of two changes at once the first is lost. */
function changeRules(
  host: Pick<Host, 'root' | 'lockLibrary'>,
  change: (rules: readonly Rule[]) => readonly Rule[],
): void {
  const file = rulesFile(host);
  makeObjectRoot(host.root);
  const path = join(host.root, 'rules.lock');
  const descriptor = openSync(path, 'a', 0o600);
  try {
    loadFileLock(host.lockLibrary, rulesLockMilliseconds, 'rules').hold(descriptor, path);
    const before = readRules(host);
    const after = change(before);
    if (after === before) return;
    const text = printRules(after);
    // What cannot be read back would refuse every command from here on.
    parseRules(parseJson(text), file);
    removeLeftDrafts(host.root, (each) => each === basename(file));
    writeFileAtomic(file, text, { durable: true });
  } finally {
    closeSync(descriptor);
  }
}

/** The rule is in the file when this returns; the same rule twice is one. */
export function addRule(host: Pick<Host, 'root' | 'lockLibrary'>, rule: Rule): void {
  changeRules(host, (rules) => (rules.some(({ id }) => id === rule.id) ? rules : [...rules, rule]));
}

/** False where there is no such rule. */
export function removeRule(host: Pick<Host, 'root' | 'lockLibrary'>, id: string): boolean {
  let found = false;
  changeRules(host, (rules) => {
    const left = rules.filter((rule) => rule.id !== id);
    found = left.length < rules.length;
    return found ? left : rules;
  });
  return found;
}
