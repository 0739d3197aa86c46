/** What an approval of a command holds for, gathered: the words and options, and what the command will see when it runs. */

import { parseHostPort } from '../../authority/network.js';
import { sha256 } from '../../base/sha256.js';
import type { JailLayer } from '../../jail/plan.js';
import type { CacheKeeping } from '../../vault/fork-trees.js';
import type { AskedTree } from '../asked-tree.js';
import type { ApartTool } from '../grants/apart-view.js';
import type { AskedSecret } from '../grants/asked-secret.js';
import type { ResolvedAuthority } from '../grants/authority-of.js';
import { commandEnvironment } from '../grants/environment.js';
import { boundSecrets } from '../grants/injected-secrets.js';
import { treeText } from '../grants/served-trees.js';
import type { Host, Place } from '../host.js';
import { type Binding, bindingDigest } from './approval.js';
import { besideState } from './beside-state.js';
import { type BoundInput, type InputSource, inputOf } from './command-input.js';
import { directoryState } from './directory-state.js';
import { forkState, noFork } from './fork-state.js';

/** A call of a tool by a person. */
export interface ToolCall {
  readonly name: string;
  /** What the tool has that its caller has not, as its cap file says it. */
  readonly cap: readonly string[];
}

/** What of a request is bound. */
export interface BoundRequest {
  readonly argv: readonly string[];
  readonly environmentAdditions: readonly string[];
  /** What the network proxy adds to its requests. */
  readonly secrets?: readonly AskedSecret[];
  /** The fork it works on; without one, the one in use. */
  readonly fork?: string | undefined;
  /** It works on the directory itself, and cannot be undone. */
  readonly live?: true;
  /** It is a tool that has a jail of its own. */
  readonly apart?: Pick<ApartTool, 'hidesFork'> | undefined;
  /** It is not a command to run, but a verb of ctx that somebody asks for. */
  readonly verb?: 'apply';
  /** What it reads; without one, the stdin of this process. */
  readonly input?: InputSource | undefined;
  /** What an apply would write: `action path`. */
  readonly steps?: readonly string[];
  readonly readonly?: boolean;
  readonly weakened?: readonly JailLayer[];
  readonly cache?: CacheKeeping | undefined;
  /** A directory that stands for the person's home. */
  readonly home?: string | undefined;
  readonly trees?: readonly AskedTree[] | undefined;
  /** `host:port` that may be at a private address: the Authority names them like any other. */
  readonly privateHosts?: readonly string[] | undefined;
  readonly toolCall?: ToolCall | undefined;
}

export interface Bound {
  readonly host: Host;
  readonly place: Place;
  readonly resolved: ResolvedAuthority;
  readonly request: BoundRequest;
}

/** A tool that is shown none of the fork's files: no other command can change what it finds. */
export function hidesFork({ apart }: BoundRequest): boolean {
  return apart?.hidesFork === true;
}

/** Of the directories whose contents enter the fork that it sees, or are written without one. */
export function directoriesOf({ host, place, resolved, request }: Bound): Promise<string> {
  const entering = hidesFork(request) ? [] : [place.origin, ...resolved.roots];
  return directoryState(host, [...entering, ...resolved.live]);
}

/** Digests of the whole binding, and of the parts of it that are looked at again. */
export interface Bindings {
  readonly digest: string;
  readonly lasting: string;
  readonly input: BoundInput | undefined;
  /** Of an apply there is none: it refuses what the person changed too, and their other edits do not concern it. */
  readonly directories: string | undefined;
  /** Nor of these. */
  readonly beside: string | undefined;
}

/** `known`: what is not to be read again. */
export async function bindingOf(
  bound: Bound,
  known: Partial<Pick<Bindings, 'directories' | 'beside'>> & { readonly fork?: string | undefined } = {},
): Promise<Bindings> {
  const { host, place, request } = bound;
  const directories = request.verb === undefined ? (known.directories ?? (await directoriesOf(bound))) : undefined;
  // On the directory itself no fork is seen.
  const isWithout = request.live === true || hidesFork(request);
  const fork = known.fork ?? (isWithout ? noFork : await forkState(host, place, request.fork, request.home));
  const input = request.verb === undefined ? await inputOf(request.input ?? 'stdin') : undefined;
  const beside = request.verb === undefined ? (known.beside ?? (await besideState(bound))) : undefined;
  const states = { ...(directories === undefined ? {} : { directories }), ...(beside === undefined ? {} : { beside }) };
  return { ...bindingDigest({ ...lastingOf(bound, input), fork, ...states }), directories, beside, input };
}

function lastingOf(
  { host, place, resolved, request }: Bound,
  input: BoundInput | undefined,
): Omit<Binding, 'fork' | 'directories' | 'beside'> {
  const { authority, agent, search } = resolved;
  const { uid } = place.owner;
  const environment = commandEnvironment({
    inherited: host.environment,
    search,
    person: { uid, name: uid === 0 ? 'root' : 'user', home: host.home },
    agent:
      agent === undefined
        ? undefined
        : { uid: agent.identity.uid, toolPath: authority.toolPath, variables: agent.environment },
    additions: request.environmentAdditions,
  });
  const injected = boundSecrets(request.secrets);
  const { weakened = [], cache, home, readonly = false, fork, trees = [], privateHosts = [] } = request;
  return {
    argv: request.argv,
    directory: place.directory,
    environment,
    authority: resolved.digest,
    ...(injected.length > 0 ? { injected } : {}),
    ...(request.live === true ? { live: true } : {}),
    ...(request.verb === undefined ? {} : { verb: request.verb }),
    ...(input === undefined ? {} : { input: input.kind === 'known' ? input.digest : input.kind }),
    ...(host.requester === undefined ? {} : { requester: host.requester }),
    ...(request.steps === undefined ? {} : { steps: sha256(request.steps.join('\0')) }),
    ...(fork === undefined ? {} : { forkName: fork }),
    ...(readonly ? { readonly } : {}),
    ...(weakened.length > 0 ? { weakened } : {}),
    ...(cache === undefined ? {} : { cache }),
    ...(home === undefined ? {} : { home }),
    ...(trees.length > 0 ? { trees: trees.map(treeText) } : {}),
    ...(privateHosts.length > 0 ? { privateHosts: privateHosts.map(parseHostPort).sort() } : {}),
    ...(request.toolCall === undefined ? {} : { toolCap: request.toolCall.cap }),
  };
}

function shownInput(input: BoundInput | undefined): readonly string[] {
  if (input === undefined) return [];
  if (input.kind === 'unknown') return ['input: not known yet (a pipe), so it can be granted once only'];
  const { size, digest, excerpt } = input;
  return [`input: ${size} bytes, ${digest}, beginning with: ${excerpt}`];
}

/** What is bound and is not as by default, as a person is shown it. A variable that is passed on is named without its value. */
export function shownOf({ host, request }: Bound, { input }: Pick<Bindings, 'input'>): readonly string[] {
  const {
    environmentAdditions,
    weakened = [],
    cache,
    home,
    readonly = false,
    fork,
    trees = [],
    privateHosts = [],
  } = request;
  const named = (name: string, value: string | undefined) => (value === undefined ? [] : [`${name}: ${value}`]);
  return [
    ...named('asked by', host.requester),
    ...named('fork', fork),
    ...environmentAdditions.map(
      (text) => `environment: ${text.includes('=') ? text : `${text}, as the caller has it`}`,
    ),
    ...shownInput(input),
    ...boundSecrets(request.secrets).map((name) => `adds a secret: ${name}`),
    ...(readonly ? ['read-only: yes'] : []),
    ...(weakened.length > 0 ? [`without these layers of the jail: ${weakened.join(', ')}`] : []),
    ...named('cache', cache),
    ...named('home', home),
    ...trees.map((tree) => `mounts: ${treeText(tree)}`),
    ...privateHosts.map((host) => `may be at a private address: ${host}`),
    ...(request.toolCall?.cap ?? []).map((line) => `the tool has: ${line}`),
  ];
}
