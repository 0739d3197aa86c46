/**
 * Whether a project's defaults count: the person has confirmed exactly these bytes, for exactly this directory. What was confirmed is
 * kept in the store as it was understood then, so that a command reads no TOML, and uses what was shown and nothing else.
 *
 * Whatever does not match counts for nothing: the command runs without, and its report says so. It is read from the directory itself,
 * never from a fork: what an agent writes there has to be applied, and confirmed, first.
 */
import { dirname, join } from 'node:path';
import type { ProjectDefaults } from '../../authority/project-file.js';
import { readWholeJson, removeDurably, removeLeftDrafts, writeFileAtomic } from '../../base/atomic-file.js';
import { currentBoot } from '../../base/boot.js';
import { canonicalPath } from '../../base/canonical-path.js';
import { type InodeIdentity, identityOf, isIdentity } from '../../base/directory-identity.js';
import { ErrnoError, fromSystemError, hasCode } from '../../base/errno.js';
import { projectFileBytes } from '../../base/limits/objects.js';
import { makeDurableDirectory } from '../../base/make-directory.js';
import { sha256 } from '../../base/sha256.js';
import { having, integer, ofShape, optional, word } from '../../base/shape.js';
import { readSmallFile } from '../../base/small-file.js';
import { isStillRoot } from '../../vault/store/known-roots.js';
import { storePaths, vaultId } from '../../vault/store/layout.js';
import type { Host } from '../host.js';

type TrustHost = Pick<Host, 'store'>;

export const projectFileName = '.ctx/project.toml';
/** Of what is kept: a confirmation of an older one has to be given again. 2: where each read leads. */
const format = 2;

export interface ProjectText {
  readonly text: string;
  /** SHA-256 of its bytes. */
  readonly digest: string;
}

/** What counts here, and what is said of what does not. */
export type ProjectState =
  | { readonly kind: 'none' }
  | { readonly kind: 'confirmed'; readonly digest: string; readonly defaults: ProjectDefaults }
  | { readonly kind: 'unconfirmed'; readonly digest: string | null; readonly reason: string };

interface Confirmed {
  readonly format: number;
  readonly origin: string;
  readonly identity: InodeIdentity;
  /** Of the machine, when it was confirmed: the device may have another number after the next one. */
  readonly boot?: string;
  readonly digest: string;
  readonly defaults: ProjectDefaults;
}

const fileIn = (origin: string) => join(origin, projectFileName);
const recordOf = ({ store }: TrustHost, origin: string) =>
  join(storePaths(store.directory).trusted, `${vaultId(origin)}.json`);

/** Undefined where there is none. One behind a link is not the project's own, and refused. */
export function readProject(origin: string): ProjectText | undefined {
  const file = fileIn(origin);
  const real = canonicalPath(file);
  if (real === undefined) return undefined;
  if (real !== file) {
    throw new ErrnoError('EINVAL', {
      operation: 'read the project',
      path: file,
      reason: 'expected a file, found a link',
    });
  }
  try {
    const text = readSmallFile(file, projectFileBytes);
    // Bytes that are no UTF-8 would all read alike.
    if (text.includes('\ufffd')) {
      throw new ErrnoError('EINVAL', { operation: 'read the project', path: file, reason: 'expected UTF-8' });
    }
    return { text, digest: sha256(text) };
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw fromSystemError(error, 'read the project', file);
  }
}

function readConfirmed(host: TrustHost, origin: string): Confirmed | undefined {
  const shape = having({
    format: integer(0),
    origin: word,
    identity: word,
    boot: optional(word),
    digest: word,
    defaults: having({}),
  });
  const found = ofShape<Confirmed>(readWholeJson(recordOf(host, origin)), shape);
  return found?.format === format && found.origin === origin && isIdentity(found.identity) ? found : undefined;
}

/** As a vault knows its roots: disks and mounts are numbered anew, and the directory is the same. */
function isOf({ identity, boot = '' }: Confirmed, origin: string): boolean {
  return isStillRoot({ is: identity, boot }, identityOf(origin), currentBoot());
}

const unconfirmed = (digest: string | null, reason: string): ProjectState => ({ kind: 'unconfirmed', digest, reason });

/** Never throws for what stands in the project: that must not keep a command from running. */
export function projectAt(host: TrustHost, origin: string): ProjectState {
  let found: ProjectText | undefined;
  try {
    found = readProject(origin);
  } catch (error) {
    if (!(error instanceof ErrnoError)) throw error;
    return unconfirmed(null, error.reason);
  }
  if (found === undefined) return { kind: 'none' };
  const { digest } = found;
  const known = readConfirmed(host, origin);
  if (known === undefined) return unconfirmed(digest, 'it is not confirmed');
  if (known.digest !== digest) return unconfirmed(digest, 'it has changed since it was confirmed');
  if (!isOf(known, origin)) {
    return unconfirmed(digest, 'it was confirmed for another directory that was here');
  }
  return { kind: 'confirmed', digest, defaults: known.defaults };
}

export function storeConfirmed(host: TrustHost, origin: string, digest: string, defaults: ProjectDefaults): void {
  const record: Confirmed = { format, origin, identity: identityOf(origin), boot: currentBoot(), digest, defaults };
  const path = recordOf(host, origin);
  makeDurableDirectory(dirname(path));
  removeLeftDrafts(dirname(path), (each) => each.endsWith('.json'));
  writeFileAtomic(path, `${JSON.stringify(record)}\n`, { durable: true, mode: 0o600 });
}

/** False where nothing was confirmed. */
export function forgetConfirmed(host: TrustHost, origin: string): boolean {
  if (readConfirmed(host, origin) === undefined) return false;
  return removeDurably(recordOf(host, origin));
}
