/**
 * Runs test files in the order it is given them, a few at a time: node run-files.mjs, its settings as JSON on stdin. Their processes get
 * the options of this one. Node's own `--test` sorts them by name, and a long one that comes last runs alone.
 */
import { createWriteStream, readFileSync } from 'node:fs';
import { run } from 'node:test';
import { specWith } from './closing-lines.mjs';
import failedFiles from './failed-files.mjs';
import { leftIn } from './left-behind.mjs';
import { rememberTimes } from './longest-first.mjs';

const { files, concurrency, timeout, failed, times, temporary } = JSON.parse(readFileSync(0, 'utf8'));
const mostNamed = 10;

/** One of a few files is not news. */
function slowest() {
  const taken = rememberTimes(times);
  if (taken.length < mostNamed) return [];
  const named = taken
    .slice(0, mostNamed)
    .map(([path, seconds, processor]) => `${path} ${seconds.toFixed(0)} s (${processor.toFixed(0)} s of a processor)`);
  return [`slowest: ${named.join(', ')}`];
}

process.env.CTX_TEST_TIMES = times;
const events = run({ files, concurrency, timeout });
events.on('test:fail', ({ todo }) => {
  if (todo === undefined || todo === false) process.exitCode = 1;
});
events.compose(specWith(() => [...slowest(), ...leftIn(temporary)])).pipe(process.stdout);
events.compose(failedFiles).pipe(createWriteStream(failed));
