#!/usr/bin/env node

/** `npm start`: sets up, then shows the tour; `npm start -- ARGS` runs `ctx ARGS` instead. */

import { inCheckout } from './setup/checkout.mjs';
import { runInForeground } from './setup/foreground.mjs';
import { setupOrExit } from './setup.mjs';

await setupOrExit('start');
const args = process.argv.slice(2);
if (args.length > 0) {
  // npm runs scripts in the checkout; a person means the directory they are in.
  runInForeground(inCheckout('bin', 'ctx'), args, { cwd: process.env.INIT_CWD ?? process.cwd() });
} else {
  runInForeground(process.execPath, [inCheckout('scripts', 'demo.mjs')]);
}
