#!/usr/bin/env node
/**
 * `npm run check:layers`: fails where a file of `src/` imports upward, sideways or in a circle, or is not as pure as promised, where
 * headers of `native/` include each other in a circle, and where a folder is crowded.
 */

import { readFileSync } from 'node:fs';
import { checkLayers, checkNative } from './layers/rules.mjs';
import { inCheckout } from './setup/checkout.mjs';
import { filesBelow } from './setup/files.mjs';

function sources(folder, accept) {
  const paths = filesBelow(inCheckout(folder), accept);
  return new Map(paths.map((path) => [path, readFileSync(inCheckout(folder, path), 'utf8')]));
}

const violations = [
  ...checkLayers(sources('src', (path) => /\.[cm]?ts$/.test(path))),
  ...checkNative(sources('native', (path) => /\.[ch]$/.test(path))),
];
for (const { file, line, rule, message } of violations) console.error(`${file}:${line}: ${rule}: ${message}`);
if (violations.length > 0) {
  console.error(
    `\n${violations.length} violation${violations.length === 1 ? '' : 's'} of the layers (scripts/layers/rules.mjs).`,
  );
  process.exitCode = 1;
}
