/**
 * `dist/packaged/MACHINE/`: the native programs of a package, for both machines, the same bytes on all machines of one kind. Those of this
 * machine are what the checkout itself runs, without symbols: to compile them once more would take as long as everything else here.
 */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { inCheckout } from './checkout.mjs';
import { filesBelow } from './files.mjs';
import { compileNative, nativeFingerprint, reproducible } from './native-programs.mjs';
import { runQuietly } from './run.mjs';

/** As Node names them, and as compilers do. */
export const machines = { x64: 'x86_64', arm64: 'aarch64' };

const flags = ['-s', ...reproducible];

export const packagedPrograms = {
  name: 'packaged',
  title: 'compiling the native programs of a package',
  neededBy: ['package'],

  fingerprint: () => nativeFingerprint({ packaged: flags, machines, own: process.arch }),

  async build(staging) {
    await Promise.all(
      Object.entries(machines).map(([name, machine]) => {
        mkdirSync(join(staging, name));
        return name === process.arch
          ? withoutSymbols(join(staging, name))
          : compileNative(`${machine}-linux-gnu-gcc`, join(staging, name), flags);
      }),
    );
  },
};

/** The native programs are made before these. */
async function withoutSymbols(directory) {
  for (const name of filesBelow(inCheckout('dist', 'native'))) {
    await runQuietly('strip', ['-o', join(directory, name), inCheckout('dist', 'native', name)]);
  }
}
