/** What is in the record of a store, of all chains, in the order of time. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Body } from '../../src/audit/format.js';

export function recordsOf(store: string): readonly Body[] {
  const record = join(store, 'record');
  return readdirSync(record, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
    .flatMap((name) => readFileSync(join(record, name), 'utf8').split('\n').slice(0, -1))
    .map((line) => (JSON.parse(line) as [string, Body])[1])
    .sort((a, b) => (a.ts < b.ts ? -1 : a.ts > b.ts ? 1 : 0));
}
