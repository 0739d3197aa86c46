/** The classifier against the commands that were judged by hand before it was written. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { judgedCommands } from '../../test/support/judged-commands.js';
import { classify } from './classify.js';
import { plainWordsOf } from './reader.js';

const corpus = judgedCommands('commands.txt');

describe('what a careful operator said', () => {
  it('is a corpus of about a thousand commands', () => {
    assert.ok(corpus.length > 900, String(corpus.length));
  });

  for (const section of new Set(corpus.map((entry) => entry.section))) {
    it(`is said of ${section}`, async () => {
      const differ: string[] = [];
      for (const { classes: expected, text, section: at } of corpus) {
        if (at !== section) continue;
        const { classes, reading } = await classify({ text });
        if (classes.join() !== expected.join()) {
          differ.push(
            `${JSON.stringify(text)}: expected ${expected}, got ${classes} (${reading.parts.map(({ why }) => why)})`,
          );
        }
      }
      assert.deepEqual(differ, []);
    });
  }

  it('is that no shell takes a NUL', async () => {
    for (const text of ['ls\0', 'ls a\0rm b', "sh -c 'ls\0'"]) {
      assert.deepEqual((await classify({ text })).classes, ['host_escape_risk'], JSON.stringify(text));
    }
  });

  it('is said of an argument vector and of the same as text', async () => {
    let compared = 0;
    for (const { text } of corpus) {
      const argv = plainWordsOf(text);
      if (argv === undefined) continue;
      compared += 1;
      const parsed = await classify({ text: `${text} ;` });
      assert.deepEqual((await classify({ argv })).classes, parsed.classes, text);
    }
    assert.ok(compared > 500, String(compared));
  });
});
