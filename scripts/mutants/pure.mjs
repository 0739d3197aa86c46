/**
 * The pure rooms under StrykerJS: each operator, condition and literal of deciding code changed, one at a time, and the tests of that
 * room asked. StrykerJS is installed when this is first run, beside the table (package.json and lock file here): nothing else needs it.
 * What was found before is kept in dist/mutants, so that a second run tries only what changed.
 *
 * `--sample PERCENT` changes so much of a room: parts of a few lines, drawn by CTX_TEST_SEED, which is printed. `--jobs N` tries so many
 * changes at one time.
 */

import { spawnSync } from 'node:child_process';
import { createHash, randomInt } from 'node:crypto';
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
  audit: {
    change: ['format', 'denials', 'redact'].map((name) => `src/audit/${name}.ts`),
    ask: ['denials', 'format', 'plain-body', 'redact', 'recorder', 'signature'].map((name) => `src/audit/${name}`),
  },
  jail: { change: ['plan', 'landlock', 'seccomp', 'id-maps'].map((name) => `src/jail/${name}.ts`), ask: ['src/jail/'] },
  decisions: {
    change: ['decision', 'decision-rule', 'approval', 'approval-binding'].map(
      (name) => `src/proxy/approval/${name}.ts`,
    ),
    ask: ['src/proxy/approval/'],
  },
  plans: {
    change: ['src/vault/apply/apply-plan.ts', 'src/vault/apply/held-units.ts'],
    ask: ['src/vault/apply/apply-plan', 'src/vault/apply/held-'],
  },
  vfs: {
    change: [
      ...['names', 'mount-table', 'mount-points', 'resolve', 'specification', 'locks', 'recorded-changes'].map(
        (name) => `src/vfs/${name}.ts`,
      ),
      'src/guard/guard.ts',
      'src/guard/quota.ts',
    ],
    ask: ['src/vfs/', 'src/guard/', 'test/vfs/paths'],
  },
};

const home = inCheckout('scripts', 'mutants');
const aim = 90;

/** The exit code: 1 where a room is below the aim. */
export async function tryPureRooms(names, { sample = 100, jobs = 2 } = {}) {
  const unknown = names.filter((name) => !(name in rooms));
  if (unknown.length > 0) {
    console.error(`no room ${unknown.join(', ')}: one of ${Object.keys(rooms).join(', ')}`);
    return 2;
  }
  if (!existsSync(join(home, 'node_modules'))) run('npm', ['ci', '--no-audit', '--no-fund'], home);
  const below = (names.length > 0 ? names : Object.keys(rooms)).filter((name) => !(tryRoom(name, sample, jobs) >= aim));
  if (below.length > 0) console.log(`below ${aim} %: ${below.join(', ')}`);
  return below.length === 0 ? 0 : 1;
}

/** Lines that are changed or left together: most statements fit into so many. */
const partLines = 12;

/** Some parts of the files, as `path:first-last`; the same for the same seed. */
function sampled(patterns, percent, seed) {
  const isChosen = (path) =>
    patterns.some((pattern) => new RegExp(`^${pattern.replaceAll('**/*', '.+').replaceAll('*', '[^/]+')}$`).test(path));
  const files = filesBelow(inCheckout('src'), (path) => path.endsWith('.ts') && !path.endsWith('.test.ts'));
  return files
    .map((path) => `src/${path}`)
    .filter(isChosen)
    .flatMap((path) => {
      const lines = readFileSync(inCheckout(path), 'utf8').split('\n').length;
      const firsts = Array.from({ length: Math.ceil(lines / partLines) }, (_, part) => part * partLines + 1);
      return firsts
        .filter((first) => drawn(`${seed} ${path} ${first}`) < percent)
        .map((first) => `${path}:${first}-${first + partLines - 1}`);
    });
}

/** From 0 to 100. */
function drawn(text) {
  return (createHash('sha256').update(text).digest().readUInt32LE(0) / 2 ** 32) * 100;
}

function tryRoom(name, sample, jobs) {
  const { change, ask } = rooms[name];
  const seed = process.env.CTX_TEST_SEED ?? String(randomInt(2 ** 31));
  const parts = sample < 100 ? sampled(change, sample, seed) : [...change, '!src/**/*.test.ts'];
  if (sample < 100) console.log(`${name}: ${parts.length} parts of ${partLines} lines, CTX_TEST_SEED=${seed}`);
  const kept = join(dist, 'mutants');
  mkdirSync(kept, { recursive: true });
  const found = filesBelow(join(dist, 'js'), (path) => ask.some((start) => path.startsWith(start)));
  const tests = found.filter((path) => path.endsWith('.test.js')).map((path) => `dist/js/${path}`);
  const report = join(kept, `${name}.json`);
  const settings = join(kept, `${name}.settings.json`);
  writeFileSync(
    settings,
    JSON.stringify({
      mutate: parts,
      testRunner: 'node-tests',
      plugins: [join(home, 'node-tests.mjs'), join(home, 'texts.mjs')],
      ignorers: ['texts'],
      nodeTests: { files: tests },
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
      concurrency: jobs,
      // A busy machine is no endless loop.
      timeoutMS: 60_000,
      // Copied, not instrumented: what runs is what the build makes.
      disableTypeChecks: '{src,test}/**/*.ts',
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
