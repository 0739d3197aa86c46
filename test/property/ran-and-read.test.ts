/**
 * What ran was read: odd lines of shell text, drawn at random (ran-and-read/lines), are run by bash and dash where every program only
 * notes that it ran. Where the classifier says that it can read the line, a rule that denies what ran denies the line, and the line is
 * no safer than what ran; a line that only looks makes no file.
 *
 * `npm test` draws the same few each time. CTX_SOAK=1 draws others, which CTX_TEST_SEED repeats, for long.
 */
import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { decide } from '../../src/proxy/approval/decision.js';
import { makeRule } from '../../src/proxy/approval/decision-rule.js';
import { classify } from '../../src/shell/classify.js';
import { hasSoakTime, randomFrom, testSeed } from '../support/random.js';
import { found } from './ran-and-read/found.js';
import { Lines } from './ran-and-read/lines.js';
import { World } from './ran-and-read/world.js';

const isSoak = process.env['CTX_SOAK'] === '1';
const lines = isSoak ? 20_000 : 100;
/** To dash they are letters like others: it runs what bash does not, and nobody writes a rule about that. */
const onlyBash = /\$"|\{v\}>/;

interface Judged {
  readonly ran: number;
  readonly readable: boolean;
  /** What is wrong; undefined where nothing is. */
  readonly wrong: string | undefined;
}

async function judge(world: World, shell: string, text: string): Promise<Judged> {
  const { commands, wroteFiles } = await world.run(shell, text);
  const classification = await classify({ argv: [shell, '-c', text] });
  const { classes, readable } = classification;
  const judged = (wrong?: string) => ({ ran: commands.length, readable, wrong });
  if (!readable) return judged();
  for (const command of commands) {
    const words = command.filter((word, at) => at === 0 || word !== '');
    const rules = [makeRule('deny', '*', { command: words })];
    const { action } = decide({ classification, agents: [], network: { kind: 'none' }, rules });
    if (action !== 'deny') return judged(`a rule against ${JSON.stringify(words)} is passed by`);
    const own = await classify({ argv: command });
    for (const name of own.classes) {
      const covered = [
        'read_only',
        'interactive',
        ...classes,
        ...(classes.includes('destructive') ? ['mutating'] : []),
      ];
      if (!covered.includes(name)) return judged(`${JSON.stringify(command)} is ${name}, and the line is ${classes}`);
    }
  }
  return judged(wroteFiles && classes.join() === 'read_only' ? 'it made a file, and only looks' : undefined);
}

describe('what ran was read', () => {
  let world: World;
  before(() => {
    world = new World(mkdtempSync(join(tmpdir(), 'ctx-ran-')));
  });
  after(() => world.end());

  for (const [shell, ...texts] of found) {
    it(`in lines that once were misread, by ${shell}`, async (context) => {
      if (!world.has(shell)) return context.skip(`there is no ${shell}`);
      for (const text of texts) {
        const { commands } = await world.run(shell, text);
        assert.ok(
          commands.some(([name, ...words]) => name === 'rm' && words.includes('/data')),
          `${JSON.stringify(text)} does not run it any more: ${JSON.stringify(commands)}`,
        );
        const { wrong } = await judge(world, shell, text);
        assert.equal(wrong, undefined, JSON.stringify(text));
      }
    });
  }

  it(`in odd lines, CTX_TEST_SEED=${testSeed}`, async (context) => {
    const random = randomFrom(testSeed);
    const told = { lines: 0, running: 0, readable: 0 };
    while (told.lines < lines && hasSoakTime()) {
      const shell = random() < 0.75 || !world.has('dash') ? 'bash' : 'dash';
      const text = new Lines(random).line();
      if (shell === 'dash' && onlyBash.test(text)) continue;
      const { ran, readable, wrong } = await judge(world, shell, text);
      told.lines += 1;
      if (ran > 0) told.running += 1;
      if (ran > 0 && readable) told.readable += 1;
      assert.equal(wrong, undefined, `${shell} -c ${JSON.stringify(text)}`);
    }
    context.diagnostic(JSON.stringify(told));
    assert.ok(told.readable > told.lines / 20, JSON.stringify(told));
  });
});
