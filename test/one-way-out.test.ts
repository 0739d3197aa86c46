/** All text for a person leaves by a few functions, which make what an agent wrote harmless: no other file writes to a stream. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkout } from './support/program.js';

/** What may write, and why nothing of an agent's goes out there as it is. */
const ways: Readonly<Record<string, string>> = {
  'src/cli/text/output.ts': 'the way itself',
  'src/cli/text/progress.ts': 'numbers of its own',
  'src/main.ts': 'the version',
  'src/compose.ts': 'warnings of the store, by the same function',
  'src/compose-store.ts': 'that the store was migrated, by the same function',
  'src/hook/streams.ts': 'the same way, without loading the verbs',
  'src/tool/source/http-bridge.ts': 'in a jail: its streams are read by ctx, which prints neither as it is',
};
const writes =
  /\b(?:process\s*\.\s*(?:stdout|stderr)|console)\s*\.\s*(?!isTTY|columns|rows|once|on\b|off\b|setMaxListeners)\w+\s*\(|writeSync\(\s*[12]\s*,/;

test('only the files that are named here write to stdout and stderr', () => {
  const files = readdirSync(join(checkout, 'src'), { recursive: true, encoding: 'utf8' })
    .map((name) => `src/${name}`)
    .filter((name) => name.endsWith('.ts') && !/\.test\.ts$|-fixture\.ts$/.test(name));
  assert.ok(files.length > 300, 'the sources are there');
  const others = files.filter((name) => !(name in ways) && writes.test(readFileSync(join(checkout, name), 'utf8')));
  assert.deepEqual(others, []);
});

test('such a write would be found', () => {
  for (const text of ['process.stdout.write(x)', 'process.stderr\n  .write(x)', 'console.log(x)', 'writeSync(2, x)'])
    assert.match(text, writes);
});
