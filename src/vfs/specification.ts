/** `memory:`, `host:PATH`, `chunked:FILE[@SNAPSHOT]`, and the others: a tree as a person writes it. Pure. */
import { isAbsolute, resolve } from 'node:path';
import { ErrnoError } from '../base/errno.js';

/** One engine and what it needs. */
export type EngineSpecification =
  | { readonly engine: 'memory' }
  | { readonly engine: 'host'; readonly path: string }
  | { readonly engine: 'chunked'; readonly file: string; readonly snapshot: string | undefined }
  | { readonly engine: 's3'; readonly bucket: string; readonly prefix: string }
  | { readonly engine: 'webdav'; readonly url: string }
  | { readonly engine: 'rclone'; readonly remote: string };

/** A file that mounts several trees in one: docs/vfs.md. */
export interface TableSpecification {
  readonly engine: 'table';
  readonly file: string;
}

export type Specification = EngineSpecification | TableSpecification;

export const engineForms = [
  'memory:',
  'host:PATH',
  'chunked:FILE',
  'chunked:FILE@SNAPSHOT',
  's3://BUCKET/PREFIX',
  'webdav:URL',
  'rclone:REMOTE:PATH',
  'FILE.toml',
] as const;

/** What begins like an engine's name is one, known or not; so a file of that kind is written as `./a:b.toml`. */
const engineName = /^[a-z][a-z0-9]*:/;

/** Of a snapshot, and of nothing else: what a path never has at its end by chance. */
const snapshotName = /^[a-zA-Z0-9][a-zA-Z0-9._+-]{0,63}$/;

function refuse(text: string, reason: string): never {
  throw new ErrnoError('EINVAL', {
    operation: 'vfs',
    path: text,
    reason,
    remedy: `a tree is written as one of: ${engineForms.join(', ')}`,
  });
}

/** Relative paths are below `directory`. EINVAL for what is none of the forms. */
export function parseSpecification(text: string, directory: string): Specification {
  if (text.endsWith('.toml') && !engineName.test(text) && !text.includes('\0')) {
    return { engine: 'table', file: resolve(directory, text) };
  }
  const colon = text.indexOf(':');
  if (colon < 0) refuse(text, 'expected the name of an engine and a colon first');
  const [engine, rest] = [text.slice(0, colon), text.slice(colon + 1)];
  if (rest.includes('\0')) refuse(text, 'expected a text without NUL');
  switch (engine) {
    case 'memory':
      if (rest !== '') refuse(text, `expected nothing after 'memory:', got '${rest}'`);
      return { engine };
    case 'host':
      if (rest === '') refuse(text, "expected a directory after 'host:'");
      return { engine, path: isAbsolute(rest) ? rest : resolve(directory, rest) };
    case 'chunked':
      return chunked(text, rest, directory);
    case 's3':
      return s3(text, rest);
    case 'webdav':
      return webdav(text, rest);
    case 'rclone':
      // What begins with a dash would be an option of rclone.
      if (rest === '' || rest.startsWith('-')) refuse(text, "expected REMOTE:PATH after 'rclone:'");
      if (connectionString.test(rest)) {
        // A SPEC is in reports, in the record and in the list of processes, and what is said here may be a password.
        throw new ErrnoError('EINVAL', {
          operation: 'vfs',
          path: 'rclone:',
          reason: 'expected the name of a remote, without settings in it',
          remedy: 'save the settings as a remote (rclone config), or set them by RCLONE_ variables',
        });
      }
      return { engine, remote: rest };
    default:
      return refuse(text, `unknown engine '${engine}'`);
  }
}

/** As a file says it that has no directory of its own: paths are written in full. EINVAL */
export function parseWholeSpecification(text: string): Specification {
  const parsed = parseSpecification(text, '/');
  if (/^(?:host|chunked):(?!\/)/.test(text)) refuse(text, 'expected an absolute path after the colon');
  return parsed;
}

/** The last `@` begins a snapshot's name, where what follows has the form of one. */
function chunked(text: string, rest: string, directory: string): EngineSpecification {
  const at = rest.lastIndexOf('@');
  const name = at < 0 ? undefined : rest.slice(at + 1);
  const isSnapshot = name !== undefined && !name.includes('/');
  const file = isSnapshot ? rest.slice(0, at) : rest;
  if (file === '' || file.endsWith('/')) refuse(text, "expected a file after 'chunked:'");
  if (isSnapshot) checkSnapshotName(name);
  return { engine: 'chunked', file: resolve(directory, file), snapshot: isSnapshot ? name : undefined };
}

/** As Amazon allows, and older servers: an address of this form and no other ever has one. */
const bucketName = /^[a-zA-Z0-9][a-zA-Z0-9._-]{1,254}$/;

/** A prefix names directories: slashes at its ends mean nothing. */
function s3(text: string, rest: string): EngineSpecification {
  const [, bucket = '', prefix = ''] = /^\/\/([^/]*)(?:\/(.*))?$/s.exec(rest) ?? [];
  if (!bucketName.test(bucket)) refuse(text, "expected //BUCKET or //BUCKET/PREFIX after 's3:'");
  const names = prefix.split('/').filter((name) => name !== '');
  if (names.some((name) => name === '.' || name === '..')) refuse(text, "expected a prefix without '.' and '..'");
  return { engine: 's3', bucket, prefix: names.join('/') };
}

function webdav(text: string, rest: string): EngineSpecification {
  if (!/^https?:\/\//.test(rest) || !URL.canParse(rest))
    refuse(text, "expected an http:// or https:// URL after 'webdav:'");
  const { username, password, search, hash } = new URL(rest);
  if (username !== '' || password !== '') {
    // A SPEC is in reports and in the record.
    throw new ErrnoError('EINVAL', {
      operation: 'vfs',
      path: 'webdav:',
      reason: 'expected a URL with no user and no password in it',
      remedy: 'set CTX_WEBDAV_USER and CTX_WEBDAV_PASSWORD for this command',
    });
  }
  if (search !== '' || hash !== '') refuse(text, 'expected a URL that ends with its path');
  return { engine: 'webdav', url: rest };
}

/** As rclone takes settings from a text: `REMOTE,KEY=VALUE:PATH`, `:BACKEND,KEY=VALUE:PATH`. */
const connectionString = /^:?[^/:,]*,.*:/s;

export function checkSnapshotName(name: string): void {
  if (snapshotName.test(name)) return;
  throw new ErrnoError('EINVAL', {
    operation: 'snapshot',
    reason: `expected a name of 1 to 64 letters, digits and . _ + -, beginning with a letter or digit; got '${name}'`,
  });
}
