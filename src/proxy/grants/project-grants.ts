/** A project's confirmed defaults as a request has them, and what of them is left out here and why. */

import type { ProjectDefaults, ProjectSecret } from '../../authority/project-file.js';
import { ErrnoError } from '../../base/errno.js';
import { variable } from './asked-secret.js';
import { confirmedReads } from './confirmed-reads.js';
import { type ProjectState, projectAt, projectFileName } from './project-trust.js';
import type { SecretHost } from './secret-values.js';
import { readSecret } from './stored-secrets.js';

export interface ProjectGrants {
  /** Of the file whose defaults count; null where none do. */
  readonly digest: string | null;
  readonly defaults: ProjectDefaults;
  readonly warnings: readonly string[];
}

const none: ProjectDefaults = Object.freeze({ network: [], reads: [], environment: [], secrets: [], quota: {} });

function skippedText(state: ProjectState & { readonly kind: 'unconfirmed' }): string {
  return `skipped ${projectFileName}, and ran without what it asks for: ${state.reason}; ctx trust shows it and asks`;
}

/** Why a stored secret cannot be used here: one that others may read by now, or that is damaged, stops no command either. */
function faultOf(host: SecretHost, name: string): string | undefined {
  try {
    return readSecret(host, name) === undefined ? 'it is not stored here' : undefined;
  } catch (error) {
    if (!(error instanceof ErrnoError)) throw error;
    return error.reason;
  }
}

function missingIn(host: SecretHost, { template }: ProjectSecret): string | undefined {
  for (const [, name = ''] of template.matchAll(variable)) {
    const fault = faultOf(host, name);
    if (fault !== undefined)
      return `skipped the secret ${name} of ${projectFileName}: ${fault}; ctx secret set ${name}`;
  }
  return undefined;
}

/** What is not there outside is left out: a colleague without the token can still run everything else. */
function present(host: SecretHost, defaults: ProjectDefaults): Omit<ProjectGrants, 'digest'> {
  const warnings: string[] = [];
  const reads = confirmedReads(defaults.reads, warnings);
  const secrets = defaults.secrets.filter((secret) => {
    const missing = missingIn(host, secret);
    if (missing === undefined) return true;
    warnings.push(missing);
    return false;
  });
  const isSet = (text: string) => text.includes('=') || Object.hasOwn(host.environment, text);
  return { warnings, defaults: { ...defaults, reads, secrets, environment: defaults.environment.filter(isSet) } };
}

export function projectGrants(host: SecretHost, origin: string): ProjectGrants {
  const state = projectAt(host, origin);
  if (state.kind === 'none') return { digest: null, defaults: none, warnings: [] };
  if (state.kind === 'unconfirmed') return { digest: null, defaults: none, warnings: [skippedText(state)] };
  return { digest: state.digest, ...present(host, state.defaults) };
}
