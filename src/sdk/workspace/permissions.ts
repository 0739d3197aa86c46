/** What a command in a directory may do, asked without running one: `ctx surface`, `ctx preamble`, `ctx why`. */
import { authorityJson } from '../../authority/authority.js';
import { decideHost, type HostPort } from '../../authority/decide-host.js';
import { type ExplainedLayer, type ExplainedStep, explainPath } from '../../authority/explain.js';
import { printLabel } from '../../authority/label.js';
import {
  isObjectClass,
  nameFault,
  type ObjectClass,
  objectClasses,
  type Permission,
  permissionTable,
} from '../../authority/permission.js';
import { preamble } from '../../authority/preamble.js';
import { coach, type Reason, stepOf, type Verdict } from '../../authority/refusal.js';
import { ErrnoError } from '../../base/errno.js';
import { networkConnectMilliseconds } from '../../base/limits/network.js';
import { judgeAddresses, networkRules } from '../../network/allow-list.js';
import { literalAddress, parseTarget } from '../../network/host-name.js';
import { addressesOfHost } from '../../network/own-addresses.js';
import { resolveByHost } from '../../network/resolve-name.js';
import { runsWithoutAsking } from '../../proxy/approval/action.js';
import { judgeCommand } from '../../proxy/approval/decide-request.js';
import { ownHomePlace } from '../../proxy/grants/agent-home.js';
import { viewObstacle } from '../../proxy/grants/agent-view.js';
import type { ResolvedAuthority } from '../../proxy/grants/authority-of.js';
import { foundInView } from '../../proxy/grants/found-in-view.js';
import { ownPath } from '../../proxy/grants/own-path.js';
import { accesses, type PathAccess, pathVerdict } from '../../proxy/grants/path-verdict.js';
import { usedSoFarOf } from '../../proxy/grants/uses.js';
import type { Host, Place } from '../../proxy/host.js';
import { resolvedFor } from '../../proxy/run/authority-for.js';
import type { WorkspaceOptions } from '../options.js';
import { requestOf } from '../request-of.js';
import { agentPlaces } from './agent-places.js';
import { hookAnswer } from './hook-answer.js';
import { explainObject } from './object-verdict.js';

export type { ResolvedAuthority, Verdict };
export { authorityJson, coach, printLabel };

const httpsPort = 443;

export { accesses, type PathAccess };

export interface ObjectQuestion {
  readonly class: ObjectClass;
  readonly name: string;
  readonly permission: Permission;
}

/** `CLASS:NAME` and a permission, as people write them. Pure. */
export function objectQuestion(object: string, asked: string, verb = 'why'): ObjectQuestion {
  const colon = object.indexOf(':');
  const objectClass = object.slice(0, colon);
  const name = object.slice(colon + 1);
  const fail = (reason: string): never => {
    const operation = `ctx ${verb}`;
    throw new ErrnoError('EINVAL', { operation, reason, remedy: `${operation} --help shows the usage` });
  };
  if (colon < 0 || !isObjectClass(objectClass)) {
    return fail(
      `expected ${accesses.join(', ')} PATH, connect HOST, or a CLASS:NAME with a class of ${objectClasses.join(', ')}`,
    );
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
  /** What is behind it on the host; null where nothing does. */
  readonly host: string | null;
  /** What each layer says of it. */
  readonly layers: readonly ExplainedLayer[];
  readonly digest: string;
}

export interface WhyHost {
  /** In canonical form. */
  readonly hostPort: string;
  readonly verdict: Verdict;
  /** The grant that decides. */
  readonly source: string;
  /** What its name resolves to now; empty where it was not looked up or is not known. */
  readonly addresses: readonly string[];
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

/** The same Authority that a command here would have. */
export async function surfaceOf(host: Host, place: Place, options: WorkspaceOptions): Promise<ResolvedAuthority> {
  const { agent } = options;
  const facts = agent === undefined ? undefined : await host.agents(agent);
  const request = requestOf(host, place, options);
  return resolvedFor(host, place, { ...request, argv: ['true'], streams: 'capture' }, facts);
}

export async function preambleOf(host: Host, place: Place, options: WorkspaceOptions): Promise<Preamble> {
  const { agent, authority, digest, warnings } = await surfaceOf(host, place, options);
  const { view } = authority;
  const objects = agent !== undefined && viewObstacle(authority) === undefined;
  const writable = [
    ...(ownHomePlace(view, host.home) === undefined ? [] : ['$HOME']),
    ...(view.covering('/tmp') === undefined ? ['/tmp'] : []),
  ];
  return { text: preamble(authority, { objects, writable }), digest, warnings };
}

const now = (host: Host) => host.now().getTime();

/** What the operator's rules and the defaults say of running `path` as a command. */
async function commandReason(host: Host, resolved: ResolvedAuthority, path: string): Promise<Reason | undefined> {
  const { line, authority } = resolved;
  const { decided } = await judgeCommand(host, { line, network: authority.network }, [path]);
  if (runsWithoutAsking(decided)) return undefined;
  const by = decided.rule === 'default' ? 'by default' : `by rule ${decided.rule}`;
  return { kind: 'command refused', text: `as a command: ${decided.action} ${by}: ${decided.reason}` };
}

export async function whyPath(
  host: Host,
  place: Place,
  options: WorkspaceOptions,
  access: PathAccess,
  asked: string,
): Promise<WhyPath> {
  const resolved = await surfaceOf(host, place, options);
  const { authority, digest } = resolved;
  const used = usedSoFarOf(resolved);
  const places = agentPlaces({ host, place, resolved, now: now(host), used });
  const found = await foundInView(host, place, resolved, asked, options.fork, places?.beside);
  const use = { host, place, resolved, readonly: options.readonly === true, now: now(host), used };
  const shown = places?.verdict(access, found);
  const given = shown?.verdict ?? pathVerdict(use, access, found);
  const reason = access === 'exec' && given.allowed ? await commandReason(host, resolved, found.path) : undefined;
  const verdict: Verdict =
    reason === undefined ? given : { allowed: false, step: stepOf(reason), code: 'EACCES', reason };
  const { path } = found;
  const hook = await hookAnswer(host, place, options, access, asked);
  const own = ownPath(authority.view, [place.origin, ...resolved.roots], path);
  const explained = explainPath({ authority, path, own, access, verdict, hook });
  const { source, host: behind = null } = shown ?? explained;
  return { path, verdict, source, host: behind, layers: explained.layers, digest };
}

/** A name that cannot be looked up now is judged by its name: the process that connects finds the same. */
async function addressesOf({ host }: HostPort): Promise<readonly string[]> {
  const literal = literalAddress(host);
  if (literal !== undefined) return [literal];
  return resolveByHost(host, AbortSignal.timeout(networkConnectMilliseconds)).catch(() => []);
}

export async function whyHost(host: Host, place: Place, options: WorkspaceOptions, asked: string): Promise<WhyHost> {
  const target = parseTarget(asked, httpsPort);
  const resolved = await surfaceOf(host, place, options);
  const { authority, digest } = resolved;
  const hostPort = `${target.host}:${target.port}`;
  const { network } = authority;
  const listed = network.kind === 'hosts' ? ` (${network.hosts.join(', ')})` : '';
  const source = `network ${network.kind}${listed}`;
  const named = decideHost(authority, target, now(host), usedSoFarOf(resolved));
  if (!named.allowed) return { hostPort, verdict: named, source, addresses: [], digest };
  const addresses = await addressesOf(target);
  const judged = judgeAddresses(
    networkRules(network, options.privateHosts ?? []),
    target,
    addresses,
    addressesOfHost(),
  );
  if (judged.allowed) return { hostPort, verdict: named, source, addresses, digest };
  const reason = { kind: 'address refused', text: judged.reason } as const;
  const verdict: Verdict = { allowed: false, step: stepOf(reason), code: 'EACCES', reason };
  return { hostPort, verdict, source, addresses, digest };
}

export async function whyObject(
  host: Host,
  place: Place,
  options: WorkspaceOptions,
  { class: objectClass, name, permission }: ObjectQuestion,
): Promise<WhyObject> {
  const resolved = await surfaceOf(host, place, options);
  const { digest } = resolved;
  const asker = { host, resolved, now: now(host), used: usedSoFarOf(resolved) };
  const { verdict, steps } = explainObject(asker, { class: objectClass, name, permission });
  return { verdict, steps, digest };
}
