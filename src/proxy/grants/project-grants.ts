/** A project's confirmed defaults as a request has them, and what of them is left out here and why. */

import { contains } from '../../authority/absolute-path.js';
import type { ProjectDefaults, ProjectRead, ProjectSecret } from '../../authority/project-file.js';
import { canonicalAncestor, canonicalPath } from '../../base/canonical-path.js';
import { variable } from './asked-secret.js';
import { type ProjectState, projectAt, projectFileName } from './project-trust.js';
import type { SecretHost } from './secret-values.js';
import { readSecret } from './stored-secrets.js';

/** Reads as a request names them. */
export type GrantedDefaults = Omit<ProjectDefaults, 'reads'> & { readonly reads: readonly string[] };

export interface ProjectGrants {
  /** Of the file whose defaults count; null where none do. */
  readonly digest: string | null;
  readonly defaults: GrantedDefaults;
  readonly warnings: readonly string[];
}

const none: GrantedDefaults = Object.freeze({ network: [], reads: [], environment: [], secrets: [], quota: {} });

function skippedText(state: ProjectState & { readonly kind: 'unconfirmed' }): string {
  return `skipped ${projectFileName}, and ran without what it asks for: ${state.reason}; ctx trust shows it and asks`;
}

function missingIn(host: SecretHost, { template }: ProjectSecret): string | undefined {
  const names = [...template.matchAll(variable)].map(([, name = '']) => name);
  return names.find((name) => readSecret(host, name) === undefined);
}

/**
 * What was confirmed is where each leads. A link that has changed since, by a pull or a command on the live directory, leads nowhere. By
 * the name only what is outside of the project, whose links a jail needs; the project's own are in the fork.
 */
function confirmedReads(reads: readonly ProjectRead[], origin: string, warnings: string[]): readonly string[] {
  return reads.flatMap(({ path, target }) => {
    const changed = canonicalAncestor(path) !== target;
    if (!changed && canonicalPath(target) !== undefined) return contains(origin, path) ? target : path;
    const why = changed
      ? `it led to ${target} when it was confirmed; ctx trust shows it and asks`
      : 'there is no such path';
    warnings.push(`skipped reading ${path} for ${projectFileName}: ${why}`);
    return [];
  });
}

/** What is not there outside is left out: a colleague without the token can still run everything else. */
function present(host: SecretHost, defaults: ProjectDefaults, origin: string): Omit<ProjectGrants, 'digest'> {
  const warnings: string[] = [];
  const reads = confirmedReads(defaults.reads, origin, warnings);
  const secrets = defaults.secrets.filter((secret) => {
    const missing = missingIn(host, secret);
    if (missing === undefined) return true;
    warnings.push(
      `skipped the secret ${missing} of ${projectFileName}: it is not stored here; ctx secret set ${missing}`,
    );
    return false;
  });
  const isSet = (text: string) => text.includes('=') || Object.hasOwn(host.environment, text);
  return { warnings, defaults: { ...defaults, reads, secrets, environment: defaults.environment.filter(isSet) } };
}

export function projectGrants(host: SecretHost, origin: string): ProjectGrants {
  const state = projectAt(host, origin);
  if (state.kind === 'none') return { digest: null, defaults: none, warnings: [] };
  if (state.kind === 'unconfirmed') return { digest: null, defaults: none, warnings: [skippedText(state)] };
  return { digest: state.digest, ...present(host, state.defaults, origin) };
}
