/** What a package holds, as a list of files. Made of what the set-up has built; nothing here depends on when or where. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { packagedCli, packagedSdk } from '../setup/bundled-cli.mjs';
import { inCheckout } from '../setup/checkout.mjs';
import { filesBelow } from '../setup/files.mjs';
import { machines } from '../setup/packaged-programs.mjs';
import { runQuietly } from '../setup/run.mjs';
import { chunkStore } from './chunk-store.mjs';

const plain = (path, from = path) => ({ path, bytes: readFileSync(inCheckout(from)), mode: 0o644 });

function nativeFiles() {
  return Object.keys(machines).flatMap((machine) =>
    filesBelow(inCheckout('dist/packaged', machine)).map((name) => ({
      ...plain(`dist/native/${machine}/${name}`, `dist/packaged/${machine}/${name}`),
      mode: name.endsWith('.node') ? 0o644 : 0o755,
    })),
  );
}

function typeFiles() {
  const ofProduct = (path) => path.endsWith('.d.ts') && !/(?:\.test|-fixture)\.d\.ts$/.test(path);
  return filesBelow(inCheckout('dist/js/src'), ofProduct).map((path) =>
    plain(`dist/types/${path}`, `dist/js/src/${path}`),
  );
}

/** The bundle that the checkout runs prints them: they come from the same table as the verbs themselves. */
async function completions() {
  const shells = { bash: 'ctx.bash', zsh: '_ctx', fish: 'ctx.fish' };
  const script = inCheckout('dist/js/src/main.js');
  return Promise.all(
    Object.entries(shells).map(async ([shell, file]) => ({
      path: `share/completions/${file}`,
      bytes: Buffer.from(await runQuietly(process.execPath, [script, 'completion', shell])),
      mode: 0o644,
    })),
  );
}

function manifest({ name, version, description, license, type, engines, os, bin }) {
  const value = {
    name,
    version,
    description,
    license,
    type,
    engines,
    os,
    cpu: Object.keys(machines),
    bin,
    man: ['share/man/ctx.1'],
    exports: { '.': { types: './dist/types/index.d.ts', default: './dist/sdk/index.js' } },
  };
  return { path: 'package.json', bytes: Buffer.from(`${JSON.stringify(value, null, 2)}\n`), mode: 0o644 };
}

/** The commit, marked where the files are not those of it. */
export async function commitOf() {
  const commit = (await runQuietly('git', ['rev-parse', 'HEAD'])).trim();
  const changed = (await runQuietly('git', ['status', '--porcelain', '--untracked-files=normal'])).trim() !== '';
  return changed ? `${commit}-modified` : commit;
}

/** Digests of everything that is loaded or run, for the check at the first start (`src/base/installation.ts`). */
function buildFile(version, commit, files) {
  const digests = files
    .filter(({ path }) => /^(?:bin|dist)\//.test(path) && !path.startsWith('dist/types/'))
    .map(({ path, bytes }) => [path, createHash('sha256').update(bytes).digest('hex')])
    .sort();
  const value = { version, commit, files: Object.fromEntries(digests) };
  return { path: 'dist/build.json', bytes: Buffer.from(`${JSON.stringify(value, null, 1)}\n`), mode: 0o644 };
}

export async function packageContents() {
  const own = JSON.parse(readFileSync(inCheckout('package.json'), 'utf8'));
  const placed = (folder, files) => files.map(({ path, bytes }) => ({ path: `${folder}/${path}`, bytes, mode: 0o644 }));
  const [cli, sdk, store, shells, commit] = await Promise.all([
    packagedCli(),
    packagedSdk(),
    chunkStore(Object.keys(machines)),
    completions(),
    commitOf(),
  ]);
  const files = [
    manifest(own),
    { ...plain('bin/ctx'), mode: 0o755 },
    ...placed('dist/cli', cli),
    ...placed('dist/sdk', sdk),
    ...nativeFiles(),
    ...typeFiles(),
    ...store,
    ...shells,
    plain('share/man/ctx.1', 'docs/ctx.1'),
    ...['README.md', 'LICENSE', 'CHANGELOG.md'].map((path) => plain(path)),
  ];
  return { name: own.name, version: own.version, commit, files: [...files, buildFile(own.version, commit, files)] };
}
