/** Run by `code-cache.mjs`: does a bundle's usual work once, and writes what V8 has compiled by then. */

import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Script } from 'node:vm';

const [, , directory, name, text] = process.argv;
const { entry, calls } = JSON.parse(text);
const filename = join(directory, `${name}.code.cjs`);
// Stack traces show the name that a cache was made with: that of the file where it will be.
const published = filename.replace('/.staging-', '/');
const script = new Script(readFileSync(filename, 'latin1'), { filename: published });
process.on('exit', () => writeFileSync(join(directory, `${name}.${process.arch}.cache`), script.createCachedData()));

const made = { exports: {} };
// What the bundle takes for its own words.
process.argv = [process.argv[0], filename, ...process.argv.slice(5)];
script.runInThisContext()(made.exports, createRequire(filename), made, filename, directory);
// Looked through, since some of an answer is made when it is looked at.
for (const call of calls) JSON.stringify(await made.exports[entry](call));
