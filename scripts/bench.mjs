#!/usr/bin/env node
/** `npm run bench -- NAME [--json]` runs `bench/NAME.ts`; without a name it lists what there is. */

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { inCheckout } from './setup/checkout.mjs';
import { filesBelow } from './setup/files.mjs';
import { runInForeground } from './setup/foreground.mjs';
import { setupOrExit } from './setup.mjs';

const library = 'measure';
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false } },
});
const names = filesBelow(inCheckout('bench'), (path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
  .map((path) => path.slice(0, -'.ts'.length))
  // What benchmarks share is in folders.
  .filter((name) => name !== library && !name.includes('/'));
const [name] = positionals;

if (name === undefined) {
  if (options.json) console.log(JSON.stringify(names.map((each) => ({ name: each, claim: claimOf(each) }))));
  else console.log(names.map((each) => `${each.padEnd(16)} ${claimOf(each)}`).join('\n') || 'no benchmarks yet');
} else if (!names.includes(name)) {
  console.error(`no benchmark ${JSON.stringify(name)}. There are: ${names.join(', ') || 'none yet'}`);
  process.exit(2);
} else {
  await setupOrExit('bench');
  const program = inCheckout('dist', 'js', 'bench', `${name}.js`);
  runInForeground(process.execPath, [program, ...positionals.slice(1), ...(options.json ? ['--json'] : [])]);
}

/** The first line of the file's first doc comment. */
function claimOf(benchmark) {
  const source = readFileSync(inCheckout('bench', `${benchmark}.ts`), 'utf8');
  return /\/\*\*[\s*]*([^\n]*?)\s*(?:\*\/|\n)/.exec(source)?.[1] ?? '';
}
