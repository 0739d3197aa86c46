/**
 * How long each test file took when it last ran here, so that the next run begins with the longest: what is short fills the gaps at
 * the end. Kept in dist/test-times.json; a file that is not in it counts by where it is.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { inCheckout, root } from '../setup/checkout.mjs';

const place = inCheckout('dist', 'test-times.json');

/** Those that took longest on a machine with two cores: one of them that begins late runs alone at the end. */
const long =
  /(vfs\/(s3|guarded|webdav)|e2e\/(stop|crash|held-kept-jail|interruptions|proxy|tool-sources|keeper)|package\/package|machines\/(full-disk|power-cut)|property\/sanitized)\.test\.js$/;

/** Suites that start programs take seconds; those beside the sources do not. */
function guess(path) {
  if (long.test(path)) return 40;
  return /^dist\/(?:js\/test|test-groups)\//.test(path) ? 5 : 0.5;
}

function known() {
  try {
    return JSON.parse(readFileSync(place, 'utf8'));
  } catch {
    return {}; // none yet, or half written by a run that was killed
  }
}

export function longestFirst(files) {
  const times = known();
  const seconds = (path) => times[path] ?? guess(path);
  return [...files].sort((one, other) => seconds(other) - seconds(one));
}

/** What `list` has of this run (file-times.cjs), longest first. It is remembered. */
export function rememberTimes(list) {
  const lines = existsSync(list) ? readFileSync(list, 'utf8').split('\n').filter(Boolean) : [];
  const taken = lines.map((line) => JSON.parse(line)).map(([path, ...numbers]) => [relative(root, path), ...numbers]);
  writeFileSync(place, JSON.stringify({ ...known(), ...Object.fromEntries(taken) }));
  return taken.sort(([, one], [, other]) => other - one);
}
