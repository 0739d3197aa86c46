/** What a vault knows of itself, as one small file that is whole or absent. */
import { readJsonFile, writeFileAtomic } from '../base/atomic-file.js';
import { ErrnoError } from '../base/errno.js';

export interface VaultMeta {
  readonly format: 1;
  readonly origin: string;
  readonly created: string;
  /** Names of frozen layers, oldest first. */
  readonly layers: readonly string[];
  /** The name the next layer gets; names are never used twice. */
  readonly nextLayer: number;
  /** Paths that both the person and the fork changed since they last agreed. */
  readonly clashes: readonly string[];
  /** Set while the fork's delta is becoming a layer of this name, so that a crash in between can be finished. */
  readonly folding?: string | undefined;
}

function isStringList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

/** Layers are named by number; a name beyond the next one would be given twice. */
function areLayers(names: unknown, next: unknown): names is readonly string[] {
  return (
    isStringList(names) &&
    names.length > 0 &&
    new Set(names).size === names.length &&
    names.every((name) => /^(0|[1-9]\d*)$/.test(name) && Number(name) < Number(next))
  );
}

function isVaultMeta(value: unknown): value is VaultMeta {
  const meta = value as Partial<VaultMeta> | null;
  return (
    typeof meta === 'object' &&
    meta !== null &&
    meta.format === 1 &&
    typeof meta.origin === 'string' &&
    typeof meta.created === 'string' &&
    Number.isSafeInteger(meta.nextLayer) &&
    areLayers(meta.layers, meta.nextLayer) &&
    isStringList(meta.clashes) &&
    (meta.folding === undefined || meta.folding === String(meta.nextLayer))
  );
}

export function readVaultMeta(path: string): VaultMeta | undefined {
  const value = readJsonFile(path);
  if (value === undefined) return undefined;
  if (isVaultMeta(value)) return Object.freeze(value);
  throw new ErrnoError('EIO', {
    operation: 'open the vault',
    path,
    reason: 'expected a vault of format 1; the file is damaged or newer than this program',
    remedy: 'move the vault away to start afresh; its layers are plain directories',
  });
}

export function writeVaultMeta(path: string, meta: VaultMeta): void {
  writeFileAtomic(path, `${JSON.stringify(meta, undefined, 2)}\n`, { durable: true });
}
