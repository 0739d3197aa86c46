/** The vault of the workspace that a directory is in. */
import { type Host, placeOf } from '../proxy/host.js';
import { type VaultAccess, vaultAccess } from '../vault/vault.js';

export function accessAt(host: Host, cwd: string): VaultAccess & { readonly origin: string } {
  const { origin, owner } = placeOf(host, cwd);
  const { store, tree } = host;
  return { ...vaultAccess({ store, tree, origin, owner }), origin };
}
