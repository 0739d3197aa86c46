/**
 * Lines of everyday work, and lines that reach for the host, each with what the classifier has to say of it. A denial by words is for
 * what could matter if the jail did not hold: no harmless line is refused, and every alarm is.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { anyPublicNetwork } from '../../authority/network.js';
import { classesOf, classNames } from '../../shell/classes.js';
import { classify } from '../../shell/classify.js';
import { decide } from './decision.js';

const file = new URL('../../../../../test/vectors/everyday-commands.txt', import.meta.url);

interface Line {
  readonly section: string;
  readonly classes: readonly string[];
  readonly text: string;
}

function read(): readonly Line[] {
  let section = '';
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line) => {
      if (line.startsWith('## ')) section = line.slice(3);
      const match = /^([rmdnhi]+) {2}(.*)$/.exec(line);
      if (match?.[1] === undefined || match[2] === undefined) return [];
      return [{ section, classes: classNames(classesOf(match[1])), text: match[2].replaceAll('␤', '\n') }];
    });
}

const lines = read();

describe('lines of everyday work', () => {
  it('are several hundred, harmless ones and alarms', () => {
    for (const [start, count] of [
      ['harmless', 550],
      ['alarms', 150],
    ] as const) {
      const found = lines.filter(({ section }) => section.startsWith(start)).length;
      assert.ok(found >= count, `${found} ${start}`);
    }
  });

  for (const section of new Set(lines.map((line) => line.section))) {
    it(`are judged as written: ${section}`, async () => {
      const wrong: string[] = [];
      for (const { classes, text, section: at } of lines) {
        if (at !== section) continue;
        const classification = await classify({ text });
        if (classification.classes.join() !== classes.join()) {
          wrong.push(`${text}: expected ${classes}, got ${classification.classes}`);
        }
        for (const agents of [[], ['builder']]) {
          const { action, reason } = decide({ classification, agents, network: anyPublicNetwork, rules: [] });
          const refused = action === 'deny';
          if (refused !== section.startsWith('alarms')) wrong.push(`${text}: ${action} for ${agents}: ${reason}`);
        }
      }
      assert.deepEqual(wrong, []);
    });
  }
});
