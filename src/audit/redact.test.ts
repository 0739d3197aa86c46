import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../test/property/seeded.js';
import type { Json } from '../base/canonical-json.js';
import { hidden, redactArgv, redactFacts, redactText } from './redact.js';

interface Hidden {
  readonly argv?: readonly string[];
  readonly text?: string;
  readonly facts?: { readonly [name: string]: Json };
  readonly secret: string;
}

const file = new URL('../../../../test/vectors/secrets.json', import.meta.url);
const corpus = JSON.parse(readFileSync(file, 'utf8')) as { hidden: Hidden[]; shown: string[][] };

describe('secrets in what is recorded', () => {
  it('are hidden, wherever the corpus has one', () => {
    for (const { argv, text, facts, secret } of corpus.hidden) {
      const given = argv ?? text ?? facts ?? '';
      assert.ok(JSON.stringify(given).includes(secret), `${secret} is in the case`);
      const shown = redactFacts({ given: given as Json });
      assert.ok(!JSON.stringify(shown).includes(secret), JSON.stringify(shown));
      assert.ok(JSON.stringify(shown).includes(hidden), JSON.stringify(shown));
    }
  });

  it('are hidden in the middle of a text, too', () => {
    for (const { text, secret } of corpus.hidden) {
      if (text !== undefined) assert.ok(!redactText(`before ${text} after`).includes(secret));
    }
  });

  it('do not hide what is none', () => {
    for (const argv of corpus.shown) assert.deepEqual(redactArgv(argv), argv);
  });

  it('are hidden behind each word that says so, and not behind others', () => {
    const [long, short] = ['abcdefgh', 'abcdefg'];
    for (const [text, shown] of [
      ...['bearer', 'Basic', 'DIGEST', 'token'].map((word) => [`${word}  ${long}`, `${word} ${hidden}`]),
      ...['bearer', 'basic'].map((word) => [`${word} ${short}`, `${word} ${short}`]),
      [`unbearer ${long}`, `unbearer ${long}`],
      ...['Authorization', 'proxy-authorization', 'x-api-key', 'X-Token', 'x-a-secret', 'Set-Cookie', 'cookie'].flatMap(
        (name) => [
          [`${name}: v w`, `${name}: ${hidden}`],
          [`${name} :v`, `${name} :${hidden}`],
          [`a ${name}:v\r\nNext: w`, `a ${name}:${hidden}\r\nNext: w`],
          [`'${name}: v' w`, `'${name}: ${hidden}' w`],
        ],
      ),
      ['myauthorization: v', 'myauthorization: v'],
      ['x-request-id: v', 'x-request-id: v'],
      ['https://:pw@host/', `https://:${hidden}@host/`],
      ['https://me:pw@host/', `https://me:${hidden}@host/`],
      [`https://${'t'.repeat(19)}@host/`, `https://${'t'.repeat(19)}@host/`],
      [`https://${'t'.repeat(20)}@host/`, `https://${hidden}@host/`],
      ['https://host/@token', 'https://host/@token'],
    ] as const) {
      assert.equal(redactText(text ?? ''), shown, text);
    }
    for (const option of ['-u', '--user', '--proxy-user', '-U']) {
      assert.deepEqual(redactArgv([option, 'me:pw']), [option, `me:${hidden}`]);
      for (const other of [`x${option}`, `${option}s`])
        assert.deepEqual(redactArgv([other, 'me:pw']), [other, 'me:pw']);
      for (const word of ['me', 'me:', ':pw']) assert.deepEqual(redactArgv([option, word]), [option, word]);
    }
  });

  it('are hidden in a long list, too, wherever the option before one stands', () => {
    for (const at of [0, 198, 199, 200, 399, 598]) {
      const argv = Array.from({ length: 600 }, (_, index) => `word-${index}`);
      argv.splice(at, 2, '--password', 'hunter2');
      const expected = argv.with(at + 1, hidden);
      assert.deepEqual(redactArgv(argv), expected, `${at}`);
    }
  });

  it('are hidden once: what is hidden stays as it is', () => {
    for (const { argv = [] } of corpus.hidden) assert.deepEqual(redactArgv(redactArgv(argv)), redactArgv(argv));
  });

  it('are looked for at once in a run of letters, spaces or options as long as an argument may be', () => {
    for (const part of ['a', '0f', 'a-', 'x-', 'a.', ' ', 'echo ', ' mysql -pX', 'login x password ']) {
      const text = `password${part.repeat(131_072 / part.length)} --token hunter2`;
      const started = performance.now();
      assert.ok(!redactText(text).includes('hunter2'), part);
      // Looked at from each of its letters anew it would take minutes.
      assert.ok(performance.now() - started < 20_000, part);
    }
  });

  it('are looked for in any text, in time that follows its length', () => {
    fc.assert(
      fc.property(
        fc.string({ maxLength: 300 }),
        fc.constantFrom('=', ':', '"', 'eyJ', 'a.', '-----BEGIN PRIVATE KEY-----'),
        (text, part) => {
          redactText(text);
          redactText(part.repeat(2_000) + text);
        },
      ),
      seeded(100),
    );
  });
});
