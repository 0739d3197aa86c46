/** What the hook compares a call with, and the reasons that coach: which grant was missing, and what an operator can add. */
import { contains } from '../authority/absolute-path.js';
import { type HostPort, hostRefusal } from '../authority/decide-host.js';
import { isObjectName } from '../authority/name.js';
import { type Network, parseHostPort } from '../authority/network.js';
import { type Access, accessTo, decidingEntry, type Surface, surfaceEntries } from '../authority/surface.js';
import { shownPath } from './path-readings.js';

export interface HookGrants {
  /** Of a host path that is resolved. */
  accessTo(path: string): Access;
  /** The granted path that decides for `path`. */
  deciding(path: string): string | undefined;
  /** Never reached, whatever is granted around them. */
  readonly hidden: readonly string[];
  /** Paths inside `path` where the jail shows something else than the host has there. */
  elsewhere(path: string): readonly string[];
  /** A path inside `path` that may not be written though `path` may, be there anything or not. */
  readOnlyIn(path: string): string | undefined;
  readonly network: Network;
  /** Why `tool:NAME execute` is not granted; undefined where it is. */
  toolFault(name: string): string | undefined;
}

export function surfaceGrants(surface: Surface, rest: Pick<HookGrants, 'network' | 'toolFault'>): HookGrants {
  return Object.freeze({
    accessTo: (path: string) => accessTo(surface, path),
    deciding: (path: string) => decidingEntry(surface, path)?.path,
    hidden: surface.hidden,
    elsewhere: () => [],
    readOnlyIn: (path: string) =>
      surfaceEntries(surface).find((each) => each.access === 'read' && isInside(each.path, path))?.path,
    ...rest,
  });
}

/** Why `path`, which is resolved, may not be used like this; undefined where it may. */
export function pathRefusal(grants: HookGrants, path: string, access: 'read' | 'write'): string | undefined {
  const has = grants.accessTo(path);
  if (has === 'write' || has === access) return undefined;
  const shown = shownPath(path);
  if (grants.hidden.some((hidden) => contains(hidden, path)))
    return `${shown} belongs to ctx itself and is never shown`;
  if (has === 'none') return `${shown} is outside the surface of this task; an operator can add --${access} ${shown}`;
  const by = shownPath(grants.deciding(path) ?? path);
  return `${shown} is read-only in this task, by ${by}; an operator can add --write ${by}`;
}

export const isInside = (path: string, directory: string) => path !== directory && contains(directory, path);

/**
 * For what uses a directory with all it holds: nothing hidden may lie in it, and where it is written nothing that is
 * read-only. Which of its files the harness will write is not known: it may be all of them.
 */
export function treeRefusal(grants: HookGrants, path: string, access: 'read' | 'write'): string | undefined {
  const hidden = grants.hidden.find((each) => contains(path, each));
  if (hidden !== undefined)
    return `${shownPath(path)} holds ${shownPath(hidden)}, which belongs to ctx itself; look in a directory beside it`;
  const closed = access === 'write' ? grants.readOnlyIn(path) : undefined;
  if (closed === undefined) return undefined;
  const shown = shownPath(closed);
  return `${shownPath(path)} cannot be written as a whole: ${shown} in it is read-only in this task; name what is to be written, or an operator can add --write ${shown}`;
}

/** The same of what is covered in the jail by a mount: `other` is one of `elsewhere`, and there on the host. */
export function coveredRefusal(path: string, other: string): string {
  return `${shownPath(path)} holds ${shownPath(other)}, where this task has something else; look in a directory beside it`;
}

export function toolRefusal(grants: HookGrants, tool: string, name: string): string | undefined {
  if (!isObjectName(name)) return `the tool ${shownPath(tool)} has a name that no policy can grant`;
  const fault = grants.toolFault(name);
  if (fault === undefined) return undefined;
  return `the tool ${shownPath(tool)} is not granted: ${fault}; an operator can add --tool ${name}, or \`tool:${name} execute\` to the agent's policy`;
}

const networkCoaching = 'an operator can add --net HOST:PORT, or grant it to the agent';

function targetOf(url: string): HostPort | undefined {
  // Not only parsed: what a reader of the text and a parser could take for different hosts is refused.
  if (!/^https?:\/\/[A-Za-z0-9.[\]:_-]+(?:[/?#]|$)/i.test(url) || !URL.canParse(url)) return undefined;
  const { protocol, hostname, port } = new URL(url);
  const known = port === '' ? { 'http:': '80', 'https:': '443' }[protocol] : port;
  if (known === undefined) return undefined;
  const canonical = parseHostPort(`${hostname}:${known}`);
  return { host: canonical.slice(0, canonical.lastIndexOf(':')), port: Number(known) };
}

export function fetchRefusal({ network }: HookGrants, url: string): string | undefined {
  if (network.kind === 'none') return `this task has no network; ${networkCoaching}`;
  const target = targetOf(url);
  if (target === undefined) return 'expected a plain http or https address';
  if (hostRefusal(network, target) === undefined) return undefined;
  return `${target.host}:${target.port} is not among the hosts of this task; ${networkCoaching}`;
}

export function searchRefusal({ network }: HookGrants): string | undefined {
  if (network.kind === 'any public') return undefined;
  return `a search reaches any host, and this task has ${network.kind === 'none' ? 'no network' : 'listed hosts only'}; ${networkCoaching}`;
}
