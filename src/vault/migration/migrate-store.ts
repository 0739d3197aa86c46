/**
 * A store of an older format becomes one of this format. Three promises: a kill at any point is finished by the next verb; until the
 * first command afterwards all of it can be taken back; a store that cannot be migrated as a whole is not touched.
 *
 *   migration/plan.json   every step, on the disk before the first is taken
 *   migration/old/        what the older format had and this one has no use for
 *   migration/lock        held by who migrates, takes back or settles
 *
 * `meta.json` says `migrating` from before the first step until after the last, which a ctx of the older format takes for a newer
 * store, and refuses; then `migrated`, until a command settles it. Vaults are locked meanwhile: who is at work is not disturbed.
 */

import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, fstatSync, lstatSync, openSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readJsonFile, writeFileAtomic } from '../../base/atomic-file.js';
import { ErrnoError, fromSystemError } from '../../base/errno.js';
import { migrationLockMilliseconds } from '../../base/limits/store.js';
import { makeDirectory } from '../../base/make-directory.js';
import { nativeProgram } from '../../base/native-program.js';
import { having, integer, list, ofShape } from '../../base/shape.js';
import { storeFormat, storePaths, vaultPaths } from '../store/layout.js';
import { type Store, type StoreMeta, storeMetaShape, writeStoreMeta } from '../store/store.js';
import { loadStoreMark } from '../store/store-mark.js';
import { throwAway } from '../store/trash.js';
import { planFromFormat1 } from './from-format-1.js';
import { firstChange, type MigrationStep, stepShape, takeBack, takeStep } from './steps.js';

/** How to come from each format to the next one. */
const planners: Readonly<Record<number, typeof planFromFormat1>> = { 1: planFromFormat1 };

interface Plan {
  readonly from: number;
  /** `meta.json` as it was, byte for byte but for its spaces. */
  readonly before: StoreMeta;
  readonly steps: readonly MigrationStep[];
}

const library = () => loadStoreMark(nativeProgram('flock.node'));
const planFile = (store: string) => join(storePaths(store).migration, 'plan.json');
const lockFile = (store: string) => join(storePaths(store).migration, 'lock');

function busy(path: string, reason: string): ErrnoError {
  const remedy = 'wait for it to end, or end it, and try again';
  return new ErrnoError('EBUSY', { operation: 'migrate the store', path, reason, remedy });
}

/** Who waited for a lock whose directory went meanwhile has one that the next one does not see: it begins again. */
function lockMigration(store: string, hold: (descriptor: number, milliseconds: number) => number): number {
  for (;;) {
    makeDirectory(storePaths(store).migration);
    const file = lockFile(store);
    const descriptor = openSync(file, 'a+', 0o600);
    if (hold(descriptor, migrationLockMilliseconds) !== 0) {
      closeSync(descriptor);
      throw busy(file, 'another process of ctx is migrating it');
    }
    if (lstatSync(file, { throwIfNoEntry: false })?.ino === fstatSync(descriptor).ino) return descriptor;
    closeSync(descriptor);
  }
}

/** A command of the older ctx holds the lock of its vault as long as it runs. */
function lockVaults(store: string, hold: (descriptor: number, milliseconds: number) => number): readonly number[] {
  const { vaults } = storePaths(store);
  const held: number[] = [];
  try {
    for (const id of readdirSync(vaults)) {
      const { lock } = vaultPaths(store, id);
      if (!existsSync(lock)) continue;
      const descriptor = openSync(lock, 'a+', 0o600);
      held.push(descriptor);
      if (hold(descriptor, 0) !== 0) throw busy(dirname(lock), 'a command uses this vault');
    }
    return held;
  } catch (error) {
    for (const descriptor of held) closeSync(descriptor);
    throw error;
  }
}

/** Everything that the steps did is on the disk before `meta.json` says so. */
function syncStore(directory: string): void {
  const { status, stderr } = spawnSync(nativeProgram('tree'), ['sync', directory], { encoding: 'utf8' });
  if (status === 0) return;
  throw new ErrnoError('EIO', {
    operation: 'migrate the store',
    path: directory,
    reason: `not synced: ${stderr.trim()}`,
  });
}

/** Alone with the store, or, `beside`, with commands at work: `act` sees what the last one left. */
function alone<T>(
  directory: string,
  { beside = false }: { readonly beside?: boolean },
  act: (about: StoreMeta) => T,
): T {
  const { hold } = library();
  try {
    const lock = lockMigration(directory, hold);
    let held: readonly number[] = [];
    try {
      if (!beside) held = lockVaults(directory, hold);
      return act(readMeta(directory));
    } finally {
      for (const descriptor of [...held, lock]) closeSync(descriptor);
    }
  } catch (error) {
    const { code, operation, path, reason, remedy } = fromSystemError(error, 'migrate the store', directory);
    const next = 'the next ctx goes on where this one stopped';
    throw new ErrnoError(code, { operation, path, reason, remedy: remedy ?? next, cause: error });
  }
}

function readMeta(directory: string): StoreMeta {
  const { meta } = storePaths(directory);
  const about = ofShape<StoreMeta>(readJsonFile(meta), storeMetaShape);
  if (about !== undefined) return about;
  throw new ErrnoError('EIO', { operation: 'migrate the store', path: meta, reason: 'the file is damaged' });
}

const planShape = having({ from: integer(0), before: storeMetaShape, steps: list(stepShape) });

function readPlan(directory: string): Plan {
  const plan = ofShape<Plan>(readJsonFile(planFile(directory)), planShape);
  if (plan !== undefined) return plan;
  throw new ErrnoError('EIO', {
    operation: 'migrate the store',
    path: planFile(directory),
    reason: 'a migration was cut off, and the list of its steps is missing or damaged',
    remedy: 'bring the store back from a backup, or set CTX_DATA to another directory',
  });
}

export interface Migrated {
  readonly from: number;
  readonly to: number;
  /** It goes on with one that was cut off. */
  readonly resumed: boolean;
}

/** Undefined where another process has done it meanwhile. */
export function migrateStore(directory: string): Migrated | undefined {
  return alone(directory, {}, (about) => {
    const resumed = about.migrating !== undefined;
    if (!resumed && about.format === storeFormat) return undefined;
    const from = about.migrating ?? about.format;
    const plan = planners[from];
    if (plan === undefined)
      throw new ErrnoError('ENOSYS', {
        operation: 'migrate',
        reason: `this ctx cannot migrate a store of format ${from}`,
      });
    if (!resumed) {
      const aside = join(storePaths(directory).migration, 'old');
      // Of one that was settled by a command that was killed right then.
      rmSync(aside, { recursive: true, force: true });
      const steps = plan(directory, aside);
      writeFileAtomic(planFile(directory), JSON.stringify({ from, before: about, steps }), { durable: true });
      writeStoreMeta(directory, { ...about, format: storeFormat, migrating: from });
    }
    const { before, steps } = readPlan(directory);
    for (const step of steps) takeStep(step);
    syncStore(directory);
    const marked = library().put(storePaths(directory).vaults);
    writeStoreMeta(directory, {
      ...before,
      format: storeFormat,
      ...(marked ? { marked } : {}),
      migrated: from,
    });
    return { from, to: storeFormat, resumed };
  });
}

/** Takes back the last migration; the older format's number. ESTALE where a command has used the store since. */
export function undoMigration(directory: string): number {
  return alone(directory, {}, (about) => {
    const { migrated } = about;
    if (migrated === undefined) {
      throw new ErrnoError('ESTALE', {
        operation: 'undo the migration',
        path: directory,
        reason: 'the store was not migrated, or a command has used it since',
        remedy: 'ctx doctor says which format it has',
      });
    }
    const { before, steps } = readPlan(directory);
    const changed = firstChange(steps);
    if (changed !== undefined) {
      throw new ErrnoError('ESTALE', {
        operation: 'undo the migration',
        path: changed,
        reason: 'this has changed since the migration, and would be lost',
        remedy: 'keep the store as it is, or apply what its forks hold',
      });
    }
    writeStoreMeta(directory, { format: storeFormat, overlay: about.overlay, migrating: migrated });
    for (const step of [...steps].reverse()) takeBack(step);
    syncStore(directory);
    writeStoreMeta(directory, before);
    rmSync(storePaths(directory).migration, { recursive: true, force: true });
    return migrated;
  });
}

/** With the first command: from here on there is no way back. ESTALE where it was just taken back. */
export function settleMigration(store: Store): void {
  const { directory } = store;
  alone(directory, { beside: true }, ({ migrated, ...about }) => {
    if (about.format !== storeFormat || about.migrating !== undefined) {
      throw new ErrnoError('ESTALE', {
        operation: 'open the store',
        path: directory,
        reason: 'its migration was taken back meanwhile',
        remedy: 'try again',
      });
    }
    if (migrated === undefined) return;
    writeStoreMeta(directory, about);
    throwAway(store, storePaths(directory).migration);
  });
}
