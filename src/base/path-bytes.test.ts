import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { decodePath, encodePath, exactWords } from './path-bytes.js';

const pieces = fc.oneof(
  fc.uint8Array({ maxLength: 4 }),
  fc.string({ unit: 'binary', maxLength: 3 }).map((text) => new Uint8Array(Buffer.from(text))),
  fc
    .constantFrom('edafbfedbfbf', 'c0af', 'f4908080', 'efbfbd', 'e282', 'f09f9880')
    .map((hex) => Buffer.from(hex, 'hex')),
);
const names = fc.array(pieces).map((parts) => Buffer.concat(parts));

describe('path bytes', () => {
  it('loses no byte of any name', () => {
    fc.assert(
      fc.property(names, (bytes) => assert.deepEqual(encodePath(decodePath(bytes)), bytes)),
      { numRuns: 2000 },
    );
  });

  it('gives two names two texts', () => {
    fc.assert(
      fc.property(names, names, (a, b) => assert.equal(decodePath(a) === decodePath(b), a.equals(b))),
      { numRuns: 2000 },
    );
  });

  it('keeps valid UTF-8 as its text, the replacement character included', () => {
    for (const text of ['', 'plain', 'naïve/😀', '\ufffd']) {
      assert.equal(decodePath(Buffer.from(text)), text);
      assert.deepEqual(encodePath(text), Buffer.from(text));
    }
  });

  it('marks invalid bytes one by one', () => {
    assert.equal(decodePath(Buffer.from([0x61, 0xff, 0xc3, 0xa9, 0xc3])), 'a\udcffé\udcc3');
  });

  it('refuses a surrogate that stands for no byte', () => {
    assert.throws(() => encodePath('a\ud800'), { code: 'EINVAL' });
    assert.throws(() => encodePath('a\udc00'), { code: 'EINVAL' });
  });
});

const never = () => assert.fail('it is not looked at');

describe('the words of a call', () => {
  it('are as Node has them where each is UTF-8', () => {
    for (const given of [[], [''], ['exec', '', 'é', '\n']]) assert.equal(exactWords(given, never), given);
  });

  it('are bytes where one is not, each as it was given, also beside U+FFFD itself and empty ones', () => {
    const line = Buffer.concat([
      Buffer.from('/usr/bin/node\0ctx.cjs\0cat\0\0é\0a'),
      Buffer.from([0xff, 0xc3]),
      Buffer.from('\0\ufffd\0\0'),
    ]);
    const given = ['cat', '', 'é', 'a\ufffd\ufffd', '\ufffd', ''];
    assert.deepEqual(
      exactWords(given, () => line),
      ['cat', '', 'é', 'a\udcff\udcc3', '\ufffd', ''],
    );
    assert.deepEqual(
      exactWords(['\ufffd', ''], () => line),
      ['\ufffd', ''],
    );
  });

  it('are those that this process was started with', () => {
    const script = `import { exactWords } from ${JSON.stringify(new URL('./path-bytes.js', import.meta.url).href)};
      console.log(JSON.stringify(exactWords(process.argv.slice(1))));`;
    const line = `exec "$0" --input-type=module -e "$1" -- x "$(printf 'a\\377')" ''`;
    const { stdout, stderr } = spawnSync('/bin/sh', ['-c', line, process.execPath, script], { encoding: 'utf8' });
    assert.equal(stdout, '["x","a\\udcff",""]\n', stderr);
  });
});
