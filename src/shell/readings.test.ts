/**
 * What is found in each command of the corpus, part by part: which command it is, what words a rule would be compared with, and whether
 * it can be read at all. The classes of the whole (classify.test.ts) can be right for a wrong reason. CTX_WRITE_VECTORS=1 writes what the
 * code says now, to be read before it is committed.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { judgedCommands } from '../../test/support/judged-commands.js';
import { classNames } from './classes.js';
import { classify } from './classify.js';
import type { Reading } from './reading.js';

const file = new URL('../../../../test/vectors/readings.txt', import.meta.url);

function letters({ classes, readable }: Reading): string {
  const named = classNames(classes).map((name) => name.charAt(0));
  return `${named.join('')}${readable ? '' : '!'}`;
}

function quoted(word: string): string {
  return /^[\w./:=@%+,{}$*-]+$/.test(word) ? word : JSON.stringify(word);
}

/** `LETTERS word word [part; part]`; ! where it cannot be read, + where its first operand says what it is to do. */
function shown(reading: Reading): string {
  const { words, parts, hasSubcommands } = reading;
  const own = [`${letters(reading)}${hasSubcommands === true ? '+' : ''}`, ...words.map(quoted)].join(' ');
  return parts.length === 0 ? own : `${own} [${parts.map(shown).join('; ')}]`;
}

describe('every command of the corpus', () => {
  it('is taken apart as was read and agreed to', async () => {
    const lines: string[] = [];
    for (const { text } of judgedCommands('commands.txt')) {
      const { reading } = await classify({ text });
      lines.push(`${JSON.stringify(text)}  ${shown(reading)}`);
    }
    if (process.env['CTX_WRITE_VECTORS'] === '1') writeFileSync(file, `${lines.join('\n')}\n`);
    const agreed = readFileSync(file, 'utf8').trimEnd().split('\n');
    const known = new Set(agreed);
    assert.deepEqual(
      lines.filter((line) => !known.has(line)),
      [],
    );
    assert.equal(lines.length, agreed.length);
  });
});
