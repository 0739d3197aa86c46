#!/usr/bin/env node
/** `npm run check:layers`: fails where a file of `src/` imports upward, sideways or in a circle, or is not as pure as promised, and where a folder is crowded. */

import { readFileSync } from 'node:fs';
import { checkLayers } from './layers/rules.mjs';
import { inCheckout } from './setup/checkout.mjs';
import { filesBelow } from './setup/files.mjs';

const paths = filesBelow(inCheckout('src'), (path) => /\.[cm]?ts$/.test(path));
const violations = checkLayers(new Map(paths.map((path) => [path, readFileSync(inCheckout('src', path), 'utf8')])));
for (const { file, line, rule, message } of violations) console.error(`${file}:${line}: ${rule}: ${message}`);
if (violations.length > 0) {
  console.error(
    `\n${violations.length} violation${violations.length === 1 ? '' : 's'} of the layers (scripts/layers/rules.mjs).`,
  );
  process.exitCode = 1;
}
