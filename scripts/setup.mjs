#!/usr/bin/env node
/**
 * The one set-up: installs what is missing, builds what is stale, and says nothing when there is nothing to do.
 *
 * `setup(level)` is called by `npm start`, `npm test`, `npm run bench` and `npm run package`; `npm run setup [-- LEVEL]` calls it by hand.
 * It runs before any package is installed, so it imports Node's own modules only. Steps are data; one loop runs them.
 */

import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundledCli } from './setup/bundled-cli.mjs';
import { compiledTypeScript } from './setup/compiled-typescript.mjs';
import { debianPackages } from './setup/debian-packages.mjs';
import { SetupFailure } from './setup/failure.mjs';
import { checkHost } from './setup/host.mjs';
import { withLock } from './setup/lock.mjs';
import { nativePrograms } from './setup/native-programs.mjs';
import { npmPackages } from './setup/npm-packages.mjs';
import { packagedPrograms } from './setup/packaged-programs.mjs';
import { make, staleness } from './setup/product.mjs';
import { withProgress } from './setup/progress.mjs';

const levels = ['start', 'test', 'bench', 'package'];

const steps = [
  debianPackages,
  npmPackages,
  ...[nativePrograms, packagedPrograms, compiledTypeScript, bundledCli].map((product) => ({
    title: product.title,
    neededBy: product.neededBy,
    staleness: () => staleness(product),
    make: () => make(product),
  })),
];

/** Makes everything that `level` needs. Throws SetupFailure with what to do about it. */
export async function setup(level) {
  checkHost();
  const needed = steps.filter((step) => step.neededBy.includes(level));
  if (needed.every((step) => step.staleness(level) === undefined)) return;
  await withLock(async () => {
    for (const step of needed) {
      // Asked again under the lock: another set-up may have just done it.
      const reason = step.staleness(level);
      if (reason !== undefined) await withProgress(step.title, reason, () => step.make(level));
    }
  });
}

/** For the scripts: as `setup`, but a failure ends the process with its message and exit code. */
export async function setupOrExit(level) {
  try {
    await setup(level);
  } catch (error) {
    if (!(error instanceof SetupFailure)) throw error;
    process.stderr.write(`\n${error.message}\n`);
    process.exit(error.exitCode);
  }
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const level = process.argv[2] ?? 'test';
  if (!levels.includes(level)) {
    process.stderr.write(`unknown level ${JSON.stringify(level)}: one of ${levels.join(', ')}\n`);
    process.exit(2);
  }
  await setupOrExit(level);
}
