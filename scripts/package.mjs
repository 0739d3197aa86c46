#!/usr/bin/env node
/**
 * `npm run package`: one file that installs without a compiler, a network or a script, `dist/ctxfs-VERSION.tgz`, for npm;
 * `npm run package -- deb` makes `dist/ctxfs_VERSION_all.deb` of the same files; a directory may follow. From the same commit with the same tools the bytes are
 * the same.
 */
import { createHash } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { gzip, tar } from './package/archive.mjs';
import { packageContents } from './package/contents.mjs';
import { debianPackage } from './package/debian.mjs';
import { dist, inCheckout } from './setup/checkout.mjs';
import { setupOrExit } from './setup.mjs';

function npmPackage({ name, version, files }) {
  const inside = files.map((file) => ({ ...file, path: `package/${file.path}` }));
  return { name: `${name}-${version}.tgz`, bytes: gzip(tar(inside)) };
}

const forms = { npm: npmPackage, deb: debianPackage };
const [form = 'npm', directory = dist, ...rest] = process.argv.slice(2);
if (!Object.hasOwn(forms, form) || rest.length > 0) {
  process.stderr.write(`expected npm or deb, and a directory, got ${process.argv.slice(2).join(' ')}\n`);
  process.exit(2);
}
await setupOrExit('package');
const { description } = JSON.parse(readFileSync(inCheckout('package.json'), 'utf8'));
const contents = await packageContents();
const { name, bytes } = forms[form]({ ...contents, description });
const path = resolve(directory, name);
writeFileSync(`${path}.new`, bytes);
renameSync(`${path}.new`, path);
const digest = createHash('sha256').update(bytes).digest('hex');
process.stdout.write(
  `${relative(process.cwd(), path)}  ${bytes.length} bytes, commit ${contents.commit}\nsha256 ${digest}\n`,
);
