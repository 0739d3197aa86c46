/** The vaults of the store: what directories were imported, what they may hold, and the care of it all: `ctx vault`, `ctx gc`, `ctx fsck`. */
import type { Host } from '../../proxy/host.js';
import type { Progress } from '../../vault/tree/tree.js';
import { createVault, type MadeVault, renameVault } from '../../workspace/create-vault.js';
import {
  changedLimits,
  confirmRoots,
  type LimitChanges,
  type LimitedVault,
  limitsOfVault,
  limitVault,
} from '../../workspace/vault-limit-verbs.js';
import {
  type CollectedVault,
  collectStore,
  deleteVault,
  type FoundFault,
  formatOf,
  type Inspected,
  inspectStore,
  readVaults,
  type StoreFormat,
  undoMigration,
  type VaultSummary,
  vaultNamed,
} from '../../workspace/vault-verbs.js';
import { currentDirectory } from '../current-directory.js';
import { GuardedCallbacks } from '../workspace/guarded-callbacks.js';

export type { CollectedVault, FoundFault, LimitChanges, LimitedVault, MadeVault, StoreFormat, VaultSummary };

export interface NewVault {
  readonly name?: string | undefined;
  readonly limits?: LimitChanges | undefined;
  /** Let the forks be on the directory itself, which is too large to copy. */
  readonly uncopied?: boolean | undefined;
  /** EINVAL where the directory is only a part of a workspace, which would be imported as a whole. */
  readonly exactly?: boolean | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

export class Vaults {
  readonly #host: Host;

  constructor(host: Host) {
    this.#host = host;
  }

  /** Those that can be read. */
  list(): readonly VaultSummary[] {
    return readVaults(this.#host).vaults;
  }

  /** Of the others, why not. */
  faults(): readonly FoundFault[] {
    return readVaults(this.#host).faults;
  }

  /** By the name a person gave it, by its number, or by its directory; without any, that of `from`. ENOENT where there is none. */
  find(wanted?: string, from = currentDirectory()): VaultSummary {
    return vaultNamed(this.#host, from, wanted);
  }

  /** Imports a directory without running anything in it. EEXIST where it has a vault that is not as asked for. */
  create(
    directory: string,
    { name, limits, uncopied = false, exactly = false, onProgress }: NewVault = {},
  ): Promise<MadeVault> {
    const most = limits === undefined ? {} : changedLimits(undefined, limits);
    const limited = Object.keys(most).length === 0 ? {} : { limits: most };
    // Who only looks on does not end it.
    const told = new GuardedCallbacks().guard('onProgress', onProgress);
    return createVault(this.#host, directory, { name, onProgress: told, uncopied, exactly, ...limited });
  }

  /** What one may hold, and what it holds. */
  async limits(wanted?: string): Promise<LimitedVault> {
    return limitsOfVault(this.#host, this.find(wanted).id);
  }

  async limit(wanted: string | undefined, changes: LimitChanges): Promise<LimitedVault> {
    return limitVault(this.#host, this.find(wanted).id, changes);
  }

  /** The directories that are at its paths now are the right ones, although they are others than before. */
  confirm(wanted?: string): Promise<void> {
    return confirmRoots(this.#host, this.find(wanted).id);
  }

  /** Another name for one, or its first. */
  rename(wanted: string | undefined, name: string): Promise<VaultSummary> {
    return renameVault(this.#host, this.find(wanted).id, name);
  }

  /** With all its forks. EBUSY while a command uses one of them. */
  async delete(wanted?: string): Promise<VaultSummary> {
    const vault = this.find(wanted);
    await deleteVault(this.#host, vault.id);
    return vault;
  }

  /** Deletes what nothing needs any more. `fault`: why nothing was collected in a vault. */
  collect(): Promise<readonly CollectedVault[]> {
    return collectStore(this.#host);
  }

  /** Reads every vault; with `repair`, brings back what can be, and says what is gone. */
  inspect(options: { readonly repair?: boolean } = {}): Promise<Inspected> {
    return inspectStore(this.#host, options);
  }

  /** Of the store. One of an older format was migrated when it was opened. */
  format(): StoreFormat {
    return formatOf(this.#host);
  }

  /** The store as it was before it was migrated. ESTALE where a command has used it since. */
  undoMigration(): Promise<StoreFormat> {
    return undoMigration(this.#host);
  }
}
