/** Where the record and what belongs to it are, and how the operator set it up: `audit.json` in the configuration. */
import { join } from 'node:path';
import { readJsonFile } from '../base/atomic-file.js';
import { ErrnoError } from '../base/errno.js';
import { sha256 } from '../base/sha256.js';

export interface AuditPlaces {
  /** The directory of all chains. */
  readonly record: string;
  /** Path of `flock.node`. */
  readonly library: string;
  /** The software root: an anchor outside of the store, one a store. */
  readonly root: string;
  readonly settings: string;
}

export function auditPlaces(record: string, configuration: string, library: string): AuditPlaces {
  return {
    record,
    library,
    root: join(configuration, 'audit-root', `${sha256(record).slice(0, 16)}.jsonl`),
    settings: join(configuration, 'audit.json'),
  };
}

export type AnchorSetting =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'command'; readonly argv: readonly string[] }
  | { readonly kind: 'tpm'; readonly counterIndex?: string; readonly headIndex?: string; readonly tcti?: string };

export interface AuditSettings {
  /** Whether every record waits for the disk. */
  readonly durable: boolean;
  readonly anchors: readonly AnchorSetting[];
  /** Names of anchors that seals still tell of and that are no longer kept, as `ctx audit verify` names them. */
  readonly retired: readonly string[];
}

function refuse(path: string, reason: string): never {
  throw new ErrnoError('EINVAL', { operation: 'audit settings', path, reason });
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function anchorSetting(value: unknown, path: string): AnchorSetting {
  const given = (typeof value === 'object' && value !== null ? value : {}) as Readonly<Record<string, unknown>>;
  const { kind, path: file, argv, counterIndex, headIndex, tcti } = given;
  if (kind === 'file' && isText(file) && file.startsWith('/')) return { kind, path: file };
  if (kind === 'command' && Array.isArray(argv) && argv.length > 0 && argv.every(isText)) return { kind, argv };
  const index = /^0x[0-9a-f]{7,8}$/;
  if (
    kind === 'tpm' &&
    [counterIndex, headIndex].every((each) => each === undefined || (isText(each) && index.test(each)))
  ) {
    return {
      kind,
      ...(isText(counterIndex) ? { counterIndex } : {}),
      ...(isText(headIndex) ? { headIndex } : {}),
      ...(isText(tcti) ? { tcti } : {}),
    };
  }
  return refuse(
    path,
    `expected anchors as {"kind":"file","path":"/..."}, {"kind":"command","argv":[...]} or {"kind":"tpm"}, got ${JSON.stringify(value)}`,
  );
}

export function readAuditSettings(path: string): AuditSettings {
  const value = readJsonFile(path);
  if (value === undefined) return { durable: false, anchors: [], retired: [] };
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return refuse(path, 'expected an object');
  const { durable = false, anchors = [], retired = [], ...others } = value as Readonly<Record<string, unknown>>;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return refuse(path, `expected durable, anchors and retired, got '${unknown}'`);
  if (typeof durable !== 'boolean') return refuse(path, 'expected durable to be true or false');
  if (!Array.isArray(anchors)) return refuse(path, 'expected anchors to be a list');
  if (!Array.isArray(retired) || !retired.every(isText)) {
    return refuse(path, 'expected retired to be a list of names of anchors');
  }
  return { durable, anchors: anchors.map((each) => anchorSetting(each, path)), retired };
}
