#!/usr/bin/env node
/**
 * `npm run package`: one file that installs without a compiler, a network or a script, `dist/ctxfs-VERSION.tgz`, for npm;
 * `npm run package -- deb` makes `dist/ctxfs_VERSION_all.deb` of the same files; a directory may follow. From the same
 * commit with the same tools the bytes are the same.
 *
 * `npm pack` calls it when it has written its own archive (`npm --packed`), which has no more than `files` of
 * package.json: the package takes the place of that one, so that both commands give the same file.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
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
const [form = 'npm', place = dist, ...rest] = process.argv.slice(2);
const isPacked = place === '--packed';
/** Where npm has just put its archive. */
const packedInto = () => resolve(process.env.INIT_CWD ?? '.', process.env.npm_config_pack_destination ?? '.');
const directory = isPacked ? packedInto() : place;
if (!Object.hasOwn(forms, form) || rest.length > 0) {
  process.stderr.write(`expected npm or deb, and a directory, got ${process.argv.slice(2).join(' ')}\n`);
  process.exit(2);
}
const { description, ...own } = JSON.parse(readFileSync(inCheckout('package.json'), 'utf8'));
// `npm pack --dry-run` writes nothing.
if (isPacked && !existsSync(resolve(directory, `${own.name}-${own.version}.tgz`))) process.exit(0);
await setupOrExit('package');
const contents = await packageContents();
const { name, bytes } = forms[form]({ ...contents, description });
const path = resolve(directory, name);
writeFileSync(`${path}.new`, bytes);
renameSync(`${path}.new`, path);
const digest = createHash('sha256').update(bytes).digest('hex');
// What npm pack says on stdout is the name of the file.
const said = isPacked ? process.stderr : process.stdout;
said.write(`${relative(process.cwd(), path)}  ${bytes.length} bytes, commit ${contents.commit}\nsha256 ${digest}\n`);
