/**
 * A product: something under `dist/` that is made from files of the checkout.
 *
 * Its stamp holds the fingerprint of what it was made from and a signature of each file that was made. It is stale when
 * either differs. The stamp is removed before a build and written after it, so an interrupted build is simply stale.
 * A build writes into a staging directory and renames; the caller holds the set-up's lock.
 */

import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dist } from './checkout.mjs';
import { filesBelow, prune, publish, signatureOf } from './files.mjs';

const stampOf = (product) => join(dist, '.stamps', `${product.name}.json`);

/** Why the product has to be made, or undefined. */
export function staleness(product) {
  const stamp = readStamp(product);
  if (stamp === undefined) return 'not built yet';
  if (stamp.fingerprint !== product.fingerprint()) return 'sources changed';
  const directory = join(dist, product.name);
  for (const [path, signature] of Object.entries(stamp.outputs)) {
    if (signatureOf(join(directory, path)) !== signature) return `dist/${product.name}/${path} is not as it was built`;
  }
  const stray = filesBelow(directory).find((path) => !(path in stamp.outputs));
  return stray === undefined ? undefined : `dist/${product.name}/${stray} is left over`;
}

export async function make(product) {
  const directory = join(dist, product.name);
  // As deep as what it becomes, so that the relative paths in source maps are right.
  const staging = join(dist, `.staging-${product.name}`);
  rmSync(stampOf(product), { force: true });
  rmSync(staging, { recursive: true, force: true });
  mkdirSync(staging, { recursive: true });
  // Taken before the build: what is edited meanwhile is stale afterwards.
  const fingerprint = product.fingerprint();
  await product.build(staging);
  const files = publish(staging, directory);
  prune(directory, (path) => files.includes(path));
  rmSync(staging, { recursive: true, force: true });
  writeStamp(product, {
    fingerprint,
    outputs: Object.fromEntries(files.map((path) => [path, signatureOf(join(directory, path))])),
  });
}

function readStamp(product) {
  try {
    const stamp = JSON.parse(readFileSync(stampOf(product), 'utf8'));
    return typeof stamp?.outputs === 'object' && stamp.outputs !== null ? stamp : undefined;
  } catch {
    return undefined; // Missing or damaged: built again either way.
  }
}

function writeStamp(product, stamp) {
  const path = stampOf(product);
  mkdirSync(join(dist, '.stamps'), { recursive: true });
  writeFileSync(`${path}.new`, `${JSON.stringify(stamp)}\n`);
  renameSync(`${path}.new`, path);
}
