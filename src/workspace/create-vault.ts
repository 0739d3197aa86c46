/** `ctx vault create`, and what a person calls a vault. A directory has one: what is asked of it again holds, or is refused. */
import { statSync } from 'node:fs';
import { ErrnoError } from '../base/errno.js';
import { shellWord } from '../base/visible-text.js';
import { type Host, placeOf } from '../proxy/host.js';
import { storePaths } from '../vault/store/layout.js';
import { withVaultLock } from '../vault/store/locks.js';
import {
  isForkName,
  readVaultMeta,
  type VaultLimits,
  type VaultMeta,
  writeVaultMeta,
} from '../vault/store/vault-meta.js';
import type { Problem } from '../vault/tree/tree.js';
import { importVault, type VaultRequest, vaultAccess } from '../vault/vault.js';
import { recordedAct, recordedVerb } from './recorded-verb.js';
import { accessTo, readVaults, summaryOf, type VaultSummary } from './vault-verbs.js';

export interface NewVaultRequest extends Pick<VaultRequest, 'limits' | 'uncopied' | 'onProgress'> {
  readonly name?: string | undefined;
  /** The directory was named, and no other will do: one in a workspace is refused, instead of the workspace being meant. */
  readonly exactly?: boolean | undefined;
}

export interface MadeVault {
  /** `there`: the directory had it already, as it was asked for; `named`: it had it, and has a name now. */
  readonly outcome: 'made' | 'named' | 'there';
  readonly vault: VaultSummary;
  readonly problems: readonly Problem[];
}

const operation = 'make a vault';
const purpose = 'ctx vault create';

/** None that is a vault's number: what is named by it would be two vaults. Pure. */
export function isVaultName(name: string): boolean {
  return isForkName(name) && !/^[0-9a-f]{16}$/.test(name);
}

function checkName(host: Host, name: string, origin: string): void {
  if (!isVaultName(name)) {
    const reason = `expected a name such as 'api', got '${name}'`;
    const remedy = 'letters, digits and . _ + - are fine, up to 64 of them, the first a letter or digit';
    throw new ErrnoError('EINVAL', { operation: 'name a vault', reason, remedy });
  }
  const taken = readVaults(host).vaults.find((each) => each.name === name && each.origin !== origin);
  if (taken === undefined) return;
  const reason = `the vault of this directory is already named '${name}'`;
  const remedy = `choose another, or ctx vault set ${name} --name OTHER`;
  throw new ErrnoError('EEXIST', { operation: 'name a vault', path: taken.origin, reason, remedy });
}

/** Two who give one name at the same time would each find it free. Taken before a vault's own lock. */
function whileNaming<T>({ store, tree }: Host, purpose: string, use: () => Promise<T>): Promise<T> {
  return withVaultLock(tree, storePaths(store.directory).vaultNames, purpose, use);
}

function sameLimits(found: VaultLimits = {}, asked: VaultLimits = {}): boolean {
  return Object.entries(asked).every(([key, most]) => found[key as keyof VaultLimits] === most);
}

/** What is in the way of taking a vault that is there for the one that is asked for. Pure. */
export function refusalOf(found: VaultMeta, asked: NewVaultRequest): ErrnoError | undefined {
  const refuse = (reason: string, remedy: string) =>
    new ErrnoError('EEXIST', { operation, path: found.origin, reason: `it has a vault already, ${reason}`, remedy });
  if (asked.uncopied === true && found.uncopied !== true) {
    const remedy = `ctx vault delete ${shellWord(found.origin)} deletes the copy and all its forks; then create the vault again`;
    return refuse('with a copy', remedy);
  }
  if (asked.name !== undefined && found.name !== undefined && asked.name !== found.name) {
    return refuse(`named '${found.name}'`, `ctx vault set ${found.name} --name ${asked.name} renames it`);
  }
  if (!sameLimits(found.limits, asked.limits)) {
    return refuse('with other limits', 'ctx vault set changes them, ctx vault info shows them');
  }
  return undefined;
}

/** Imports a directory without running anything in it. */
export function createVault(host: Host, cwd: string, asked: NewVaultRequest = {}): Promise<MadeVault> {
  const make = () => makeVault(host, cwd, asked);
  return asked.name === undefined ? make() : whileNaming(host, purpose, make);
}

async function makeVault(host: Host, cwd: string, asked: NewVaultRequest): Promise<MadeVault> {
  const { name, exactly = false, ...more } = asked;
  const { store, tree } = host;
  const { directory, origin, owner } = placeOf(host, cwd);
  if (!statSync(directory).isDirectory()) {
    throw new ErrnoError('ENOTDIR', { operation, path: directory, reason: 'expected a directory' });
  }
  if (exactly && directory !== origin) {
    const reason = `it is part of the workspace ${origin}, and a vault is of a whole workspace`;
    throw new ErrnoError('EINVAL', { operation, path: directory, reason, remedy: `--from ${shellWord(origin)}` });
  }
  if (name !== undefined) checkName(host, name, origin);
  const request = { ...more, store, tree, origin, owner, purpose, vaultName: name };
  const access = vaultAccess(request);
  const before = readVaultMeta(access.paths.meta);
  const verb = { type: 'vault', object: `workspace/${origin}`, facts: { name: name ?? null } };
  const make = async (): Promise<MadeVault> => {
    const refusal = before === undefined ? undefined : refusalOf(before, asked);
    if (refusal !== undefined) throw refusal;
    const { vault, problems } = await importVault(request);
    if (problems !== undefined) return { outcome: 'made', vault: summaryOf(access, vault), problems };
    return withVaultLock(tree, access.paths.lock, purpose, () => {
      const found = readVaultMeta(access.paths.meta) ?? vault;
      const late = refusalOf(found, asked);
      if (late !== undefined) throw late;
      if (name === undefined || found.name === name) {
        return { outcome: 'there', vault: summaryOf(access, found), problems: [] };
      }
      const named = { ...found, name };
      writeVaultMeta(access.paths.meta, named, { durable: true });
      return { outcome: 'named', vault: summaryOf(access, named), problems: [] };
    });
  };
  return recordedVerb(host, verb, make, ({ outcome }) => ({ status: 'ok', facts: { outcome } }));
}

export async function renameVault(host: Host, id: string, name: string): Promise<VaultSummary> {
  const access = accessTo(host, id);
  const rename = () => {
    const meta = readVaultMeta(access.paths.meta);
    if (meta === undefined) {
      throw new ErrnoError('ENOENT', { operation: 'name a vault', reason: 'it was deleted meanwhile' });
    }
    checkName(host, name, meta.origin);
    const named = { ...meta, name };
    const verb = { type: 'vault', object: `vault/${id}`, facts: { name } };
    recordedAct(host, verb, () => writeVaultMeta(access.paths.meta, named, { durable: true }));
    return summaryOf(access, named);
  };
  const asker = 'ctx vault set';
  return whileNaming(host, asker, () => withVaultLock(access.tree, access.paths.lock, asker, rename));
}
