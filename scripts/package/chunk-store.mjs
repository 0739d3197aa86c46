/**
 * The one dependency with a compiled part, lmdb: what of it is used at run time, for both machines. It is found by the bundles as any
 * package is, in `dist/node_modules`; npm looks for dependencies elsewhere and leaves it alone. Everything else is in the bundles.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inCheckout } from '../setup/checkout.mjs';
import { SetupFailure } from '../setup/failure.mjs';
import { filesBelow } from '../setup/files.mjs';
import { runQuietly } from '../setup/run.mjs';

const used = /\.(?:c?js|json)$|^LICENSE/;
const unused =
  /(?:^|\/)(?:src|dependencies|test|tests|benchmarks|bin|dict)\/|(?:^|\/)(?:rollup\.config|build-test|benchmark|test-worker)\b|(?:^|\/)dist\/test\.js$|\.map$/;
/** Of the compiled ones that is for every Node. */
const compiled = 'node.napi.glibc.node';

const locked = () => JSON.parse(readFileSync(inCheckout('package-lock.json'), 'utf8')).packages;

function closure(name, packages, found = new Set()) {
  if (found.has(name)) return found;
  found.add(name);
  for (const other of Object.keys(packages[`node_modules/${name}`]?.dependencies ?? {}))
    closure(other, packages, found);
  return found;
}

function filesOf(name, accept) {
  const directory = inCheckout('node_modules', name);
  return filesBelow(directory, accept).map((path) => ({
    path: `dist/node_modules/${name}/${path}`,
    bytes: readFileSync(join(directory, path)),
    mode: 0o644,
  }));
}

/** Two packages may be made at once: they have fetched the same, and the first one stays. */
function putAt(place, directory) {
  try {
    renameSync(directory, place);
  } catch (error) {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  }
}

/** A package for the machine that this is not, as the lock file has it: fetched once, by npm, and checked. */
async function fetched(name, { version, integrity }) {
  const place = inCheckout('dist', 'fetched', `${name.replace('/', '+')}-${version}`);
  if (!existsSync(place)) {
    mkdirSync(dirname(place), { recursive: true });
    const scratch = mkdtempSync(`${place}.`);
    try {
      await runQuietly('npm', [
        'pack',
        '--silent',
        '--ignore-scripts',
        '--pack-destination',
        scratch,
        `${name}@${version}`,
      ]);
      const [archive] = filesBelow(scratch);
      const digest = createHash('sha512')
        .update(readFileSync(join(scratch, archive)))
        .digest('base64');
      if (`sha512-${digest}` !== integrity) {
        throw new SetupFailure(`${name}@${version} is not what package-lock.json says: expected ${integrity}.`);
      }
      await runQuietly('tar', ['-xzf', join(scratch, archive), '-C', scratch]);
      putAt(place, join(scratch, 'package'));
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  }
  return place;
}

async function compiledFor(machine, packages) {
  const name = `@lmdb/lmdb-linux-${machine}`;
  const directory =
    machine === process.arch ? inCheckout('node_modules', name) : await fetched(name, packages[`node_modules/${name}`]);
  return ['index.js', 'package.json', compiled].map((path) => ({
    path: `dist/node_modules/${name}/${path}`,
    bytes: readFileSync(join(directory, path)),
    mode: 0o644,
  }));
}

export async function chunkStore(machines) {
  const packages = locked();
  const scripts = [...closure('lmdb', packages)]
    .filter((name) => name !== 'node-addon-api')
    .flatMap((name) => filesOf(name, (path) => used.test(path) && !unused.test(path)));
  const binaries = await Promise.all(machines.map((machine) => compiledFor(machine, packages)));
  return [...scripts, ...binaries.flat()];
}
