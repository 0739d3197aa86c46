/**
 * What a fork knows of itself. A stack is what a state of a fork is made of: the trunk as it was then, the deltas above it.
 * Its live layer, on top of all, is the one a command writes. To freeze it is to name it among the deltas and another one
 * as the live layer: one small write, whatever the tree holds.
 */
import { currentBoot } from '../../base/boot.js';
import { ErrnoError } from '../../base/errno.js';
import { storeFormat } from './layout.js';
import { readNewest, readVersions, type StateWriting, type Version, writeState } from './state-file.js';
import { isNameList } from './vault-meta.js';

export interface Stack {
  /** The trunk's position that `base` is of. */
  readonly position: number;
  /** Layers of the trunk, oldest first. */
  readonly base: readonly string[];
  /** Frozen deltas above it, oldest first. */
  readonly deltas: readonly string[];
}

/** A chunked tree that a command wrote to: its snapshot from before, and how often it had been changed afterwards. */
export interface CheckpointTree {
  readonly file: string;
  readonly before: string;
  readonly after: number;
}

export interface Checkpoint extends Stack {
  /** Trees beside the fork that the command after it changed: a rollback takes them back, too. */
  readonly trees?: readonly CheckpointTree[];
  /** Commands that came while those after it were at work: a rollback undoes all of them. */
  readonly beside?: readonly string[];
  /** A number, as the person names it; never used twice in one fork. */
  readonly id: number;
  readonly name?: string | undefined;
  readonly made: string;
  /** Made by itself before a command. */
  readonly automatic: boolean;
  /** What came after it: the command, or who asked. */
  readonly reason: string;
  /** It was rolled back behind: only its number leads to it. */
  readonly undone?: boolean | undefined;
  /** Paths in conflict at that time. */
  readonly clashes: readonly string[];
}

export interface ForkMeta extends Stack {
  readonly format: typeof storeFormat;
  readonly created: string;
  /** The fork it was made from. */
  readonly from?: string | undefined;
  readonly live: string;
  /** Paths that both the person and the fork changed since they last agreed. */
  readonly clashes: readonly string[];
  /** Oldest first. */
  readonly checkpoints: readonly Checkpoint[];
  readonly nextCheckpoint: number;
  /** Layers that its commands have mounted, where the stack is a newer one: their edits entered while they run. */
  readonly mounted?: readonly string[] | undefined;
  /** Layers that hold what an apply replaced, oldest first. */
  readonly applied?: readonly string[] | undefined;
}

function isStringList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function isStack(value: Partial<Stack>): boolean {
  return Number.isSafeInteger(value.position) && isNameList(value.base) && isNameList(value.deltas);
}

function isTree(value: unknown): value is CheckpointTree {
  const { file, before, after } = (value ?? {}) as Partial<CheckpointTree>;
  return typeof file === 'string' && typeof before === 'string' && Number.isSafeInteger(after);
}

function isCheckpoint(value: unknown): value is Checkpoint {
  const checkpoint = value as Partial<Checkpoint> | null;
  return (
    typeof checkpoint === 'object' &&
    checkpoint !== null &&
    Number.isSafeInteger(checkpoint.id) &&
    (checkpoint.name === undefined || typeof checkpoint.name === 'string') &&
    typeof checkpoint.made === 'string' &&
    typeof checkpoint.automatic === 'boolean' &&
    typeof checkpoint.reason === 'string' &&
    isStringList(checkpoint.clashes) &&
    (checkpoint.beside === undefined || isStringList(checkpoint.beside)) &&
    (checkpoint.trees === undefined || (Array.isArray(checkpoint.trees) && checkpoint.trees.every(isTree))) &&
    isStack(checkpoint)
  );
}

function isForkMeta(value: unknown): value is ForkMeta {
  const meta = value as Partial<ForkMeta> | null;
  return (
    typeof meta === 'object' &&
    meta !== null &&
    meta.format === storeFormat &&
    typeof meta.created === 'string' &&
    isStack(meta) &&
    isNameList([meta.live]) &&
    meta.deltas?.includes(meta.live ?? '') === false &&
    isStringList(meta.clashes) &&
    Array.isArray(meta.checkpoints) &&
    meta.checkpoints.every(isCheckpoint) &&
    Number.isSafeInteger(meta.nextCheckpoint) &&
    (meta.mounted === undefined || isNameList(meta.mounted)) &&
    (meta.applied === undefined || isNameList(meta.applied))
  );
}

/** Those that were looked through, or that we made: the same object comes again as long as its file is the same. */
const known = new WeakSet<object>();

function checked(value: unknown, directory: string): ForkMeta {
  if (typeof value === 'object' && value !== null && known.has(value)) return value as ForkMeta;
  if (isForkMeta(value)) {
    known.add(value);
    return Object.freeze(value);
  }
  throw new ErrnoError('EIO', {
    operation: 'open the fork',
    path: directory,
    reason: `expected a fork of format ${storeFormat}; its state is damaged or newer than this program`,
    remedy: 'ctx fsck names what is left; its layers are plain directories',
  });
}

export function readForkMeta(directory: string): ForkMeta | undefined {
  const newest = readNewest(directory);
  return newest === undefined ? undefined : checked(newest.value, directory);
}

/** Undefined where it cannot be read: for anyone who looks at all forks, and must not be stopped by one. */
export function readableForkMeta(directory: string): ForkMeta | undefined {
  try {
    return readForkMeta(directory);
  } catch (error) {
    if (error instanceof ErrnoError && error.code === 'EIO') return undefined;
    throw error;
  }
}

/** Whether a power cut may have cost a part of the newest state, or of what it names. */
export function isSuspect(directory: string): boolean {
  const newest = readNewest(directory);
  return newest !== undefined && (newest.skipped || (newest.boot !== undefined && newest.boot !== currentBoot()));
}

export interface ForkVersion extends Version {
  readonly value: ForkMeta;
}

/** Every version that may be gone back to, newest first. */
export function forkVersions(directory: string): readonly ForkVersion[] {
  return readVersions(directory).whole.filter((version): version is ForkVersion => isForkMeta(version.value));
}

export function writeForkMeta(directory: string, meta: ForkMeta, options: StateWriting): void {
  writeState(directory, meta, options);
  known.add(meta);
}

export function hasSameDeltas(left: Stack, right: Stack): boolean {
  return left.deltas.length === right.deltas.length && left.deltas.every((name, index) => right.deltas[index] === name);
}

/** Whether nothing was written between the two, nor applied: an apply leaves no deltas, as there were none at the start. */
export function isSameStack(left: Stack, right: Stack): boolean {
  return left.position === right.position && hasSameDeltas(left, right);
}

/** The fork on another stack that stands for the same state; checkpoints of this state move with it. */
export function restacked(meta: ForkMeta, { position, base, deltas }: Stack, clashes = meta.clashes): ForkMeta {
  const moved = { position, base, deltas, clashes };
  const checkpoints = meta.checkpoints.map((each) => (isSameStack(each, meta) ? { ...each, ...moved } : each));
  return { ...meta, ...moved, checkpoints };
}

/** Every layer a fork needs, its checkpoints' too. */
export function layersNamedBy(meta: ForkMeta): ReadonlySet<string> {
  return new Set([
    meta.live,
    ...(meta.mounted ?? []),
    ...(meta.applied ?? []),
    ...[meta, ...meta.checkpoints].flatMap(({ base, deltas }) => [...base, ...deltas]),
  ]);
}

/** Every layer that any version of a fork needs: the newest may turn out to be lost. */
export function layersOfVersions(directory: string): ReadonlySet<string> {
  return new Set(forkVersions(directory).flatMap(({ value }) => [...layersNamedBy(value)]));
}
