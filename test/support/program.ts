/** The built product, at a place that the user of a suite can reach. */
import { cpSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestUser } from './users.js';

export const checkout = fileURLToPath(new URL('../../../../', import.meta.url)).replace(/\/$/, '');

function everybodyMayEnter(path: string): boolean {
  for (let at = path; at !== '/'; at = dirname(at)) if ((statSync(at).mode & 0o001) === 0) return false;
  return true;
}

/** A directory for temporary files that every user can reach. */
export function temporaryRoot(): string {
  const found = [process.env['TMPDIR'], '/tmp', '/var/tmp'].find(
    (path) => path?.startsWith('/') === true && everybodyMayEnter(path),
  );
  return found ?? '/tmp';
}

/** Path of `ctx` for the user: the checkout's own, or a copy in `directory` where the checkout is closed to them. */
export function ctxProgramFor(user: TestUser, directory: string): string {
  if (user.uid === process.getuid?.() || everybodyMayEnter(checkout)) return join(checkout, 'bin', 'ctx');
  return join(copyOfProduct(join(directory, 'ctxfs')), 'bin', 'ctx');
}

/** Packages with a compiled part, which no bundle holds. */
const unbundled = [
  'lmdb',
  '@lmdb',
  '@harperfast',
  'msgpackr',
  'msgpackr-extract',
  '@msgpackr-extract',
  'node-addon-api',
  'node-gyp-build-optional-packages',
  'detect-libc',
  'ordered-binary',
  'weak-lru-cache',
].map((name) => `node_modules/${name}`);

/** The product at a place of its own, where its parts can be broken. */
export function copyOfProduct(copy: string): string {
  for (const part of [
    'bin',
    'dist/cli',
    'dist/native',
    ...unbundled.filter((name) => existsSync(join(checkout, name))),
  ]) {
    mkdirSync(join(copy, dirname(part)), { recursive: true, mode: 0o755 });
    cpSync(join(checkout, part), join(copy, part), { recursive: true });
  }
  return copy;
}
