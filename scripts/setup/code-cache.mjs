/**
 * V8's compiled code beside a bundle: a quarter less of a cold `ctx exec`. NAME.cjs becomes a few lines that read NAME.code.cjs
 * with NAME.MACHINE.cache; where the cache is missing or another Node's, the code is compiled as ever. V8 looks whose version
 * made it, and not for which machine: one of x86_64 ends a Node of arm64 by SIGSEGV, in a checkout that two machines share.
 *
 * A cache holds what had been compiled when it was made, so it is made after the bundle has done its usual work once, in a
 * directory of its own. That work may fail (a host that forbids namespaces): then less is in the cache, and nothing is lost.
 */

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SetupFailure } from './failure.mjs';
import { plainEnvironment } from './run.mjs';

const wrapper = ['(function(exports,require,module,__filename,__dirname){', '\n})'];
const patience = 20_000;

// As one byte a character: the bundler writes ASCII alone, and anything else costs V8 twice the memory.
const loader = (name) => `'use strict';
const { readFileSync } = require('node:fs');
const { Script } = require('node:vm');
const filename = __dirname + '/${name}.code.cjs';
let cachedData;
try {
  cachedData = readFileSync(__dirname + '/${name}.' + process.arch + '.cache');
} catch {}
const script = new Script(readFileSync(filename, 'latin1'), { filename, cachedData });
script.runInThisContext()(exports, require, module, filename, __dirname);
`;

/** The bundle as the function that Node's own loader would make of it. */
function wrap(path, published) {
  const code = readFileSync(path, 'latin1');
  if (/[^\x00-\x7f]/.test(code)) throw new SetupFailure(`${path}: expected a bundle of ASCII alone.`);
  writeFileSync(published, wrapper[0] + code + wrapper[1]);
  rmSync(path);
}

/**
 * `calls` are what the bundle's `entry` is called with, each by itself; without one, the bundle runs by itself on `input`.
 * `before` is a call of the whole CLI that comes first, in a process of its own: nothing of it is in this cache.
 */
export function addCodeCache(directory, name, { entry = 'run', before, calls = [], words = [], input = '' }) {
  wrap(join(directory, `${name}.cjs`), join(directory, `${name}.code.cjs`));
  writeFileSync(join(directory, `${name}.cjs`), loader(name));
  const scratch = mkdtempSync(join(tmpdir(), 'ctx-setup-'));
  const project = join(scratch, 'project');
  mkdirSync(project);
  try {
    const maker = fileURLToPath(new URL('make-code-cache.mjs', import.meta.url));
    const options = {
      cwd: project,
      env: { ...plainEnvironment(), HOME: scratch, CTX_DATA: join(scratch, 'store'), CTX_ROOT: join(scratch, 'ctx') },
      input: input.replaceAll('PROJECT', project),
      stdio: ['pipe', 'ignore', 'ignore'],
      timeout: patience,
    };
    if (before !== undefined) spawnSync(process.execPath, [join(directory, 'ctx.cjs'), ...before], options);
    spawnSync(process.execPath, [maker, directory, name, JSON.stringify({ entry, calls }), ...words], options);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
