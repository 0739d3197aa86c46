/** The command that changed a file last, whom it ran for, and when. */
import { existsSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { type Blame, blame } from '../../audit/blame.js';
import { find } from '../../audit/query.js';
import type { RecordReader } from '../../audit/reader.js';
import { contains } from '../../authority/absolute-path.js';
import { ErrnoError } from '../../base/errno.js';
import { encodePath, isUtf8Text } from '../../base/path-bytes.js';
import { shellWord } from '../../base/visible-text.js';
import { type Host, placeOf } from '../../proxy/host.js';
import { currentDirectory } from '../current-directory.js';

export interface Blamed extends Blame {
  /** Relative to the workspace. */
  readonly path: string;
  readonly origin: string;
  /** The file here is newer than what ctx wrote: somebody else changed it since. */
  readonly changedSince: boolean;
}

/** Its directory may be in the fork only, or have a name that is not UTF-8: then the nearest other one that is here says which workspace it belongs to. */
function nearest(path: string): string {
  let at = dirname(path);
  while (!(isUtf8Text(at) && existsSync(at)) && at !== '/') at = dirname(at);
  return at;
}

function changedSince(path: string, { applied, state }: Blame): boolean {
  if (state !== 'applied' || applied === undefined || !existsSync(encodePath(path))) return false;
  return statSync(encodePath(path)).mtimeMs > Date.parse(applied.body.ts) + 1;
}

/** From the chains that may be read. */
export function blameFile(host: Host, file: string, reader: RecordReader, mayRead: (chain: string) => boolean): Blamed {
  const operation = 'ctx blame';
  const asked = resolve(currentDirectory(), file);
  const near = nearest(asked);
  const { directory, origin } = placeOf(host, near);
  const path = join(directory, asked.slice(near.length));
  if (!contains(origin, path) || path === origin) {
    throw new ErrnoError('EINVAL', {
      operation,
      path: asked,
      reason: 'expected a file of a workspace',
      remedy: 'ctx vault list shows the directories that commands ran in',
    });
  }
  const relative = path.slice(origin.length + 1);
  const found = blame(find(reader, {}, mayRead), origin, relative);
  if (found === undefined) {
    throw new ErrnoError('ENOENT', {
      operation,
      path: relative,
      reason: 'no command in a jail changed it, as far as the record says',
      remedy: `ctx audit query --path ${shellWord(basename(relative))} shows what names it`,
    });
  }
  return { ...found, path: relative, origin, changedSince: changedSince(path, found) };
}
