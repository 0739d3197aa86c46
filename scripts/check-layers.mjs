#!/usr/bin/env node
/**
 * `npm run check:layers`: fails where a file of `src/` imports upward, sideways or in a circle, or is not as pure as promised, where
 * headers of `native/` include each other in a circle, or files call each other in one, and where a folder is crowded. `--picture` draws
 * the folders and who imports whom into `docs/architecture.md`; a test compares.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { pictureOf, withPicture } from './layers/picture.mjs';
import { checkLayers, checkNative } from './layers/rules.mjs';
import { inCheckout } from './setup/checkout.mjs';
import { filesBelow } from './setup/files.mjs';

function sources(folder, accept) {
  const paths = filesBelow(inCheckout(folder), accept);
  return new Map(paths.map((path) => [path, readFileSync(inCheckout(folder, path), 'utf8')]));
}

const typescript = sources('src', (path) => /\.[cm]?ts$/.test(path));
if (process.argv[2] === '--picture') {
  const document = inCheckout('docs/architecture.md');
  const text = withPicture(readFileSync(document, 'utf8'), pictureOf(typescript));
  if (text === undefined) throw new Error(`expected a place for the picture in ${document}`);
  writeFileSync(document, text);
  process.exit(0);
}

const violations = [...checkLayers(typescript), ...checkNative(sources('native', (path) => /\.[ch]$/.test(path)))];
for (const { file, line, rule, message } of violations) console.error(`${file}:${line}: ${rule}: ${message}`);
if (violations.length > 0) {
  console.error(
    `\n${violations.length} violation${violations.length === 1 ? '' : 's'} of the layers (scripts/layers/rules.mjs).`,
  );
  process.exitCode = 1;
}
