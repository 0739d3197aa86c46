/**
 * What a process gives to those that it starts, and a copy of a keeper would give in its place: identity, rights,
 * limits, namespaces, control group. A call is run for a caller only where all of it is the same, so that no one
 * borrows what a keeper has.
 */
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';

/** By name; what cannot be read is missing. */
export type ProcessTraits = ReadonlyMap<string, string>;

const ofStatus = [
  ...['Umask', 'Uid', 'Gid', 'Groups', 'CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb', 'NoNewPrivs', 'Seccomp'],
  ...['Seccomp_filters', 'Speculation_Store_Bypass', 'SpeculationIndirectBranch', 'Cpus_allowed', 'Mems_allowed'],
  ...['SigBlk', 'THP_enabled'],
];
const files = ['cgroup', 'oom_score_adj', 'coredump_filter', 'attr/current', 'loginuid'];
/** Of /proc/PID/stat, behind the name: nice value, real-time priority, scheduling policy. */
const ofStat = [16, 37, 38];

function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined; // not to be seen by us, or not known to this kernel
  }
}

/** Node raises the soft limit of open files to the hard one when it starts: the hard one alone decides. */
export function limitsOf(text: string): string {
  return text.replace(/^(Max open files)\s+\S+\s+/m, '$1 any ');
}

/** `priority` is that of input and output. Of every kind of namespace that this kernel has. */
export function readProcessTraits(process: number | 'self', priority: number): ProcessTraits {
  const directory = `/proc/${process}`;
  const found = new Map<string, string>([['io priority', `${priority}`]]);
  const note = (name: string, text: string | undefined) => void (text !== undefined && found.set(name, text));
  const read = (name: string) => attempt(() => readFileSync(`${directory}/${name}`, 'utf8'));
  const status = read('status') ?? '';
  for (const name of ofStatus) note(name, new RegExp(`^${name}:[ \t]*(.*)$`, 'm').exec(status)?.[1]?.trim());
  const stat = read('stat') ?? '';
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  note('scheduling', ofStat.map((place) => fields[place] ?? '').join(' '));
  note(
    'limits',
    attempt(() => limitsOf(readFileSync(`${directory}/limits`, 'utf8'))),
  );
  for (const name of files) note(name, read(name));
  for (const name of attempt(() => readdirSync('/proc/self/ns')) ?? []) {
    note(`namespace ${name}`, attempt(() => readlinkSync(`${directory}/ns/${name}`)) ?? '');
  }
  const root = attempt(() => statSync(`${directory}/root/`, { bigint: true }));
  note('root', root === undefined ? undefined : `${root.dev}:${root.ino}`);
  return found;
}

/**
 * Of a copy that still prepares itself: libuv keeps all signals from it for moments, long ones on a busy machine. What it will have
 * blocked then is what the keeper had when it made it.
 */
export function whenPrepared(copy: ProcessTraits, keeper: ProcessTraits): ProcessTraits {
  return new Map([...copy, ['SigBlk', keeper.get('SigBlk') ?? '']]);
}

const spaced = (names: readonly string[]) => ` ${names.join(' ')} `;

/** What `native/keeper.node` compares at once: the same, by their names. */
export const comparedAtOnce = {
  fields: spaced(ofStatus),
  files: spaced(files),
  namespaces: spaced(attempt(() => readdirSync('/proc/self/ns')) ?? []),
};

/** Without these it is not known who asks. */
const needed = [
  'Uid',
  'Gid',
  'Groups',
  'CapEff',
  'NoNewPrivs',
  'limits',
  'cgroup',
  'root',
  'namespace user',
  'namespace mnt',
];

/** The name of the first that differs, or is not to be seen; undefined where all are the same. Pure. */
export function differenceOf(own: ProcessTraits, others: ProcessTraits): string | undefined {
  const names = new Set([...needed, ...own.keys(), ...others.keys()]);
  return [...names].find((name) => own.get(name) !== others.get(name) || (needed.includes(name) && !own.has(name)));
}
