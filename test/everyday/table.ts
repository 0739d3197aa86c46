/** The table of docs/differences.md: which flow differs on purpose, for whom, in what, and why. */
import { readFileSync } from 'node:fs';
import { type Aspect, aspects } from './flow.js';

export interface Listed {
  readonly flow: string;
  readonly who: 'root' | 'an unprivileged user' | 'both';
  readonly in: readonly Aspect[];
  readonly reason: string;
}

const file = new URL('../../../../docs/differences.md', import.meta.url);
const people = ['root', 'an unprivileged user', 'both'] as const;

function isAspect(text: string): text is Aspect {
  return aspects.some((known) => known === text);
}

/** Throws where a row is not as the table says rows are: a difference that is not read is one that no one sees. */
export function listedDifferences(text: string = readFileSync(file, 'utf8')): readonly Listed[] {
  const rows = text.split('\n').filter((line) => line.startsWith('| `'));
  return rows.map((row) => {
    const [, flow = '', who = '', aspectText = '', reason = ''] = row.split('|').map((cell) => cell.trim());
    const names = aspectText.split(/,\s*/);
    const person = people.find((known) => known === who);
    if (person === undefined || reason === '' || !names.every(isAspect)) {
      throw new Error(
        `docs/differences.md: expected | \`flow\` | ${people.join(' or ')} | aspects | reason |, got ${row}`,
      );
    }
    return { flow: flow.replaceAll('`', ''), who: person, in: names.filter(isAspect), reason };
  });
}
