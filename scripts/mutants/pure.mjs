/**
 * The pure rooms under StrykerJS: each operator, condition and literal of deciding code changed, one at a time, and the tests of that
 * room asked. StrykerJS is installed when this is first run, beside the table (package.json and lock file here): nothing else needs it.
 * What was found before is kept in dist/mutants, so that a second run tries only what changed.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dist, inCheckout, root } from '../setup/checkout.mjs';
import { filesBelow } from '../setup/files.mjs';

/** What is changed, and which test files are asked. `equivalent` names files whose survivors were looked at, and why they may. */
export const rooms = {
  authority: { change: ['src/authority/*.ts'], ask: ['src/authority/', 'test/property/authority-'] },
  shell: { change: ['src/shell/**/*.ts'], ask: ['src/shell/', 'test/property/shell-'] },
  network: {
    change: ['address', 'allow-list', 'host-name', 'secret', 'own-addresses'].map((name) => `src/network/${name}.ts`),
    ask: [
      'src/network/address',
      'src/network/allow-list',
      'src/network/host-name',
      'src/network/secret',
      'src/network/own-',
    ],
  },
  audit: { change: ['src/audit/format.ts', 'src/audit/denials.ts', 'src/audit/redact.ts'], ask: ['src/audit/'] },
  jail: { change: ['plan', 'landlock', 'seccomp', 'id-maps'].map((name) => `src/jail/${name}.ts`), ask: ['src/jail/'] },
  plans: {
    change: ['src/vault/apply/apply-plan.ts', 'src/vault/apply/held-units.ts'],
    ask: ['src/vault/apply/apply-plan', 'src/vault/apply/held-'],
  },
};

const home = inCheckout('scripts', 'mutants');
const aim = 90;

/** The exit code: 1 where a room is below the aim. */
export async function tryPureRooms(names) {
  const unknown = names.filter((name) => !(name in rooms));
  if (unknown.length > 0) {
    console.error(`no room ${unknown.join(', ')}: one of ${Object.keys(rooms).join(', ')}`);
    return 2;
  }
  if (!existsSync(join(home, 'node_modules'))) run('npm', ['ci', '--no-audit', '--no-fund'], home);
  const below = (names.length > 0 ? names : Object.keys(rooms)).filter((name) => !(tryRoom(name) >= aim));
  if (below.length > 0) console.log(`below ${aim} %: ${below.join(', ')}`);
  return below.length === 0 ? 0 : 1;
}

function tryRoom(name) {
  const { change, ask } = rooms[name];
  const kept = join(dist, 'mutants');
  mkdirSync(kept, { recursive: true });
  const tests = filesBelow(join(dist, 'js'), (path) => path.endsWith('.test.js'))
    .filter((path) => ask.some((start) => path.startsWith(start)))
    .map((path) => `dist/js/${path}`);
  const report = join(kept, `${name}.json`);
  const settings = join(kept, `${name}.settings.json`);
  writeFileSync(
    settings,
    JSON.stringify({
      mutate: [...change, '!src/**/*.test.ts'],
      testRunner: 'tap',
      plugins: [join(home, 'node_modules', '@stryker-mutator', 'tap-runner', 'dist', 'src', 'index.js')],
      tap: {
        testFiles: tests,
        nodeArgs: ['--test-reporter=tap', '-r', '{{hookFile}}', '{{testFile}}'],
        forceBail: true,
      },
      // Its paths stay within the copy; to rewrite it needs a compiler's interface that TypeScript 7 does not have.
      tsconfigFile: 'none',
      buildCommand: `${inCheckout('node_modules', '.bin', 'tsc')} -p . --incremental false`,
      coverageAnalysis: 'perTest',
      incremental: true,
      incrementalFile: join(kept, `${name}.incremental.json`),
      tempDirName: join(kept, 'sandbox'),
      ignorePatterns: ['/dist/mutants', '/bench/results'],
      reporters: ['json', 'progress-append-only'],
      jsonReporter: { fileName: report },
      concurrency: 2,
      // Copied, not instrumented: what runs is what the build makes.
      disableTypeChecks: 'src/**/*.ts',
    }),
  );
  run(join(home, 'node_modules', '.bin', 'stryker'), ['run', settings], root);
  return summary(name, JSON.parse(readFileSync(report, 'utf8')));
}

function summary(name, { files }) {
  const mutants = Object.entries(files).flatMap(([file, { mutants }]) =>
    mutants.map((mutant) => ({ file, ...mutant })),
  );
  const count = (...states) => mutants.filter(({ status }) => states.includes(status)).length;
  const caught = count('Killed', 'Timeout');
  const missed = count('Survived', 'NoCoverage');
  const percent = (100 * caught) / (caught + missed);
  console.log(`\n${name}: ${caught} of ${caught + missed} caught (${percent.toFixed(1)} %)`);
  for (const { file, location, mutatorName, replacement, status } of mutants) {
    if (status !== 'Survived' && status !== 'NoCoverage') continue;
    console.log(`  ${file}:${location.start.line}:${location.start.column} ${mutatorName}: ${oneLine(replacement)}`);
  }
  return percent;
}

function oneLine(text = '') {
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length > 100 ? `${line.slice(0, 100)}…` : line;
}

function run(command, args, cwd) {
  const { status, error } = spawnSync(command, args, { cwd, stdio: 'inherit' });
  if (error) throw error;
  if (status !== 0) throw new Error(`${command} ended with ${status}`);
}
