/**
 * Secrets at rest: one file each in the store, which no jail shows, mode 0600. A file holds the value, or a command of
 * the person's password manager that prints it. Environment variables of the caller come before these: a person who
 * sets one means this call.
 */

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readJsonFile, removeDurably, removeLeftDrafts, writeFileAtomic } from '../../base/atomic-file.js';
import { ErrnoError, fromSystemError, hasCode } from '../../base/errno.js';
import { networkSecretCharacters } from '../../base/limits/network.js';
import { makeDurableDirectory } from '../../base/make-directory.js';
import { membersOf } from '../../base/shape.js';
import { storePaths } from '../../vault/store/layout.js';
import type { Host } from '../host.js';

type Place = Pick<Host, 'store'>;

/** Exactly one of the two. */
export type StoredSecret = { readonly value: string } | { readonly command: string };

const secretName = /^[A-Za-z_]\w{0,63}$/;
const printable = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;
const mostCommandCharacters = 4_096;
const format = 1;

function refuse(reason: string, remedy?: string): never {
  throw new ErrnoError('EINVAL', { operation: 'secret', reason, remedy });
}

export function assertSecretName(name: string): void {
  if (secretName.test(name)) return;
  refuse(
    'expected a name of up to 64 letters, digits and _, not beginning with a digit',
    'ctx secret set GITHUB_TOKEN, then $GITHUB_TOKEN in --secret',
  );
}

/** Why a value could not go into a header, and so is not kept or used. The text shows nothing of it. */
export function secretFault(value: string): string | undefined {
  if (printable.test(value) && value.length <= networkSecretCharacters) return undefined;
  const what = value === '' ? 'nothing' : value.includes('\n') ? 'several lines' : 'something else';
  return `expected one line of 1 to ${networkSecretCharacters} printable ASCII characters, got ${what}`;
}

export function assertSecretValue(value: string): void {
  const fault = secretFault(value);
  if (fault !== undefined) refuse(fault);
}

function assertCommand(command: string): void {
  if (command.trim() !== '' && command.length <= mostCommandCharacters && !/[\0\n]/.test(command)) return;
  refuse(`expected --command to be one line of up to ${mostCommandCharacters} characters`);
}

const directoryOf = ({ store }: Place) => storePaths(store.directory).secrets;
const fileOf = (place: Place, name: string) => join(directoryOf(place), `${name}.json`);

export function storeSecret(place: Place, name: string, secret: StoredSecret): void {
  assertSecretName(name);
  if ('value' in secret) assertSecretValue(secret.value);
  else assertCommand(secret.command);
  makeDurableDirectory(directoryOf(place));
  // First, so that they are gone from the disk, too, when the name of this one is there.
  removeDrafts(place);
  const text = `${JSON.stringify({ format, ...secret })}\n`;
  writeFileAtomic(fileOf(place, name), text, { durable: true, mode: 0o600 });
}

/** What a process that was killed had begun to store: values, of which no one would know. Of every name: it may never be set again. */
function removeDrafts(place: Place): void {
  try {
    removeLeftDrafts(directoryOf(place), (file) => file.endsWith('.json'));
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw fromSystemError(error, 'secret', directoryOf(place));
  }
}

/** Undefined where none of that name is stored. */
export function readSecret(place: Place, name: string): StoredSecret | undefined {
  assertSecretName(name);
  const path = fileOf(place, name);
  const read = readJsonFile(path);
  if (read === undefined) return undefined;
  const found = membersOf(read);
  const about = statSync(path, { throwIfNoEntry: false });
  if (about === undefined) return undefined;
  if ((about.mode & 0o077) !== 0) {
    throw new ErrnoError('EACCES', {
      operation: 'secret',
      path,
      reason: 'other users may read it: expected mode 0600',
      remedy: `ctx secret set ${name} with a new value; others may know this one`,
    });
  }
  const { value, command } = found;
  if (found['format'] === format && typeof value === 'string') return { value };
  if (found['format'] === format && typeof command === 'string') return { command };
  throw new ErrnoError('EIO', {
    operation: 'secret',
    path,
    reason: 'the file is damaged, or of a newer ctx',
    remedy: `ctx secret set ${name}`,
  });
}

export function storedNames(place: Place): readonly string[] {
  try {
    const files = readdirSync(directoryOf(place)).filter((file) => file.endsWith('.json'));
    return files.map((file) => file.slice(0, -'.json'.length)).sort();
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw fromSystemError(error, 'list', directoryOf(place));
  }
}

/** ENOENT where there is none of that name. */
export function removeSecret(place: Place, name: string): void {
  removeDrafts(place);
  if (!removeDurably(fileOf(place, name))) throw notStored(name);
}

export function notStored(name: string): ErrnoError {
  return new ErrnoError('ENOENT', {
    operation: 'secret',
    reason: `no secret ${name} is stored`,
    remedy: 'ctx secret list',
  });
}

export function missingSecret(name: string): ErrnoError {
  return new ErrnoError('ENOENT', {
    operation: 'secret',
    reason: `the variable ${name} is not set here, and no secret of that name is stored`,
    remedy: `ctx secret set ${name}`,
  });
}
