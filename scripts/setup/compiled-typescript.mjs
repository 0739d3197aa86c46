/** `dist/js`: src, test and bench as the tests run them. This is also the type check: an error in a type fails it. */

import { inCheckout } from './checkout.mjs';
import { filesBelow, fingerprint } from './files.mjs';
import { plainEnvironment, runQuietly } from './run.mjs';

export const compiledTypeScript = {
  name: 'js',
  title: 'checking types and compiling',
  neededBy: ['test', 'bench', 'package'],

  fingerprint() {
    const sources = ['src', 'test', 'bench'].flatMap((folder) =>
      filesBelow(inCheckout(folder), (path) => /\.[cm]?tsx?$/.test(path)).map((path) => `${folder}/${path}`),
    );
    return fingerprint({}, ['package.json', 'package-lock.json', 'tsconfig.json', ...sources]);
  },

  // Always whole: an incremental build does not make again what somebody deleted, and costs hardly less.
  build(staging) {
    const compiler = inCheckout('node_modules', '.bin', 'tsc');
    return runQuietly(compiler, ['-p', '.', '--outDir', staging, '--incremental', 'false'], {
      env: plainEnvironment(),
    });
  },
};
