/**
 * Lines of everyday work, and lines that reach for the host, each with what the classifier has to say of it. A denial by words is for
 * what could matter if the jail did not hold: no harmless line is refused, and every alarm is.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { judgedCommands } from '../../../test/support/judged-commands.js';
import { anyPublicNetwork } from '../../authority/network.js';
import { classify } from '../../shell/classify.js';
import { decide } from './decision.js';

const lines = judgedCommands('everyday-commands.txt');

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
