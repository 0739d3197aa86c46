/** Secrets that the network proxy adds to a command's requests: checked before anything is made, and named without their values. */
import { hostNetwork, type Network, networkExcess } from '../../authority/network.js';
import { ErrnoError } from '../../base/errno.js';
import type { InjectedSecret } from '../../network/secret.js';
import { type AskedSecret, variable } from './asked-secret.js';
import type { SecretHost } from './secret-values.js';

const defaultPort = 443;

const placeOf = ({ host, port = defaultPort }: AskedSecret) => `${host.toLowerCase()}:${port}`;

const nameOf = (secret: AskedSecret) => `${placeOf(secret)} ${secret.header.toLowerCase()}`;

/** `host:port header`, for the record and the report. */
export function secretNames(secrets: readonly AskedSecret[] = []): readonly string[] {
  return secrets.map(nameOf).sort();
}

/** The same with what fills the stored ones, as an approval holds for them and shows them: `host:port header: Bearer $TOKEN`. */
export function boundSecrets(secrets: readonly AskedSecret[] = []): readonly string[] {
  const filled = ({ template }: AskedSecret) => (template === undefined ? '' : `: ${template}`);
  return secrets.map((secret) => `${nameOf(secret)}${filled(secret)}`).sort();
}

/** Throws EINVAL where a template names nothing, ENOENT where a secret it names is not stored. No command is run for it yet. */
async function assertStored(host: SecretHost, template: string): Promise<void> {
  const { missingSecret, readSecret } = await import('./stored-secrets.js');
  const names = [...template.matchAll(variable)].map(([, name = '']) => name);
  if (names.length === 0) {
    throw new ErrnoError('EINVAL', {
      operation: 'secret',
      reason: 'expected a template that names a stored secret: $NAME',
    });
  }
  for (const name of names) if (readSecret(host, name) === undefined) throw missingSecret(name);
}

/** Throws EINVAL where one is not well formed, or is for a host that the command may not connect to anyway. Nothing has to be stored yet. */
export async function assertFitting(
  host: SecretHost,
  secrets: readonly AskedSecret[],
  granted: Network,
): Promise<void> {
  const { hostSecrets } = await import('../../network/secret.js');
  const { usableSecrets } = await import('./secret-values.js');
  hostSecrets(usableSecrets(host, secrets));
  const [beyond] = networkExcess(hostNetwork(secrets.map(placeOf)), granted);
  if (beyond === undefined) return;
  throw new ErrnoError('EINVAL', {
    operation: 'secret',
    reason: `expected a host that the command may connect to, got ${beyond}`,
    remedy: `grant it too: --net ${beyond}`,
  });
}

/** The same, and ENOENT where a template names a secret that is not stored. */
export async function assertUsable(host: SecretHost, secrets: readonly AskedSecret[], granted: Network): Promise<void> {
  if (secrets.length === 0) return;
  for (const { value, template } of secrets) {
    if ((value === undefined) === (template === undefined)) {
      throw new ErrnoError('EINVAL', { operation: 'secret', reason: 'expected a value or a template, and not both' });
    }
    if (template !== undefined) await assertStored(host, template);
  }
  await assertFitting(host, secrets, granted);
}

/** As the network proxy takes them, once there is one, until it has ended: what a person's command may ask has no use then. */
export type SecretsFor = (ended: AbortSignal) => Promise<readonly InjectedSecret[]>;

export function secretsFor(host: SecretHost, asked: readonly AskedSecret[] = []): SecretsFor {
  return async (ended) =>
    asked.length === 0 ? [] : (await import('./secret-values.js')).usableSecrets(host, asked, ended);
}
