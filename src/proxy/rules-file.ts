/** The operator's rules on disk: one file beside the agents, in no jail. Read for every command; there mostly is none. */
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readJsonFile, writeFileAtomic } from '../base/atomic-file.js';
import { parseRules, printRules, type Rule } from './decision-rule.js';
import type { Host } from './host.js';

function rulesFile({ root }: Pick<Host, 'root'>): string {
  return join(root, 'rules.json');
}

export function readRules(host: Pick<Host, 'root'>): readonly Rule[] {
  const file = rulesFile(host);
  const found = readJsonFile(file);
  return found === undefined ? [] : parseRules(found, file);
}

/** The rule is in the file when this returns; the same rule twice is one. */
export function addRule(host: Pick<Host, 'root'>, rule: Rule): void {
  const rules = readRules(host);
  if (rules.some(({ id }) => id === rule.id)) return;
  const file = rulesFile(host);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileAtomic(file, printRules([...rules, rule]), { durable: true });
}

/** False where there is no such rule. */
export function removeRule(host: Pick<Host, 'root'>, id: string): boolean {
  const rules = readRules(host);
  const left = rules.filter((rule) => rule.id !== id);
  if (left.length === rules.length) return false;
  writeFileAtomic(rulesFile(host), printRules(left), { durable: true });
  return true;
}
