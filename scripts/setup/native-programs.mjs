/**
 * Every folder `native/NAME`, with its rooms, becomes one static program `dist/native/NAME`; a folder `native/NAME.node` becomes a
 * library of that name, which Node loads.
 */

import { accessSync, constants } from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, join } from 'node:path';
import { inCheckout, root } from './checkout.mjs';
import { entriesOf, filesBelow, fingerprint } from './files.mjs';
import { runQuietly } from './run.mjs';

const programFlags = ['-static-pie', '-fPIE'];
const libraryFlags = ['-shared', '-fPIC', '-fvisibility=hidden'];
// What these read may be hostile. Together with the random addresses of static-pie a start costs about 0.04 ms more.
const hardening = ['-fstack-protector-strong', '-D_FORTIFY_SOURCE=3', '-Wl,-z,relro,-z,now'];
const warnings = ['-Wall', '-Wextra', '-Werror', '-Wshadow'];
const flags = [
  '-std=gnu11',
  '-O2',
  '-pthread',
  '-D_GNU_SOURCE',
  ...warnings,
  ...hardening,
  '-Inative',
  '-isystem',
  'node_modules/node-api-headers/include',
];

/**
 * Programs that start with every call, and read what is ours: with musl they start in 0.25 ms. glibc asks the processor some eighty questions
 * at its start, and in a virtual machine each is one to its host: 0.5 ms more. What reads hostile trees has glibc's checks.
 */
const quick = ['call', 'object'];
const kernelHeaders = ['-idirafter', '/usr/include', '-idirafter', `/usr/include/${machineName()}-linux-gnu`];

export const nativePrograms = {
  name: 'native',
  title: 'compiling the native programs',
  neededBy: ['start', 'test', 'bench'],

  fingerprint: () => nativeFingerprint({ architecture: process.arch }),
  build: (staging) => compileNative('gcc', staging, [], quickCompiler()),
};

function machineName() {
  return process.arch === 'x64' ? 'x86_64' : 'aarch64';
}

/** For the machine that this is; undefined where there is none. */
export function quickCompiler() {
  const found = (process.env.PATH ?? '').split(delimiter).some((directory) => {
    try {
      accessSync(join(directory, 'musl-gcc'), constants.X_OK);
      return directory !== '';
    } catch {
      return false; // not there
    }
  });
  return found ? ['musl-gcc', ...kernelHeaders] : undefined;
}

export function nativeFingerprint(settings) {
  const sources = filesBelow(inCheckout('native'), (path) => /\.[ch]$/.test(path));
  return fingerprint(
    { flags, programFlags, libraryFlags, quick: quickCompiler() ?? [], ...settings },
    sources.map((path) => `native/${path}`),
  );
}

/** As many at once as there are processors, the largest first: one that is begun last would be waited for alone. */
export async function compileNative(compiler, directory, more = [], ofQuick = undefined) {
  const waiting = programs()
    .sort((one, other) => other.sources.length - one.sources.length)
    .values();
  const compiling = Array.from({ length: availableParallelism() }, async () => {
    for (const { name, sources } of waiting) {
      const kind = name.endsWith('.node') ? libraryFlags : programFlags;
      const own = [`-Inative/${name}`, '-o', join(directory, name), ...sources];
      const [first, ...others] = (quick.includes(name) ? ofQuick : undefined) ?? [compiler];
      await runQuietly(first, [...others, ...flags, ...more, ...kind, ...own], { cwd: root });
    }
  });
  const failed = (await Promise.allSettled(compiling)).find(({ status }) => status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

function programs() {
  return entriesOf(inCheckout('native'))
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => ({
      name,
      sources: filesBelow(inCheckout('native', name), (path) => path.endsWith('.c'))
        .map((path) => `native/${name}/${path}`)
        .sort(),
    }))
    .filter(({ sources }) => sources.length > 0);
}
