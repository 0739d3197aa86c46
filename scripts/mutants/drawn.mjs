/**
 * `--drawn FOLDER`: faults drawn at random from the sources of a folder, as rows like those of the tables. The seed is printed, and
 * CTX_TEST_SEED draws the same ones again while the sources are the same.
 *
 * A kind of fault is drawn before its place: a file has many numbers and few guards, and what is dropped says more than what is added.
 */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { inCheckout } from '../setup/checkout.mjs';
import { filesBelow } from '../setup/files.mjs';
import { changed, changesOf } from './changes.mjs';

/** Not tests, nor what only tests use. */
const isProduct = (path) => path.endsWith('.ts') && !/(?:\.test|-fixture)\.ts$/.test(path);

/** Without end, as long as the folder has faults that were not drawn yet. */
export function* drawnRows(folder, tests, seed) {
  let draws = 0;
  const choose = (list) =>
    list[createHash('sha256').update(`${seed} ${draws++}`).digest().readUInt32LE(0) % list.length];
  const left = filesBelow(inCheckout(folder), isProduct).flatMap((path) => {
    const source = readFileSync(inCheckout(folder, path), 'utf8');
    return changesOf(source, choose).map((change) => ({ file: `${folder}/${path}`, source, change }));
  });
  while (left.length > 0) {
    const { file } = choose(left);
    const inFile = left.filter((each) => each.file === file);
    const kind = choose([...new Set(inFile.map(({ change }) => change.kind))]);
    const drawn = choose(inFile.filter(({ change }) => change.kind === kind));
    left.splice(left.indexOf(drawn), 1);
    yield { file, ...asRow(drawn), why: kind, tests };
  }
}

/** Whole lines around the fault, as many as make the text the only one of its kind. */
export function asRow({ source, change }) {
  const whole = changed(source, change);
  let [from, to] = [change.at, change.end];
  do {
    from = source.lastIndexOf('\n', from - 2) + 1;
    to = (source.indexOf('\n', to) + 1 || source.length + 1) - 1;
  } while (source.split(source.slice(from, to)).length !== 2);
  return { from: source.slice(from, to), to: whole.slice(from, to + whole.length - source.length) };
}
