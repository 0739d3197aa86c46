/** `dist/packaged/MACHINE/`: the native programs of a package, for both machines, the same bytes on all machines of one kind. */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { compileNative, nativeFingerprint, quickLibrary } from './native-programs.mjs';

/** As Node names them, and as compilers do. */
export const machines = { x64: 'x86_64', arm64: 'aarch64' };

// Without symbols, a number of the build, or names of directories of anyone who compiles.
const flags = ['-s', '-Wl,--build-id=none', '-ffile-prefix-map=/='];

export const packagedPrograms = {
  name: 'packaged',
  title: 'compiling the native programs of a package',
  neededBy: ['package'],

  fingerprint: () => nativeFingerprint({ packaged: flags, machines }),

  async build(staging) {
    await Promise.all(
      Object.entries(machines).map(([name, machine]) => {
        mkdirSync(join(staging, name));
        const isOwn = name === process.arch;
        const compiler = isOwn ? 'gcc' : `${machine}-linux-gnu-gcc`;
        return compileNative(compiler, join(staging, name), flags, isOwn ? quickLibrary() : undefined);
      }),
    );
  },
};
