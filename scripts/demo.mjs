#!/usr/bin/env node
/**
 * The tour: a sample project, a command that passes, one that does damage, and the project untouched nevertheless.
 *
 * Everything happens in a temporary directory with its own home and its own store, and is removed at the end. The
 * commands are shown as they are run; one that does not end as expected ends the tour with an error.
 */

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { inCheckout } from './setup/checkout.mjs';

const colour = process.stdout.isTTY && !process.env.NO_COLOR;
const paint = (code, text) => (colour ? `\u001b[${code}m${text}\u001b[0m` : text);

const sample = {
  'home/.ssh/id_ed25519': 'pretend this is a private key\n',
  'shop/README.md': '# Shop\n\nAdds prices.\n',
  'shop/package.json':
    '{ "name": "shop", "version": "1.0.0", "type": "module", "scripts": { "test": "node --test" } }\n',
  'shop/total.js': 'export const total = (prices) => prices.reduce((sum, price) => sum + price, 0);\n',
  'shop/total.test.js': `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { total } from './total.js';

test('adds prices', () => assert.equal(total([1, 2, 3]), 6));
`,
};

const damage = [
  "sed -i 's/sum + price/sum - price/' total.js",
  'rm README.md',
  'echo hello > NOTES.md',
  'cat ~/.ssh/id_ed25519',
].join('; ');

const tour = [
  { say: 'A small project under git, and a private key in the home directory.' },
  { run: ['ls'] },
  { run: ['sh', '-c', 'cat ~/.ssh/id_ed25519'] },
  { say: 'Its tests, run by ctx: in a jail, on a copy-on-write fork of this directory.' },
  { run: ['ctx', 'exec', '--', 'node', '--test'] },
  { say: 'Now a command that breaks a file, deletes one, adds one, and reaches for the key.' },
  { run: ['ctx', 'exec', '--report', 'always', '--', 'sh', '-c', damage], expect: 'failure' },
  { say: 'The project itself has not changed (git has nothing to report):' },
  { run: ['git', 'status', '--short'], expect: 'silence' },
  { run: ['node', '--test', '--test-reporter=dot'] },
  { say: 'What the command did is in the fork. `ctx apply` would keep it; this drops it.' },
  { run: ['ctx', 'diff'] },
  { run: ['ctx', 'drop'] },
  { say: 'That was the tour. In a project of your own: bin/ctx exec -- COMMAND' },
];

const place = realpathSync(mkdtempSync(join(tmpdir(), 'ctxfs-tour-')));
process.on('exit', () => removeTree(place));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(130));

const project = join(place, 'shop');
const environment = tourEnvironment();
makeSample();
for (const step of tour) {
  if (step.say) console.log(`\n${paint('2', `# ${step.say}`)}`);
  else perform(step);
}

function tourEnvironment() {
  return {
    ...process.env,
    PATH: `${inCheckout('bin')}${delimiter}${process.env.PATH}`,
    HOME: join(place, 'home'),
    CTX_DATA: join(place, 'store'),
    // The person's own git settings and any repository around them stay out of it.
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CEILING_DIRECTORIES: place,
  };
}

function makeSample() {
  for (const [path, content] of Object.entries(sample)) {
    mkdirSync(dirname(join(place, path)), { recursive: true });
    writeFileSync(join(place, path), content);
  }
  const identity = ['-c', 'user.name=Tour', '-c', 'user.email=tour@localhost', '-c', 'commit.gpgsign=false'];
  for (const args of [
    ['init', '--quiet'],
    ['add', '.'],
    [...identity, 'commit', '--quiet', '-m', 'Open the shop'],
  ]) {
    const result = spawnSync('git', args, { cwd: project, env: environment, encoding: 'utf8' });
    if (result.status !== 0) stop(['git', ...args], result.error?.message ?? result.stderr);
  }
}

function perform({ run, expect = 'success' }) {
  console.log(`${paint('1;32', '$')} ${paint('1', run.map(quote).join(' '))}`);
  const output = expect === 'silence' ? 'pipe' : 'inherit';
  const result = spawnSync(run[0], run.slice(1), {
    cwd: project,
    env: environment,
    stdio: ['ignore', output, output],
    encoding: 'utf8',
  });
  if (result.error) stop(run, result.error.message);
  if (result.signal) stop(run, `it was ended by ${result.signal}`);
  if (expect === 'failure') {
    if (result.status === 0) stop(run, 'it was expected to fail: the key should not be readable');
    console.log(paint('2', `(exit code ${result.status})`));
    return;
  }
  if (result.status !== 0) stop(run, `${result.stdout ?? ''}${result.stderr ?? ''}it ended with ${result.status}`);
  if (expect === 'silence' && result.stdout !== '')
    stop(run, `it was expected to say nothing, but said:\n${result.stdout}`);
}

function stop(command, why) {
  console.error(`\nThe tour stopped at: ${command.map(quote).join(' ')}\n${why}`);
  console.error('`npm start -- doctor` says what this machine offers and what is missing.');
  process.exit(1);
}

/** As a person would type it: double quotes where they are enough. */
function quote(word) {
  if (/^[\w./:=@%+-]+$/.test(word)) return word;
  if (word.includes("'") && !/["$`\\!]/.test(word)) return `"${word}"`;
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A store may hold directories that even their owner may not enter. */
function removeTree(directory) {
  spawnSync('chmod', ['-R', 'u+rwX', directory], { stdio: 'ignore' });
  rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
}
