/** What a vault knows of itself, as one small file that is whole or absent. Forks know the rest (`fork-meta`). */
import { linkSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readJsonFile, readWholeJson, writeFileAtomic } from '../../base/atomic-file.js';
import { currentBoot } from '../../base/boot.js';
import { ErrnoError, fromSystemError, hasCode } from '../../base/errno.js';
import { isKnownRoots, type KnownRoots } from './known-roots.js';
import { storeFormat, workspaceRoot } from './layout.js';

/** What all of it together may hold; a member left out means no limit. */
export interface VaultLimits {
  /** On disk. */
  readonly maxBytes?: number | undefined;
  /** Files, directories and links. */
  readonly maxFiles?: number | undefined;
  /** Of any one file that comes in or is written. */
  readonly maxFileBytes?: number | undefined;
}

export interface VaultMeta {
  readonly format: typeof storeFormat;
  readonly origin: string;
  readonly created: string;
  /** A name that a person gave it. */
  readonly name?: string | undefined;
  /** The directories it holds copies of, by key; the workspace is always one. */
  readonly roots: Readonly<Record<string, string>>;
  /** Which directories these are; absent in a store of an earlier version, until it is next opened. */
  readonly known?: KnownRoots | undefined;
  /** Layers that show the roots as they were last looked at, oldest first. */
  readonly trunk: readonly string[];
  /** Counts the trunk's changes; `edits/N.json` says what changed at N. */
  readonly position: number;
  /** The fork of a command that names none. */
  readonly current: string;
  readonly limits?: VaultLimits | undefined;
  /** The workspace was never copied: the person's directory itself lies at the bottom of its forks (`uncopied`). */
  readonly uncopied?: true | undefined;
  /** The start of the machine it was written in; absent once all that it names is on the disk. */
  readonly boot?: string | undefined;
}

export function isNameList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isLayerName) && new Set(value).size === value.length;
}

/** Names of layers become parts of paths and of mount options. */
function isLayerName(value: unknown): boolean {
  return typeof value === 'string' && /^[0-9a-z][0-9a-z-]{0,63}$/.test(value);
}

/** As every name in ctx; `ROOT@CHECKPOINT` has to stay readable. */
export function isForkName(value: unknown): value is string {
  return typeof value === 'string' && /^[a-zA-Z0-9][a-zA-Z0-9._+-]{0,63}$/.test(value);
}

function isRoots(value: unknown, origin: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const entries = Object.entries(value);
  return (
    (value as Record<string, unknown>)[workspaceRoot] === origin &&
    entries.every(([key, path]) => /^[a-z0-9]{1,16}$/.test(key) && typeof path === 'string' && path.startsWith('/'))
  );
}

function isLimits(value: unknown): boolean {
  if (value === undefined) return true;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.entries(value).every(
    ([key, most]) =>
      ['maxBytes', 'maxFiles', 'maxFileBytes'].includes(key) && Number.isSafeInteger(most) && Number(most) > 0,
  );
}

function isVaultMeta(value: unknown): value is VaultMeta {
  const meta = value as Partial<VaultMeta> | null;
  return (
    typeof meta === 'object' &&
    meta !== null &&
    meta.format === storeFormat &&
    typeof meta.origin === 'string' &&
    typeof meta.created === 'string' &&
    (meta.name === undefined || typeof meta.name === 'string') &&
    isRoots(meta.roots, meta.origin) &&
    isKnownRoots(meta.known) &&
    isNameList(meta.trunk) &&
    meta.trunk.length > 0 &&
    Number.isSafeInteger(meta.position) &&
    Number(meta.position) >= 0 &&
    isForkName(meta.current) &&
    isLimits(meta.limits) &&
    (meta.uncopied === undefined || meta.uncopied === true) &&
    (meta.boot === undefined || typeof meta.boot === 'string')
  );
}

/** The last version that was synced, beside one that is not. */
const syncedBeside = (path: string) => join(dirname(path), 'meta.synced.json');

/** Null for one that is damaged. */
function readNow(path: string): unknown {
  try {
    return readJsonFile(path);
  } catch (error) {
    if (hasCode(error, 'EIO')) return null;
    throw error;
  }
}

/** Where the newest is damaged, the last synced one, which counts as of an earlier start of the machine. */
export function readVaultMeta(path: string): VaultMeta | undefined {
  let value = readNow(path);
  if (value === undefined || value === null) {
    const synced = readWholeJson(syncedBeside(path));
    if (isVaultMeta(synced)) return Object.freeze({ ...synced, boot: 'before the power cut' });
    // Read again, since it may have been made in between: what was not there before is not damaged.
    value = readNow(path);
    if (value === undefined) return undefined;
  }
  if (isVaultMeta(value)) return Object.freeze(value);
  throw new ErrnoError('EIO', {
    operation: 'open the vault',
    path,
    reason: `expected a vault of format ${storeFormat}; the file is damaged or newer than this program`,
    remedy: 'move the vault away to start afresh; its layers are plain directories',
  });
}

/** Whether a power cut may have cost a part of what it names. */
export function isSuspectVault({ boot }: VaultMeta): boolean {
  return boot !== undefined && boot !== currentBoot();
}

/**
 * With layers that may not be on the disk yet: the last synced version stays beside it. `durable`: what a person decided about the vault is
 * on the disk all the same, since recovery takes that from the newest version.
 */
export function writeVaultMeta(
  path: string,
  meta: VaultMeta,
  { durable = false }: { readonly durable?: boolean } = {},
): void {
  const text = `${JSON.stringify(meta, undefined, 2)}\n`;
  if (meta.boot === undefined) {
    writeFileAtomic(path, text, { durable: true });
    return;
  }
  const before = readWholeJson(path);
  if (isVaultMeta(before) && before.boot === undefined) keepSynced(path);
  writeFileAtomic(path, text, { durable });
}

/** By a second name: nothing is written but names. */
function keepSynced(path: string): void {
  const draft = `${syncedBeside(path)}.${process.pid}`;
  try {
    // Left by one that was killed.
    rmSync(draft, { force: true });
    linkSync(path, draft);
    renameSync(draft, syncedBeside(path));
    // Where both are the same file already, since what was to be written after it failed, a rename does nothing.
    rmSync(draft, { force: true });
  } catch (error) {
    throw fromSystemError(error, 'keep', path);
  }
}

/** Layers that either version names. */
export function trunkLayers(path: string): ReadonlySet<string> {
  const synced = readWholeJson(syncedBeside(path));
  return new Set([...(readVaultMeta(path)?.trunk ?? []), ...(isVaultMeta(synced) ? synced.trunk : [])]);
}
