/** What a vault knows of itself, as one small file that is whole or absent. Forks know the rest (`fork-meta`). */
import { readJsonFile, writeFileAtomic } from '../base/atomic-file.js';
import { ErrnoError } from '../base/errno.js';
import { workspaceRoot } from './layout.js';

export const storeFormat = 2;

/** What all of it together may hold; a member left out is no limit. */
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
  /** Layers that show the roots as they were last looked at, oldest first. */
  readonly trunk: readonly string[];
  /** Counts the trunk's changes; `edits/N.json` says what changed at N. */
  readonly position: number;
  /** The fork of a command that names none. */
  readonly current: string;
  readonly limits?: VaultLimits | undefined;
  /** The workspace was never copied: the person's directory itself lies at the bottom of its forks (`uncopied`). */
  readonly uncopied?: true | undefined;
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
    isNameList(meta.trunk) &&
    meta.trunk.length > 0 &&
    Number.isSafeInteger(meta.position) &&
    Number(meta.position) >= 0 &&
    isForkName(meta.current) &&
    isLimits(meta.limits) &&
    (meta.uncopied === undefined || meta.uncopied === true)
  );
}

export function readVaultMeta(path: string): VaultMeta | undefined {
  const value = readJsonFile(path);
  if (value === undefined) return undefined;
  if (isVaultMeta(value)) return Object.freeze(value);
  throw new ErrnoError('EIO', {
    operation: 'open the vault',
    path,
    reason: `expected a vault of format ${storeFormat}; the file is damaged or newer than this program`,
    remedy: 'move the vault away to start afresh; its layers are plain directories',
  });
}

export function writeVaultMeta(path: string, meta: VaultMeta): void {
  writeFileAtomic(path, `${JSON.stringify(meta, undefined, 2)}\n`, { durable: true });
}
