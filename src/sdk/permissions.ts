/** What a command in a directory may do, asked without running one: `ctx surface`, `ctx preamble`, `ctx why`. */
import { authorityJson } from '../authority/authority.js';
import { type ExplainedLayer, type ExplainedStep, explainDecision, explainPath } from '../authority/explain.js';
import { printLabel } from '../authority/label.js';
import {
  isObjectClass,
  nameFault,
  type ObjectClass,
  objectClasses,
  type Permission,
  permissionTable,
} from '../authority/permission.js';
import { preamble } from '../authority/preamble.js';
import type { Verdict } from '../authority/refusal.js';
import { ErrnoError } from '../base/errno.js';
import { objectFacts } from '../objects/object-facts.js';
import { type ResolvedAuthority, resolveAuthority } from '../proxy/authority-of.js';
import type { Host, Place } from '../proxy/host.js';
import { pathInView } from '../proxy/path-in-view.js';
import type { Grants } from './options.js';

export type { ResolvedAuthority, Verdict };
export { authorityJson, printLabel };

export const accesses = ['read', 'write', 'exec'] as const;
export type Access = (typeof accesses)[number];

export interface ObjectQuestion {
  readonly class: ObjectClass;
  readonly name: string;
  readonly permission: Permission;
}

/** `CLASS:NAME` and a permission, as people write them. Pure. */
export function objectQuestion(object: string, asked: string): ObjectQuestion {
  const colon = object.indexOf(':');
  const objectClass = object.slice(0, colon);
  const name = object.slice(colon + 1);
  const fail = (reason: string): never => {
    throw new ErrnoError('EINVAL', { operation: 'ctx why', reason, remedy: 'ctx why --help shows the usage' });
  };
  if (colon < 0 || !isObjectClass(objectClass)) {
    return fail(`expected ${accesses.join(', ')} PATH, or a CLASS:NAME with a class of ${objectClasses.join(', ')}`);
  }
  const fault = nameFault(objectClass, name);
  if (fault !== undefined) fail(`expected ${fault}, got '${name}'`);
  const permissions: readonly Permission[] = permissionTable[objectClass];
  const permission =
    permissions.find((known) => known === asked) ?? fail(`expected ${permissions.join(', ')}, got '${asked}'`);
  return { class: objectClass, name, permission };
}

export interface WhyPath {
  /** The path of the jail's view that was meant. */
  readonly path: string;
  readonly verdict: Verdict;
  /** The grant that decides. */
  readonly source: string;
  /** What stands behind it on the host; null where nothing does. */
  readonly host: string | null;
  /** What each layer says of it. */
  readonly layers: readonly ExplainedLayer[];
  readonly digest: string;
}

export interface WhyObject {
  readonly verdict: Verdict;
  readonly steps: readonly ExplainedStep[];
  readonly digest: string;
}

export interface Preamble {
  /** For a system prompt: what a command here may do. */
  readonly text: string;
  readonly digest: string;
  readonly warnings: readonly string[];
}

export async function surfaceOf(host: Host, place: Place, grants: Grants): Promise<ResolvedAuthority> {
  const { agent: name, reads = [], writes = [], liveWrites = [], siblings = false } = grants;
  const agent = name === undefined ? undefined : await host.agents(name);
  return resolveAuthority(host, { place, agent, reads, writes, liveWrites, siblings });
}

export async function preambleOf(host: Host, place: Place, grants: Grants): Promise<Preamble> {
  const { authority, digest, warnings } = await surfaceOf(host, place, grants);
  return { text: preamble(authority), digest, warnings };
}

export async function whyPath(
  host: Host,
  place: Place,
  grants: Grants,
  access: Access,
  asked: string,
): Promise<WhyPath> {
  const { authority, digest } = await surfaceOf(host, place, grants);
  const path = pathInView(authority.view, asked, place.directory);
  const now = host.now().getTime();
  const found = explainPath({ authority, path, access: access === 'write' ? 'write' : 'read', now, used: 0 });
  const { layers, host: behind = null } = found;
  const entry = authority.view.covering(path);
  if (access !== 'exec' || !found.verdict.allowed || entry?.options.includes('noexec') !== true) {
    return { path, verdict: found.verdict, source: found.source, host: behind, layers, digest };
  }
  const reason = { kind: 'read-only', path, entry: entry.target } as const;
  const verdict: Verdict = { allowed: false, step: 'visibility', code: 'EACCES', reason };
  return { path, verdict, source: `${found.source}, noexec`, host: behind, layers, digest };
}

export async function whyObject(
  host: Host,
  place: Place,
  grants: Grants,
  { class: objectClass, name, permission }: ObjectQuestion,
): Promise<WhyObject> {
  const { authority, digest } = await surfaceOf(host, place, grants);
  const { uid, gid } = authority.identity;
  const { verdict, steps } = explainDecision({
    authority,
    credential: { uid, gid },
    class: objectClass,
    name,
    permission,
    object: objectFacts({ root: host.root, uid }, authority, objectClass, name),
    now: host.now().getTime(),
    used: 0,
  });
  return { verdict, steps, digest };
}
