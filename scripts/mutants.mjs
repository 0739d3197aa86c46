#!/usr/bin/env node
/**
 * `npm run mutants [-- WORD...]`: would the tests notice? Each row of the tables in scripts/mutants is a
 * small fault, planted alone in a scratch copy of this checkout, built, and tried against the tests that should shout. Words choose rows
 * by file or reason.
 *
 * `npm run mutants -- --pure [ROOM...]` changes the pure rooms by StrykerJS instead (scripts/mutants/pure.mjs); `--sample PERCENT` a
 * part of each, `--jobs N` so many changes at one time.
 *
 * `npm run mutants -- --drawn FOLDER --sample N [WORD...]` draws N faults from the sources below a folder (scripts/mutants/drawn.mjs). Words
 * choose the tests that should shout; without one, those below the folder.
 *
 * Ends with 1 where a fault went unnoticed. The checkout itself is never changed.
 */

import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { tables } from './mutants/tables.mjs';
import { root } from './setup/checkout.mjs';
import { setupOrExit } from './setup.mjs';

const copies = { recursive: true, verbatimSymlinks: true, preserveTimestamps: true };

const { values, positionals: words } = parseArgs({
  allowPositionals: true,
  options: {
    pure: { type: 'boolean', default: false },
    drawn: { type: 'string' },
    sample: { type: 'string' },
    jobs: { type: 'string', default: '2' },
  },
});

await setupOrExit('test');
if (values.pure) {
  const { tryPureRooms } = await import('./mutants/pure.mjs');
  process.exitCode = await tryPureRooms(words, { sample: Number(values.sample ?? 100), jobs: Number(values.jobs) });
} else if (values.drawn !== undefined) {
  const { drawnRows } = await import('./mutants/drawn.mjs');
  const seed = process.env.CTX_TEST_SEED ?? String(randomInt(2 ** 31));
  console.log(`faults of ${values.drawn}, CTX_TEST_SEED=${seed}`);
  const tests = words.length > 0 ? words : [values.drawn];
  process.exitCode = tryRows(drawnRows(values.drawn, tests, seed), Number(values.sample ?? 20));
} else {
  process.exitCode = tryRows(
    tables.filter(({ file, why }) => words.length === 0 || words.some((word) => `${file} ${why}`.includes(word))),
  );
}

/** All, or the first `most` that can be built at all: what the compiler refuses says nothing about the tests. */
function tryRows(rows, most = Number.POSITIVE_INFINITY) {
  const isDrawn = Number.isFinite(most);
  const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-mutants-')));
  const results = { caught: 0, survived: [] };
  process.once('SIGINT', () => {
    rmSync(scratch, { recursive: true, force: true });
    process.exit(130);
  });
  try {
    for (const part of checkoutParts()) cpSync(join(root, part), join(scratch, part), copies);
    if (isDrawn) leaveTypes(scratch);
    for (const row of rows) {
      if (results.caught + results.survived.length >= most) break;
      const started = performance.now();
      const noticed = tryRow(scratch, row);
      const seconds = ((performance.now() - started) / 1000).toFixed(0);
      console.log(`${noticed ? `caught (${noticed})` : 'SURVIVED'}  ${row.file}: ${row.why} (${seconds} s)`);
      if (isDrawn && noticed === 'the build') continue;
      if (noticed) results.caught += 1;
      else results.survived.push(row);
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  console.log(`\n${results.caught} of ${results.caught + results.survived.length} faults were noticed`);
  for (const { file, from, to } of results.survived) console.log(`survived in ${file}:\n- ${from}\n+ ${to}`);
  return results.survived.length === 0 ? 0 : 1;
}

/** Types are a wall of their own, which would hide what the tests let through. */
function leaveTypes(scratch) {
  const path = join(scratch, 'tsconfig.json');
  const settings = JSON.parse(readFileSync(path, 'utf8'));
  writeFileSync(path, JSON.stringify({ ...settings, compilerOptions: { ...settings.compilerOptions, noCheck: true } }));
}

/** By whom it was noticed; undefined where it was not. */
function tryRow(scratch, { file, from, to, tests }) {
  const path = join(scratch, file);
  const original = readFileSync(path, 'utf8');
  if (original.split(from).length !== 2) throw new Error(`expected exactly once in ${file}: ${from}`);
  writeFileSync(
    path,
    original.replace(from, () => to),
  );
  try {
    if (!passes(scratch, ['scripts/setup.mjs', 'test'])) return 'the build';
    return passes(scratch, ['scripts/test.mjs', ...tests]) ? undefined : 'a test';
  } finally {
    writeFileSync(path, original);
  }
}

function passes(cwd, argv) {
  const { status, error } = spawnSync(process.execPath, argv, { cwd, stdio: 'ignore' });
  if (error) throw error;
  return status === 0;
}

function checkoutParts() {
  const { stdout } = spawnSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' });
  return [...stdout.split('\0').filter(Boolean), 'node_modules', 'dist'];
}
