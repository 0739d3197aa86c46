/** Secrets that the network proxy adds to a command's requests: checked before anything is made, and named without their values. */
import { hostNetwork, type Network, networkExcess } from '../../authority/network.js';
import { ErrnoError } from '../../base/errno.js';
import type { InjectedSecret } from '../../network/secret.js';

const defaultPort = 443;

const placeOf = ({ host, port = defaultPort }: InjectedSecret) => `${host.toLowerCase()}:${port}`;

/** `host:port header`, for the record, the report and what an approval holds for. */
export function secretNames(secrets: readonly InjectedSecret[] = []): readonly string[] {
  return secrets.map((secret) => `${placeOf(secret)} ${secret.header.toLowerCase()}`).sort();
}

/** Throws EINVAL where one is not well formed, or is for a host that the command may not connect to anyway. */
export async function assertUsable(secrets: readonly InjectedSecret[], granted: Network): Promise<void> {
  if (secrets.length === 0) return;
  const { hostSecrets } = await import('../../network/secret.js');
  hostSecrets(secrets);
  const [beyond] = networkExcess(hostNetwork(secrets.map(placeOf)), granted);
  if (beyond === undefined) return;
  throw new ErrnoError('EINVAL', {
    operation: 'secret',
    reason: `expected a host that the command may connect to, got ${beyond}`,
    remedy: `grant it too: --net ${beyond}`,
  });
}
