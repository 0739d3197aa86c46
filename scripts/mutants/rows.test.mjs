import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { inCheckout } from '../setup/checkout.mjs';
import { filesBelow } from '../setup/files.mjs';
import { tables } from './tables.mjs';

it('each fault of the tables can still be planted, and has tests to notice it', () => {
  const sources = ['src', 'test', 'bench'].flatMap((folder) =>
    filesBelow(inCheckout(folder), (path) => path.endsWith('.test.ts')).map((path) => `${folder}/${path}`),
  );
  for (const { file, from, to, tests } of tables) {
    const times = readFileSync(inCheckout(file), 'utf8').split(from).length - 1;
    assert.equal(times, 1, `${file} has this ${times} times: ${from}`);
    assert.notEqual(from, to);
    for (const word of tests) {
      assert.ok(
        sources.some((path) => path.replace(/\.ts$/, '.js').includes(word)),
        `no test file has ${word} in its path`,
      );
    }
  }
});
