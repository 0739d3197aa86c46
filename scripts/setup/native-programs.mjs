/**
 * Every folder `native/NAME`, with its rooms, becomes one static program `dist/native/NAME`; a folder `native/NAME.node` becomes a
 * library of that name, which Node loads.
 */

import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
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

export const nativePrograms = {
  name: 'native',
  title: 'compiling the native programs',
  neededBy: ['start', 'test', 'bench', 'package'],

  fingerprint: () => nativeFingerprint({ architecture: process.arch, reproducible }),
  build: (staging) => compileNative('gcc', staging, reproducible, quickLibrary()),
};

/** Without a number of the build, or names of directories of anyone who compiles. */
export const reproducible = ['-Wl,--build-id=none', '-ffile-prefix-map=/='];

/** What compiles and links with musl on the machine that this is, before and behind the sources; undefined where there is none. */
export function quickLibrary() {
  const triplet = `${process.arch === 'x64' ? 'x86_64' : 'aarch64'}-linux`;
  const library = (name) => `/usr/lib/${triplet}-musl/${name}`;
  const parts = ['rcrt1.o', 'crti.o', 'libc.a', 'crtn.o'].map(library);
  if (!parts.every((path) => existsSync(path))) return undefined;
  const [start, begin, all, end] = parts;
  const headers = ['-isystem', `/usr/include/${triplet}-musl`];
  const ofKernel = ['-idirafter', '/usr/include', '-idirafter', `/usr/include/${triplet}-gnu`];
  return { before: ['-nostdinc', ...headers, ...ofKernel, '-nostdlib', start, begin], behind: [all, '-lgcc', end] };
}

export function nativeFingerprint(settings) {
  const sources = filesBelow(inCheckout('native'), (path) => /\.[ch]$/.test(path));
  return fingerprint(
    { flags, programFlags, libraryFlags, quick: quickLibrary() ?? {}, ...settings },
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
      const { before, behind } = (quick.includes(name) ? ofQuick : undefined) ?? { before: [], behind: [] };
      await runQuietly(compiler, [...flags, ...more, ...kind, ...before, ...own, ...behind], { cwd: root });
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
