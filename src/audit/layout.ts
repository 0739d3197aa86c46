/**
 * Where chains are below the record's directory. Pure functions of names.
 *
 *     host/                     the chain over all others: their first and their sealed heads, keys, anchors
 *     person/                   commands without an agent, and what the person does themselves
 *     agent/NAME/               one agent's
 *       000000000001.jsonl      a segment, named by the number of its first record
 *       lock                    held (flock) while records are appended
 *       denials.json            refusals counted, and repeats that are not recorded yet
 *       torn.000000000007       what a crash left half written where record 7 was to be
 *     key/ID.key, key/ID.pub    what heads are signed with
 *     seal.lock                 held while heads are sealed, keys made and anchors written
 *     reserve                   room for the record on a full disk
 */
import { join } from 'node:path';

export const hostChain = 'host';
export const personChain = 'person';

const agentPrefix = 'agent/';
const agentName = /^[a-zA-Z0-9][a-zA-Z0-9._+-]{0,63}$/;

export function agentChain(name: string): string {
  return `${agentPrefix}${name}`;
}

export function agentOfChain(chain: string): string | null {
  return chain.startsWith(agentPrefix) ? chain.slice(agentPrefix.length) : null;
}

export function isChainName(text: string): boolean {
  return text === hostChain || text === personChain || agentName.test(agentOfChain(text) ?? '');
}

const digits = 12;

function numbered(seq: number): string {
  return String(seq).padStart(digits, '0');
}

export function segmentName(firstSeq: number): string {
  return `${numbered(firstSeq)}.jsonl`;
}

/** The number of its first record; undefined for a file that is not a segment. */
export function firstSeqOf(name: string): number | undefined {
  return /^\d{12,16}\.jsonl$/.test(name) ? Number(name.slice(0, name.indexOf('.'))) : undefined;
}

export function tornName(seq: number): string {
  return `torn.${numbered(seq)}`;
}

export function isTornName(name: string): boolean {
  return /^torn\.\d{12,16}$/.test(name);
}

export interface ChainPaths {
  readonly directory: string;
  readonly lock: string;
  readonly denials: string;
  file(name: string): string;
}

export function chainPaths(record: string, chain: string): ChainPaths {
  const directory = join(record, ...chain.split('/'));
  return {
    directory,
    lock: join(directory, 'lock'),
    denials: join(directory, 'denials.json'),
    file: (name) => join(directory, name),
  };
}

export function recordPaths(record: string) {
  return {
    keys: join(record, 'key'),
    reserve: join(record, 'reserve'),
    sealLock: join(record, 'seal.lock'),
    agents: join(record, 'agent'),
  } as const;
}
