#!/usr/bin/env node
/**
 * `npm run realworld -- DIR...`: each project's own test suite, outside and inside, and in what the two lists of results differ.
 *
 * The suite is found by what the project holds (package.json, pyproject.toml, go.mod, Cargo.toml, pom.xml, Makefile),
 * or named: `DIR=COMMAND`. Both run on copies; the project stays as it is. `--net` and other options of `ctx exec` are
 * behind `--exec`: `npm run realworld -- DIR --exec '--net any'`. Ends with 1 where a project differs.
 */

import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { readArguments } from './realworld/arguments.mjs';
import { compared, resultsOf } from './realworld/results.mjs';
import { suiteOf } from './realworld/suites.mjs';
import { inCheckout } from './setup/checkout.mjs';
import { setupOrExit } from './setup.mjs';

const { projects, keep, execOptions } = readArguments(process.argv.slice(2));
if (projects.length === 0) {
  console.error("usage: npm run realworld -- DIR|DIR=COMMAND... [--exec 'OPTIONS OF ctx exec'] [--keep]");
  process.exit(2);
}
await setupOrExit('start');

let differ = 0;
for (const given of projects) {
  const [directory = '', ...command] = given.split('=');
  const suite = command.length > 0 ? { kind: 'given', command: command.join('=') } : suiteOf(resolve(directory));
  if (suite === undefined) {
    console.log(`${directory}: no suite that is known; name it: ${directory}=COMMAND`);
    differ += 1;
    continue;
  }
  differ += tryProject(resolve(directory), suite) ? 0 : 1;
}
process.exitCode = differ === 0 ? 0 : 1;

function tryProject(directory, suite) {
  const stage = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-realworld-')));
  // One place for both, since paths are part of what programs print and cache.
  const place = join(stage, 'work', basename(directory));
  try {
    const outside = run(directory, stage, place, suite, false);
    const inside = run(directory, stage, place, suite, true);
    const { lines, same } = compared(outside.results, inside.results);
    const ratio = (inside.seconds / outside.seconds).toFixed(2);
    const verdict = same && outside.status === inside.status ? 'same' : 'DIFFERENT';
    console.log(
      `${basename(directory)} (${suite.kind}: ${suite.command}): ${verdict}; ${outside.results.size} results; ` +
        `exit ${outside.status} outside, ${inside.status} inside; ${outside.seconds.toFixed(1)} s and ${inside.seconds.toFixed(1)} s (${ratio}x)`,
    );
    for (const line of lines.slice(0, 40)) console.log(`  ${line}`);
    if (verdict !== 'same') {
      for (const line of inside.text.trimEnd().split('\n').slice(-15)) console.log(`  inside> ${line}`);
    }
    return verdict === 'same';
  } finally {
    if (!keep) rmSync(stage, { recursive: true, force: true, maxRetries: 3 });
  }
}

function run(directory, stage, place, { command }, isInside) {
  rmSync(place, { recursive: true, force: true });
  mkdirSync(join(stage, 'work'), { recursive: true });
  cpSync(directory, place, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
  const argv = isInside
    ? [inCheckout('bin', 'ctx'), 'exec', '--report', 'never', ...execOptions, '--', 'sh', '-c', command]
    : ['sh', '-c', command];
  const env = { ...process.env, CTX_DATA: join(stage, 'store'), CI: '1', NO_COLOR: '1' };
  delete env.NODE_TEST_CONTEXT;
  const started = process.hrtime.bigint();
  const { status, stdout, stderr } = spawnSync(argv[0], argv.slice(1), {
    cwd: place,
    env,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const seconds = Number(process.hrtime.bigint() - started) / 1e9;
  // What it left comes home first.
  if (isInside) spawnSync(inCheckout('bin', 'ctx'), ['apply', '--allow-sensitive'], { cwd: place, env });
  const reports = readReports(place);
  return { status, seconds, text: `${stdout}${stderr}`, results: resultsOf(`${stdout}\n${stderr}`, reports) };
}

/** The JUnit file that a suite leaves, where it leaves one. */
function readReports(place) {
  const path = join(place, 'junit.xml');
  return existsSync(path) ? [readFileSync(path, 'utf8')] : [];
}
