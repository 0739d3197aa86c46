#!/usr/bin/env node
/**
 * `npm test`: everything a change has to pass. Types are checked by the set-up's compile, which fails this run.
 *
 * `npm test -- WORD...` runs only the test files whose path contains one of the words, without the checks before them.
 * `--soak` lets tests run long (CTX_SOAK=1) and draws a new seed for random choices. A short run has one fixed seed, so that it fails
 * for what was changed and not for what was drawn. CTX_TEST_SEED=N gives either another. The seed is printed.
 *
 * A few files that fail beside the others are run once more, alone: a busy machine is not a defect, and what fails
 * alone is. Those that pass then are named, since each is a test to mend. Only this second run, and one with words, reads
 * source maps: with them each process of a test takes 5 to 20 % more of the processor. Without them a failure is named by
 * its place in dist/js.
 *
 * Tests have a temporary directory of their own: what they leave there is named at the end, and removed. A run that is told to end
 * (Ctrl-C, SIGTERM) ends its tests, and removes it, too.
 *
 * Unit tests that start nothing share processes (scripts/test/shared-processes.mjs), but not in the soak or a run with words.
 * A file, or such a process, that does not end fails when its time is over, so that it cannot hold a run for ever. Skipped tests are
 * counted by reason (scripts/test/closing-lines.mjs). The test runner's own closing lines come last, since the caller
 * reads them.
 */

import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { inCheckout, root } from './setup/checkout.mjs';
import { filesBelow } from './setup/files.mjs';
import { plainEnvironment } from './setup/run.mjs';
import { setupOrExit } from './setup.mjs';
import { keepersOfRun } from './test/keepers.mjs';
import { makeTemporary, removeTemporary } from './test/left-behind.mjs';
import { longestFirst } from './test/longest-first.mjs';
import { runInGroup } from './test/run-in-group.mjs';
import { inSharedProcesses } from './test/shared-processes.mjs';

const { values: options, positionals: words } = parseArgs({
  allowPositionals: true,
  options: { soak: { type: 'boolean', default: false } },
});

await setupOrExit('test');

const { fixedSeed } = await import(inCheckout('dist', 'js', 'test', 'support', 'random.js'));
const seed = process.env.CTX_TEST_SEED ?? String(options.soak ? randomInt(2 ** 31) : fixedSeed);
// A keeper stays behind: tests that are about it switch it on, and warm stages use those that this run ends.
const environment = {
  // A short run asks nobody but loopback: extra certificates cost each Node 20 that starts 70 ms.
  ...(options.soak ? process.env : plainEnvironment()),
  CTX_KEEPER: 'off',
  CTX_TEST_SEED: seed,
  ...(options.soak ? { CTX_SOAK: '1' } : {}),
};

const checks = [
  { name: 'format and lint', command: [inCheckout('node_modules', '.bin', 'biome'), 'check', '.'] },
  { name: 'layers', command: [process.execPath, inCheckout('scripts', 'check-layers.mjs')] },
];

const files = testFiles();
if (files.length === 0) {
  console.error(`no test file has ${words.map((word) => JSON.stringify(word)).join(' or ')} in its path`);
  process.exit(2);
}
const failed = words.length === 0 ? checks.filter((check) => !passes(check)).map(({ name }) => name) : [];
if (failed.length > 0) console.log(`\nFAILED: ${failed.join(', ')} (see above). The tests run nevertheless.`);
console.log(`\ntests: ${files.length} files, CTX_TEST_SEED=${seed}${options.soak ? ', CTX_SOAK=1' : ''}\n`);

const mostRunAgain = 5;
/** Many times what the slowest file takes on two quiet cores: a load of 30 there made the packages take ten minutes. */
const minutesOfFile = options.soak ? 360 : 20;
/** A file waits more than half of its time: for the disk, for clocks, for processes that begin and end. */
const filesAtOnce = Math.min(2 * availableParallelism() + 1, 8);
// The soak, and what is asked for by name, have a process for each file.
const { paths, membersOf } =
  options.soak || words.length > 0 ? { paths: files, membersOf: (path) => [path] } : inSharedProcesses(files);
const { status, failedFiles, told } = await runTests(longestFirst(paths), filesAtOnce, words.length > 0);
if (told !== null) process.kill(process.pid, told);
let passed = status === 0;
if (!passed && words.length === 0 && failedFiles.length > 0 && failedFiles.length <= mostRunAgain) {
  const again = failedFiles.flatMap(membersOf);
  console.log(`\nUNSTABLE: ${again.join(', ')}: failed beside the others (see above), and once more alone:\n`);
  passed = (await runTests(again, 1, true)).status === 0;
}
process.exitCode = passed && failed.length === 0 ? 0 : 1;

/** Source maps name a test by its source, and what runs is its compiled form. */
function compiledFrom(path) {
  const source = relative(root, path);
  return source.endsWith('.ts') ? `dist/js/${source.replace(/\.ts$/, '.js')}` : source;
}

async function runTests(paths, concurrency, readsSourceMaps) {
  const scratch = mkdtempSync(join(tmpdir(), 'ctx-tests-'));
  const temporary = makeTemporary();
  const keepers = await keepersOfRun();
  const failed = join(scratch, 'failed');
  const settings = {
    files: paths.map((path) => inCheckout(path)),
    concurrency,
    timeout: minutesOfFile * 60_000,
    failed,
    times: join(scratch, 'times'),
    temporary,
  };
  const mapped = readsSourceMaps ? ['--enable-source-maps'] : [];
  const loaded = [...mapped, '--require', inCheckout('scripts', 'test', 'file-times.cjs')];
  const input = JSON.stringify(settings);
  const runner = inCheckout('scripts', 'test', 'run-files.mjs');
  try {
    const { status: code, told } = await runInGroup([process.execPath, ...loaded, runner], {
      input,
      cwd: root,
      env: { ...environment, TMPDIR: temporary, CTX_TEST_KEEPERS: keepers.directory },
    });
    const named = readFileSync(failed, 'utf8').split('\n').filter(Boolean);
    // A suite that a helper opens is named by the helper, too: what can be run again is a test file.
    const failedFiles = [...new Set(named.map(compiledFrom))].filter((path) => /\.test\.m?js$/.test(path));
    return { status: code, failedFiles, told };
  } finally {
    keepers.end();
    removeTemporary(temporary);
    rmSync(scratch, { recursive: true, force: true });
  }
}

function testFiles() {
  const compiled = filesBelow(inCheckout('dist', 'js'), (path) => path.endsWith('.test.js'));
  const scripts = filesBelow(inCheckout('scripts'), (path) => path.endsWith('.test.mjs'));
  const all = [...scripts.map((path) => `scripts/${path}`), ...compiled.map((path) => `dist/js/${path}`)];
  return words.length === 0 ? all : all.filter((path) => words.some((word) => path.includes(word)));
}

function passes({ name, command }) {
  const started = performance.now();
  const { status: code } = run(command);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${code === 0 ? 'passed' : 'FAILED'}: ${name} (${seconds} s)`);
  return code === 0;
}

function run([command, ...args], options = {}) {
  const result = spawnSync(command, args, { cwd: root, stdio: 'inherit', env: environment, ...options });
  if (result.error) throw result.error;
  return result;
}
