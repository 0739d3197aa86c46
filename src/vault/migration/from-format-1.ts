/**
 * From format 1 to 2. A vault had one fork, `fork/main/upper`, on numbered layers that showed the person's directory. These layers
 * are now the trunk, what the fork holds is its live layer; nothing is copied, and no file of a tree is looked at.
 */
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readJsonFile } from '../../base/atomic-file.js';
import { ErrnoError } from '../../base/errno.js';
import { mainFork, storePaths, vaultPaths, workspaceRoot } from '../store/layout.js';
import type { MigrationStep } from './steps.js';

interface OldVault {
  readonly format: 1;
  readonly origin: string;
  readonly created: string;
  readonly layers: readonly string[];
  readonly nextLayer: number;
  readonly clashes: readonly string[];
  /** The layer that the fork's delta was becoming. */
  readonly folding?: string | undefined;
}

const isText = (value: unknown): value is string => typeof value === 'string';

function isOldVault(value: unknown): value is OldVault {
  const { format, origin, created, layers, clashes, folding } = (value ?? {}) as Partial<OldVault>;
  const isName = (name: unknown) => isText(name) && /^(0|[1-9]\d{0,14})$/.test(name);
  return (
    format === 1 &&
    isText(origin) &&
    origin.startsWith('/') &&
    isText(created) &&
    Array.isArray(layers) &&
    layers.length > 0 &&
    layers.every(isName) &&
    new Set(layers).size === layers.length &&
    Array.isArray(clashes) &&
    clashes.every(isText) &&
    (folding === undefined || isName(folding))
  );
}

function namesIn(directory: string): readonly string[] {
  return isThere(directory) ? readdirSync(directory).sort() : [];
}

const isThere = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

function moved(from: string, to: string): MigrationStep {
  return { step: 'move', from, to, mode: lstatSync(from).mode & 0o7777 };
}

function refuse(path: string, reason: string): never {
  throw new ErrnoError('EIO', {
    operation: 'migrate the store',
    path,
    reason: `${reason}; nothing was changed`,
    remedy: 'move this vault out of the store, and try again: the others will be migrated',
  });
}

/** Layers of the trunk, oldest first, and what the fork disagrees about; a fold that was cut off is decided by its rename. */
function settled(old: OldVault, has: (layer: string) => boolean): Pick<OldVault, 'layers' | 'clashes'> {
  const { layers, clashes, folding } = old;
  if (folding === undefined || layers.includes(folding) || !has(folding)) return { layers, clashes };
  return { layers: [...layers, folding], clashes: [] };
}

const newName = (layer: string) => `m${layer}`;
const liveName = 'mlive';

function vaultSteps(store: string, id: string, aside: string): readonly MigrationStep[] {
  const paths = vaultPaths(store, id);
  const old = readJsonFile(paths.meta);
  // An import that did not reach its end: the next one begins anew.
  if (old === undefined || (old as { format?: unknown } | null)?.format === 2) return [];
  if (!isOldVault(old)) return refuse(paths.meta, 'expected a vault of format 1; the file is damaged');
  const { layers, clashes } = settled(old, (layer) => isThere(paths.layer(layer)));
  const lost = layers.find((layer) => !isThere(paths.layer(layer)));
  if (lost !== undefined) return refuse(paths.layer(lost), 'the vault names this layer, and it is missing');

  const make = (path: string): readonly MigrationStep[] => (isThere(path) ? [] : [{ step: 'make', path }]);
  const write = (path: string, text: string, before?: string): MigrationStep => ({ step: 'write', path, text, before });
  const layer = (name: string, mark: string, tree: string): readonly MigrationStep[] => [
    ...make(paths.layer(name)),
    write(paths.tree(name, mark), ''),
    ...(isThere(tree) ? [moved(tree, paths.tree(name, workspaceRoot))] : []),
  ];
  const fork = paths.fork(mainFork);
  const upper = join(fork.directory, 'upper');
  const trunk = layers.map(newName);
  const known = new Set(['upper', 'home']);
  const left = [
    ...['origin.scan', 'origin.scan.next'].map((name) => join(paths.directory, name)).filter(isThere),
    ...namesIn(fork.directory)
      .filter((name) => !known.has(name))
      .map((name) => join(fork.directory, name)),
    ...namesIn(paths.forks)
      .filter((name) => name !== mainFork)
      .map((name) => join(paths.forks, name)),
    ...namesIn(paths.layers)
      .filter((name) => !layers.includes(name))
      .map((name) => paths.layer(name)),
  ];
  const state = {
    format: 2,
    created: old.created,
    clashes,
    position: 0,
    base: trunk,
    deltas: [],
    live: liveName,
    checkpoints: [],
    nextCheckpoint: 1,
  };
  const vault = {
    format: 2,
    origin: old.origin,
    created: old.created,
    roots: { [workspaceRoot]: old.origin },
    trunk,
    position: 0,
    current: mainFork,
  };
  const stateName = 'state-1.json';
  const home = namesIn(fork.directory).includes('home') ? ['home'] : [];
  return [
    ...(left.length > 0 ? make(join(aside, id)) : []),
    ...left.map((path, index) => moved(path, join(aside, id, String(index)))),
    ...make(paths.scans),
    ...make(paths.allEdits),
    ...make(paths.layers),
    ...make(fork.directory),
    ...layers.flatMap((name) => layer(newName(name), 'of-trunk', paths.layer(name))),
    ...layer(liveName, `of-fork-${mainFork}`, upper),
    write(join(fork.directory, stateName), `${JSON.stringify({ state })}\n`),
    { step: 'hold', path: paths.scans, names: [] },
    { step: 'hold', path: paths.allEdits, names: [] },
    { step: 'hold', path: paths.layers, names: [...trunk, liveName] },
    { step: 'hold', path: paths.forks, names: [mainFork] },
    { step: 'hold', path: fork.directory, names: [...home, stateName] },
    write(paths.meta, `${JSON.stringify(vault, undefined, 2)}\n`, readFileSync(paths.meta, 'utf8')),
  ];
}

/** Reads the whole store and changes nothing. `aside` is where files of format 1 are kept that format 2 has no use for. */
export function planFromFormat1(store: string, aside: string): readonly MigrationStep[] {
  const { vaults } = storePaths(store);
  const ids = namesIn(vaults).filter((name) => /^[0-9a-f]{16}$/.test(name));
  const sessions = join(store, 'session');
  return [
    { step: 'make', path: aside },
    ...(isThere(sessions) ? [moved(sessions, join(aside, 'session'))] : []),
    ...ids.flatMap((id) => vaultSteps(store, id, aside)),
    { step: 'hold', path: vaults, names: namesIn(vaults) },
  ];
}
