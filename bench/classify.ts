/** What it costs to look at a command before it runs: reading and deciding a thousand, against as many parses of JSON. */
import { readFileSync } from 'node:fs';
import { noNetwork } from '../src/authority/network.js';
import { decide } from '../src/proxy/approval/decision.js';
import { makeRule } from '../src/proxy/approval/decision-rule.js';
import { classify } from '../src/shell/classify.js';
import { plainWordsOf } from '../src/shell/reader.js';
import { measure, print } from './measure.js';

const count = 1_000;
const corpus = readFileSync(new URL('../../../test/vectors/commands.txt', import.meta.url), 'utf8')
  .split('\n')
  .flatMap((line) => /^[rmdnhi]+ {2}(.*)$/.exec(line)?.[1]?.replaceAll('␤', '\n') ?? []);
const texts = Array.from({ length: count }, (_, index) => corpus[index % corpus.length] ?? 'ls');
const plain = corpus.filter((text) => plainWordsOf(text) !== undefined);
const vectors = Array.from(
  { length: count },
  (_, index) => plainWordsOf(plain[index % plain.length] ?? 'ls') ?? ['ls'],
);
const long = `${'ls src | grep -v x && git status; '.repeat(count / 4)}true`;
const message = JSON.stringify({
  tool_name: 'Bash',
  tool_input: { command: 'npm test', timeout: 1000 },
  cwd: '/work/project',
});
const rules = Array.from({ length: 100 }, (_, index) => makeRule('deny', '*', { command: ['git', `verb-${index}`] }));
const known = await Promise.all(texts.map((text) => classify({ text })));

let sink = 0;
const report = await measure({
  title: `Commands read and decided, ${count.toLocaleString('en')} a round (so 100 ms = 10,000 a second)`,
  anchor: `parse ${count} messages of a harness`,
  rounds: 15,
  warmUpRounds: 3,
  subjects: [
    {
      name: `parse ${count} messages of a harness`,
      run: () => {
        for (let done = 0; done < count; done += 1) sink += JSON.parse(message).tool_name.length;
      },
    },
    {
      name: `classify ${count} argument vectors`,
      run: async () => {
        for (const argv of vectors) sink += (await classify({ argv })).classes.length;
      },
    },
    {
      name: `classify ${count} shell texts of the corpus`,
      run: async () => {
        for (const text of texts) sink += (await classify({ text })).classes.length;
      },
    },
    {
      name: `classify one text of ${count} commands`,
      run: async () => {
        sink += (await classify({ text: long })).classes.length;
      },
    },
    {
      name: `decide ${count} with 100 rules`,
      run: () => {
        for (const classification of known) {
          sink += decide({ classification, agents: ['coder'], network: noNetwork, rules }).categories.length;
        }
      },
    },
  ],
  notes: [
    'The parser is loaded before; in a fresh process it is loaded once, and only where there is shell text to parse.',
  ],
});
if (sink === 0) throw new Error('nothing was read');
print(report);
