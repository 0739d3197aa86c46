/**
 * V8's compiled code beside a bundle: a quarter less of a cold `ctx exec`. NAME.cjs becomes a few lines that read NAME.code.cjs
 * with NAME.cache; where the cache is missing or another Node's, the code is compiled as ever.
 *
 * A cache holds what had been compiled when it was made, so it is made after the bundle has done its usual work once, in a
 * directory of its own. That work may fail (a host that forbids namespaces): then less is in the cache, and nothing is lost.
 */

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { plainEnvironment } from './run.mjs';

const wrapper = ['(function(exports,require,module,__filename,__dirname){', '\n})'];
const patience = 20_000;

const loader = (name) => `'use strict';
const { readFileSync } = require('node:fs');
const { Script } = require('node:vm');
const filename = __dirname + '/${name}.code.cjs';
let cachedData;
try {
  cachedData = readFileSync(__dirname + '/${name}.cache');
} catch {}
const source = ${JSON.stringify(wrapper[0])} + readFileSync(filename, 'utf8') + ${JSON.stringify(wrapper[1])};
new Script(source, { filename, cachedData }).runInThisContext()(exports, require, module, filename, __dirname);
`;

/** `calls` are what the bundle's `entry` is called with, each by itself; without one, the bundle runs by itself on `input`. */
export function addCodeCache(directory, name, { entry = 'run', calls = [], words = [], input = '' }) {
  renameSync(join(directory, `${name}.cjs`), join(directory, `${name}.code.cjs`));
  writeFileSync(join(directory, `${name}.cjs`), loader(name));
  const scratch = mkdtempSync(join(tmpdir(), 'ctx-setup-'));
  const project = join(scratch, 'project');
  mkdirSync(project);
  try {
    const maker = fileURLToPath(new URL('make-code-cache.mjs', import.meta.url));
    spawnSync(process.execPath, [maker, directory, name, JSON.stringify({ entry, calls, wrapper }), ...words], {
      cwd: project,
      env: { ...plainEnvironment(), HOME: scratch, CTX_DATA: join(scratch, 'store'), CTX_ROOT: join(scratch, 'ctx') },
      input: input.replaceAll('PROJECT', project),
      stdio: ['pipe', 'ignore', 'ignore'],
      timeout: patience,
    });
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
