/** The surface of a command at a place of this host: the workspace, what the task adds, tooling, programs, the system. */
import { contains } from '../../authority/absolute-path.js';
import { programPaths, showsTooMuchOf } from '../../authority/program-paths.js';
import type { ProjectRead } from '../../authority/project-file.js';
import { resolveSurface } from '../../authority/resolve-surface.js';
import type { Scope } from '../../authority/scope.js';
import { makeSurface, type Surface } from '../../authority/surface.js';
import {
  cachePaths,
  defaultToolingPaths,
  expandGivenPath,
  expandPaths,
  type PathEnvironment,
  pathEnvironment,
} from '../../authority/tooling-paths.js';
import { canonicalPath } from '../../base/canonical-path.js';
import { ErrnoError } from '../../base/errno.js';
import { visible } from '../../base/visible-text.js';
import type { Link } from '../../jail/plan.js';
import { systemView } from '../../jail/system-view.js';
import { absolutePath, canonicalPaths, refuseForeignLinks } from '../canonical-paths.js';
import type { Host, Place } from '../host.js';
import { confirmedReads } from './confirmed-reads.js';
import { type GitSettings, gitSettingsAt } from './git-settings-at.js';
import { programRoots } from './program-roots.js';
import { repositoryNeeds } from './repository-needs.js';
import { repositoryFinder, workspaceMetadata } from './workspace-metadata.js';

/** Paths an operator adds for one command, as written; relative ones from `cwd`. */
export interface TaskPaths {
  readonly cwd?: string;
  readonly reads?: readonly string[];
  /** What a person has confirmed of this project's defaults: exactly that, whatever variables or links make of its name by now. */
  readonly confirmed?: readonly ProjectRead[] | undefined;
  /** Directories of these are part of the fork. */
  readonly writes?: readonly string[];
  /** Of the workspace's own that are part of the fork, canonical: as they were found, and not as a person names a path. */
  readonly repositories?: readonly string[];
  /** Written directly, beside any fork. */
  readonly liveWrites?: readonly string[];
  /** Show the sibling repositories that the workspace's own file lists. */
  readonly siblings?: boolean;
  /** What the agent's own files add to the reads, canonical: it is shown by its own surface. */
  readonly agentReads?: readonly string[];
}

export interface SurfaceAt {
  readonly surface: Surface;
  /** Repositories that the workspace's own file calls its siblings, shown or not. */
  readonly listedSiblings: readonly string[];
  /** Paths outside the workspace that may be written, and need not be written directly. */
  readonly forkable: readonly string[];
  readonly links: readonly Link[];
  readonly search: readonly string[];
  /** Of the tools' paths, those that a command may write beside the person's own. */
  readonly caches: readonly string[];
  /** How git finds the person's settings. */
  readonly git: Pick<GitSettings, 'made' | 'environment' | 'notes'>;
  readonly skipped: readonly string[];
  readonly warnings: readonly string[];
}

/** The kernel shows itself here, and a jail has its own of each; the host's would show every process and device. */
const kernelPlaces = ['/proc', '/sys', '/dev'];

export function checkedPlace(path: string, what: string): string {
  if (path !== '/' && !kernelPlaces.some((place) => contains(place, path))) return path;
  throw new ErrnoError('EINVAL', {
    operation: 'surface',
    path,
    reason: `expected ${what} to be a directory or file below /, and not of ${kernelPlaces.join(', ')}`,
    remedy: 'name the directories that are needed, one by one',
  });
}

export interface GrantedPaths {
  readonly paths: readonly string[];
  readonly links: readonly Link[];
}

/** What `$NAME` in a path means here: variables of the closed set, and no other. */
export function variablesOf(host: Host): PathEnvironment {
  return pathEnvironment(host.environment, host.home);
}

function expanded(written: readonly string[], option: string, host: Host, warnings: string[]): readonly string[] {
  const variables = variablesOf(host);
  return written.flatMap((path) => {
    const found = expandGivenPath(path, variables);
    if (typeof found === 'string') return [found];
    warnings.push(`skipped ${option} ${visible(path)}: ${found.reason}`);
    return [];
  });
}

export function grantedPaths(
  written: readonly string[],
  option: string,
  cwd: string,
  host: Host,
  warnings: string[],
): GrantedPaths {
  const given = expanded(written, option, host, warnings);
  for (const path of given) refuseForeignLinks(absolutePath(path, cwd), process.geteuid?.() ?? 0);
  const found = canonicalPaths(given, cwd);
  for (const path of found.skipped) warnings.push(`skipped ${option} ${visible(path)}: there is no such path`);
  return { paths: withoutOwn(found.paths, option, host, warnings), links: found.links };
}

function withoutOwn(paths: readonly string[], option: string, { hidden }: Host, warnings: string[]): readonly string[] {
  return paths.filter((path) => {
    if (!hidden.some((directory) => contains(directory, checkedPlace(path, option)))) return true;
    warnings.push(`skipped ${option} ${visible(path)}: ctx keeps its own files there, and never shows them`);
    return false;
  });
}

/** By their names only what is outside of the project, whose links a jail needs; the project's own are in the fork. */
function confirmedPaths(reads: readonly ProjectRead[], origin: string, host: Host, warnings: string[]): GrantedPaths {
  const exact = confirmedReads(reads, warnings);
  const targets = exact.map(({ target }) => target);
  const outside = exact.map(({ path }) => path).filter((path) => !contains(origin, path));
  return {
    paths: withoutOwn(targets, 'reading for the project', host, warnings),
    links: canonicalPaths(outside).links,
  };
}

/** What the host itself adds: its system, the programs of PATH, tools' configuration. An agent with its own root has that instead. */
function hostDefaults(host: Host, origin: string, untrusted: readonly string[]) {
  const system = systemView();
  const programs = programPaths(host.environment['PATH'], host.home);
  const environment = variablesOf(host);
  const tooling = expandPaths(defaultToolingPaths, environment);
  const git = gitSettingsAt({
    home: host.home,
    configuration: environment.XDG_CONFIG_HOME ?? `${host.home}/.config`,
    repository: `${origin}/.git/config`,
    untrusted,
  });
  const caches = canonicalPaths(expandPaths(cachePaths, environment).paths);
  const defaults = canonicalPaths([
    ...programs.reads,
    ...programRoots(programs, host.home, untrusted),
    ...tooling.paths,
    ...git.reads,
  ]);
  return {
    system: system.shared.map(({ target }) => target),
    tools: [...defaults.paths.filter((path) => !git.withheld.includes(path)), ...caches.paths],
    git,
    caches: caches.paths,
    links: [...system.links, ...defaults.links, ...caches.links],
    search: programs.search,
    skipped: [...defaults.skipped, ...caches.skipped],
  };
}

const noDefaults = {
  system: [],
  tools: [],
  caches: [],
  git: { reads: [], withheld: [], made: new Map(), environment: {}, notes: [] },
  links: [],
  search: programPaths(undefined, '/').search,
  skipped: [],
} as const satisfies ReturnType<typeof hostDefaults>;

/** `ownRoot`: the system is the agent's own, and nothing of the host's is added. */
export function surfaceAt(host: Host, place: Place, task: TaskPaths, scope: Scope, ownRoot = false): SurfaceAt {
  const { origin } = place;
  const warnings: string[] = [];
  const hidden = host.hidden;
  const cwd = task.cwd ?? place.directory;
  const named = grantedPaths(task.reads ?? [], '--read', cwd, host, warnings);
  const confirmed = confirmedPaths(task.confirmed ?? [], origin, host, warnings);
  const reads = {
    paths: [...new Set([...named.paths, ...confirmed.paths])],
    links: [...named.links, ...confirmed.links],
  };
  const forked = grantedPaths(task.writes ?? [], '--write', cwd, host, warnings);
  const repositories = (task.repositories ?? []).filter((path) => canonicalPath(path) === path);
  const own = withoutOwn(repositories, 'the repository', host, warnings);
  const forkable = { paths: [...new Set([...forked.paths, ...own])], links: forked.links };
  const liveWrites = grantedPaths(task.liveWrites ?? [], '--write-live', cwd, host, warnings);
  const writes = {
    paths: [...new Set([...forkable.paths, ...liveWrites.paths])],
    links: [...forkable.links, ...liveWrites.links],
  };

  const metadata = workspaceMetadata(origin);
  const { surface: asked, dropped } = resolveSurface({
    scope,
    cwd: place.directory,
    projectRoot: origin,
    repositoryRoot: canonicalPath(`${origin}/.git`) === undefined ? undefined : origin,
    workspace: metadata.workspace,
    workspaceMetadata: metadata.directory,
    canonicalRepository: repositoryFinder(metadata.workspace),
    environment: {},
    toolingTemplates: [],
    systemReads: [],
    hidden,
  });
  for (const { template, reason } of dropped) warnings.push(`dropped ${visible(template)}: ${reason}`);
  if (asked.cwd !== origin) {
    throw new ErrnoError('ENOTSUP', {
      operation: 'surface',
      path: asked.cwd,
      reason: `scope ${scope} means this directory, but the workspace here is ${origin}: a fork of a part of it is not supported yet`,
      remedy: `ctx agent set NAME scope project`,
    });
  }

  // The workspace file comes with the workspace, perhaps from a stranger: what it asks for is given when somebody says so.
  const siblings = task.siblings === true ? asked.siblingReads : [];
  const agentReads = task.agentReads ?? [];
  const covering = [origin, ...reads.paths, ...writes.paths, ...agentReads, ...hidden];
  const defaults = ownRoot ? noDefaults : hostDefaults(host, origin, covering);
  if (!ownRoot) {
    const shown = [...reads.paths, ...writes.paths, ...agentReads, ...siblings, ...defaults.tools, ...defaults.system];
    warnings.push(...repositoryNeeds(origin, host.home, shown));
  }
  // Judged once more now that links are resolved: an innocent name on PATH may lead to a whole home.
  const showsTooMuch = showsTooMuchOf(host.home);
  const isDefault = (path: string) => !showsTooMuch(path) && !covering.some((directory) => contains(directory, path));
  const surface = makeSurface({
    cwd: origin,
    additionalWrites: writes.paths,
    siblingReads: siblings,
    workspaceMetadata: asked.workspaceMetadata,
    toolingPaths: defaults.tools.filter(isDefault),
    additionalReads: reads.paths,
    systemReads: defaults.system,
    hidden,
  });
  return Object.freeze({
    surface,
    listedSiblings: asked.siblingReads,
    forkable: forkable.paths.filter((path) => !liveWrites.paths.includes(path)),
    links: Object.freeze([...defaults.links, ...reads.links, ...writes.links]),
    search: defaults.search,
    caches: defaults.caches.filter(isDefault),
    git: defaults.git,
    skipped: defaults.skipped,
    warnings: Object.freeze(warnings),
  });
}
