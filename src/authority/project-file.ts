/**
 * A project's defaults, `.ctx/project.toml`, already parsed into an object: what every command here needs, so that no
 * one repeats flags.
 *
 *     hosts = ["registry.npmjs.org", "github.com:22"]           # as --net
 *     reads = ["../api", "/opt/toolchain"]                      # as --read, from the project's directory
 *     environment = ["CI=1", "GITHUB_ACTOR"]                    # as --env
 *     secrets = ["api.github.com Authorization: Bearer $NAME"]  # as --secret, of stored secrets alone
 *     user = "1000:1000"                                        # as --user
 *     [limits]
 *     memory = "4G"
 *     processes = 500
 *
 * It comes with the project, so it may be hostile. It has no word for anything that flags cannot grant, none for writing outside the
 * fork, for private addresses or for a weaker jail, and it counts for nothing until a person has confirmed these very bytes.
 */
import { posix } from 'node:path';
import { ErrnoError } from '../base/errno.js';
import { leastMemoryBytes, leastProcesses } from '../base/limits/commands.js';
import { projectEntries } from '../base/limits/objects.js';
import { exactSize, parseSize } from '../base/size-text.js';
import { visible } from '../base/visible-text.js';
import { contains, isNormalPath, normalPathRule } from './absolute-path.js';
import { deepFrozen } from './frozen.js';
import { anyPublicNetwork, hostNetwork, networkExcess, parseHostPort } from './network.js';
import { makeQuota, type Quota } from './quota.js';
import { quoted, refuse } from './syntax.js';

export interface ProjectSecret {
  readonly host: string;
  readonly port: number;
  readonly header: string;
  /** Names stored secrets. */
  readonly template: string;
}

/** What is read, by the name that the file gives it and where that leads, which are the same where there is no link. */
export interface ProjectRead {
  /** Absolute. */
  readonly path: string;
  readonly target: string;
}

export interface ProjectDefaults {
  /** `any`, or `host:port`. */
  readonly network: readonly string[];
  readonly reads: readonly ProjectRead[];
  /** `NAME=VALUE`, or `NAME` for the value it has outside. */
  readonly environment: readonly string[];
  readonly secrets: readonly ProjectSecret[];
  /** Who a command is inside. */
  readonly user?: { readonly uid: number; readonly gid?: number } | undefined;
  readonly quota: Quota;
}

const operation = 'parse the project';
const members = ['hosts', 'reads', 'environment', 'secrets', 'user', 'limits'] as const;
const limits = ['memory', 'disk', 'processes', 'files', 'cpus'] as const;

type Table = Readonly<Record<string, unknown>>;
type Fail = (where: string, reason: string, remedy?: string) => never;

/** Where the project is, and what no project is shown as a whole. */
export interface ProjectPlace {
  /** The canonical directory that holds `.ctx/`. */
  readonly root: string;
  readonly home: string;
  /** Where ctx keeps its own files. */
  readonly hidden: readonly string[];
  /** Where a path leads, every link followed. A project has links of its own, and they are no narrower than their targets. */
  leadsTo(path: string): string;
  isSocket(path: string): boolean;
}

/** Of the kernel's, and no files of anyone's. */
const unreadable = ['/proc', '/sys', '/dev'];

/** Where daemons have theirs. */
const sockets = '/run';

function table(value: unknown, where: string, known: readonly string[], fail: Fail): Table {
  // TOML has dates, too.
  const isTable = typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
  if (!isTable) return fail(where, 'expected a table');
  const surplus = Object.keys(value).find((key) => !known.includes(key));
  if (surplus !== undefined) {
    const remedy = 'a project can set nothing else: give what one command needs as an option of that command';
    fail(where, `expected members ${known.join(', ')}, got ${quoted(surplus)}`, remedy);
  }
  return value as Table;
}

function texts(value: unknown, where: string, fail: Fail): readonly string[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) return fail(where, 'expected a list of strings');
  if (value.length > projectEntries) fail(where, `expected at most ${projectEntries} entries, got ${value.length}`);
  return value.map((each, index) => {
    const isText = typeof each === 'string' && each !== '' && !/[\0-\x1f\x7f]/.test(each);
    return isText ? each : fail(`${where}[${index}]`, 'expected a string of one line');
  });
}

const withPort = (name: string) => (/:\d+$/.test(name) ? name : `${name}:443`);

/** What another parser refuses is refused with the place in the file. */
function placed<T>(where: string, fail: Fail, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ErrnoError)) throw error;
    return fail(where, error.reason);
  }
}

function hostOf(text: string, where: string, fail: Fail): string {
  return text === 'any' ? text : placed(where, fail, () => parseHostPort(withPort(text)));
}

function readOf(text: string, where: string, place: ProjectPlace, fail: Fail): ProjectRead {
  const { root, home, hidden, leadsTo, isSocket } = place;
  const from = text === '~' || text.startsWith('~/') ? `${home}${text.slice(1)}` : text;
  const path = posix.resolve(root, from);
  if (!isNormalPath(path)) fail(where, `expected ${normalPathRule}`);
  const target = leadsTo(path);
  for (const each of [path, target]) {
    if (contains(each, home) || contains(each, root)) {
      fail(
        where,
        `${quoted(text)} asks for too much: it holds the home or the project itself; name what is needed in it`,
      );
    }
    if (unreadable.some((place) => contains(place, each))) {
      fail(where, `${quoted(text)} asks for too much: expected nothing of ${unreadable.join(', ')}`);
    }
    if (hidden.some((place) => contains(place, each))) {
      fail(where, `${quoted(text)} asks for too much: ctx keeps its own files there, and never shows them`);
    }
  }
  // Whoever reads one may connect to it, and have done outside what its server does: for Docker's that is anything.
  if (isSocket(target) || (contains(sockets, target) && !contains(root, target))) {
    fail(where, `${quoted(text)} asks for too much: a command could connect to sockets of programs outside`);
  }
  return { path, target };
}

function variableOf(text: string, where: string, fail: Fail): string {
  return /^[A-Za-z_][A-Za-z0-9_]*(=|$)/.test(text) ? text : fail(where, 'expected NAME=VALUE or NAME');
}

function secretOf(text: string, where: string, fail: Fail): ProjectSecret {
  const [, place, header, template] = /^(\S+)\s+([A-Za-z0-9-]+):\s*(\S.*)$/.exec(text) ?? [];
  const isValue = template !== undefined && /\$\w/.test(template) && /^[\x20-\x7e]+$/.test(template);
  if (place === undefined || header === undefined || !isValue) {
    return fail(
      where,
      "expected 'HOST HEADER: VALUE', with the $NAME of a stored secret in a value of printable ASCII",
    );
  }
  const full = placed(where, fail, () => parseHostPort(withPort(place)));
  const colon = full.lastIndexOf(':');
  return { host: full.slice(0, colon), port: Number(full.slice(colon + 1)), header, template };
}

function userOf(value: unknown, fail: Fail): ProjectDefaults['user'] {
  if (value === undefined) return undefined;
  const [, uid, gid] = /^(\d{1,10})(?::(\d{1,10}))?$/.exec(typeof value === 'string' ? value : '') ?? [];
  if (uid === undefined) return fail('user', 'expected "UID" or "UID:GID", as numbers');
  return { uid: Number(uid), ...(gid === undefined ? {} : { gid: Number(gid) }) };
}

function numberOf(value: unknown, where: string, fail: Fail): number | undefined {
  if (value === undefined || typeof value === 'number') return value;
  return fail(where, 'expected a number');
}

function sizeOf(value: unknown, where: string, fail: Fail): number | undefined {
  if (value === undefined) return value;
  if (typeof value !== 'string') return fail(where, 'expected a size such as "512M" or "4G"');
  return placed(where, fail, () => parseSize(value));
}

function quotaOf(value: unknown, fail: Fail): Quota {
  const given = table(value ?? {}, 'limits', limits, fail);
  // With less than these no jail can be started, and every command here would fail.
  const asked = [
    ['memory', 'memory', sizeOf, leastMemoryBytes],
    ['disk', 'disk', sizeOf, 0],
    ['pids', 'processes', numberOf, leastProcesses],
    ['inodes', 'files', numberOf, 0],
    ['cpu', 'cpus', numberOf, 0],
  ] as const;
  let quota: Quota = {};
  for (const [name, word, read, least] of asked) {
    const amount = read(given[word], `limits.${word}`, fail);
    if (amount === undefined) continue;
    const where = `limits.${word}`;
    quota = placed(where, fail, () => makeQuota({ ...quota, [name]: amount }));
    const fewest = word === 'memory' ? exactSize(least) : least;
    if (amount < least) fail(where, `expected at least ${fewest}, got ${quoted(String(given[word]))}`);
  }
  return quota;
}

/** `file` is named in refusals only. */
export function projectDefaults(document: unknown, file: string, place: ProjectPlace): ProjectDefaults {
  const fail: Fail = (where, reason, remedy) => refuse(operation, `${visible(file)}: ${where}: ${reason}`, remedy);
  const given = table(document, 'document', members, fail);
  const each = <T>(name: string, read: (text: string, where: string) => T): readonly T[] =>
    texts(given[name], name, fail).map((text, index) => read(text, `${name}[${index}]`));
  const network = each('hosts', (text, where) => hostOf(text, where, fail));
  const secrets = each('secrets', (text, where) => secretOf(text, where, fail));
  const granted = network.includes('any') ? anyPublicNetwork : hostNetwork(network);
  const [beyond] = networkExcess(hostNetwork(secrets.map(({ host, port }) => `${host}:${port}`)), granted);
  if (beyond !== undefined) fail('secrets', `expected hosts to name ${beyond}, too`);
  return deepFrozen({
    network,
    reads: each('reads', (text, where) => readOf(text, where, place, fail)),
    environment: each('environment', (text, where) => variableOf(text, where, fail)),
    secrets,
    ...(given['user'] === undefined ? {} : { user: userOf(given['user'], fail) }),
    quota: quotaOf(given['limits'], fail),
  });
}

const quotaWords: Readonly<Record<string, (value: number) => string>> = {
  memory: (value) => `use at most ${exactSize(value)} of memory`,
  disk: (value) => `hold at most ${exactSize(value)} in the fork and its private home`,
  pids: (value) => `have at most ${value} processes and threads at one time`,
  inodes: (value) => `hold at most ${value} files, directories and links`,
  cpu: (value) => `use at most ${value} processors`,
};

/** What a command here may do by these defaults, a sentence each; to be shown escaped. */
export function projectSentences({
  network,
  reads,
  environment,
  secrets,
  user,
  quota,
}: ProjectDefaults): readonly string[] {
  return [
    ...network.map((name) => (name === 'any' ? 'connect to any public host' : `connect to ${name}`)),
    ...reads.map(({ path, target }) => (path === target ? `read ${path}` : `read ${target}, where ${path} leads`)),
    ...environment.map((text) =>
      text.includes('=') ? `have the variable ${text}` : `have the value that your variable ${text} has`,
    ),
    ...secrets.map(
      ({ host, port, header, template }) =>
        `have the header ${header}: ${template} added to its requests to ${host}:${port}, from your stored secrets`,
    ),
    ...(user === undefined ? [] : [`be uid ${user.uid} and gid ${user.gid ?? user.uid} inside its jail`]),
    ...Object.entries(quota).flatMap(([name, value]) => quotaWords[name]?.(value as number) ?? []),
  ];
}
