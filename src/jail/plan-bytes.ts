/** The bytes of a plan, as native/jail/plan.h describes them. Pure; what cannot be said in the format is refused. */
import { ErrnoError } from '../base/errno.js';
import { encodePath, isUtf8Text } from '../base/path-bytes.js';
import type { Attribute, Namespace, Operation, Plan } from './operation.js';

const magic = 'CTXJAIL\0';
const version = 1;

/** What the reader takes, by native/jail/plan.h. Refused here, where it can be said what was too much. */
export const planLimits = { bytes: 16 << 20, operations: 4096, strings: 65535, channels: 16 } as const;
/** What a frame says before the plan, which the reader counts with it. */
const frameHead = 8;

const attributeBits: Readonly<Record<Attribute, number>> = {
  'read only': 0x1,
  'no setuid': 0x2,
  'no devices': 0x4,
  'no execution': 0x8,
  'shifted owners': 0x100000,
  'exchanged owners': 0x80000000,
};

const namespaceBits: Readonly<Record<Namespace, number>> = {
  mount: 0x00020000,
  cgroup: 0x02000000,
  hostname: 0x04000000,
  ipc: 0x08000000,
  user: 0x10000000,
  pid: 0x20000000,
  network: 0x40000000,
};

interface Encoded {
  readonly code: number;
  readonly strings?: readonly string[];
  readonly flags?: number;
  readonly number?: bigint;
}

function bits<Name extends string>(names: readonly Name[], table: Readonly<Record<Name, number>>): number {
  return names.reduce((all, name) => all | table[name], 0);
}

function pair(high: number, low: number): bigint {
  return (BigInt(high) << 32n) | BigInt(low);
}

/** Layers reach the kernel as one option string, in which these characters would begin another layer or option. */
function refuseSeparators(layers: readonly string[]): void {
  const odd = layers.find((layer) => /[:,\\]/.test(layer));
  if (odd === undefined) return;
  throw new ErrnoError('EINVAL', {
    operation: 'plan',
    path: odd,
    reason: 'expected the name of a layer without a colon, comma or backslash',
  });
}

function encode(operation: Operation): Encoded {
  switch (operation.do) {
    case 'base':
      return { code: 1, strings: [operation.directory] };
    case 'namespaces':
      return { code: 2, flags: bits(operation.of, namespaceBits) };
    case 'map self':
      return { code: 3, number: pair(operation.uid, operation.gid) };
    case 'hostname':
      return { code: 4, strings: [operation.name] };
    case 'loopback':
      return { code: 5 };
    case 'root':
      return { code: 6, number: BigInt(operation.bytes) };
    case 'directory':
      return { code: 7, strings: [operation.path], number: BigInt(operation.mode) };
    case 'file':
      return { code: 8, strings: [operation.path, operation.content], number: BigInt(operation.mode) };
    case 'symlink':
      return { code: 9, strings: [operation.path, operation.target] };
    case 'tmpfs':
      return {
        code: 10,
        strings: [operation.path],
        number: BigInt(operation.mode),
        flags: bits(operation.attributes, attributeBits),
      };
    case 'bind':
      return {
        code: 11,
        strings: [
          operation.source,
          operation.target,
          ...(operation.identity === undefined ? [] : [operation.identity]),
        ],
        flags: bits(operation.attributes, attributeBits),
      };
    case 'overlay':
      refuseSeparators([...operation.lower, operation.upper, operation.work]);
      return {
        code: 12,
        strings: [
          operation.target,
          operation.lower.join(':'),
          operation.upper,
          operation.work,
          ...(operation.holders ?? []).map(String),
        ],
        flags: bits(operation.attributes, attributeBits),
      };
    case 'proc':
      return { code: 13, strings: [operation.path] };
    case 'devpts':
      return { code: 14, strings: [operation.path] };
    case 'mask':
      return { code: 15, strings: [operation.path] };
    case 'make read only':
      return { code: 16, strings: [operation.path] };
    case 'pivot':
      return { code: 17 };
    case 'shift':
      return { code: 18, number: pair(operation.by, operation.count) };
    case 'user':
      return { code: 19, number: pair(operation.uid, operation.gid) };
    case 'limit':
      return { code: 20, flags: operation.resource, number: operation.value };
    case 'command directory':
      return { code: 21, strings: [operation.path] };
    case 'environment':
      return { code: 22, strings: Object.entries(operation.variables).map(([name, value]) => `${name}=${value}`) };
    case 'command':
      return { code: 23, strings: operation.argv };
    case 'landlock':
      return { code: 24, number: operation.rights, flags: operation.scopes };
    case 'landlock rule':
      return { code: 25, strings: [operation.path], number: operation.rights };
    case 'seccomp':
      return { code: 26, strings: [operation.filter.toString('hex')] };
    case 'listen':
      return { code: 27, number: BigInt(operation.port) };
    case 'control group':
      return { code: 28, strings: [operation.directory] };
    case 'owners':
      return { code: 29, strings: [operation.users, operation.groups] };
    case 'numbers':
      return {
        code: 34,
        strings: [operation.users, operation.groups],
        number: pair(operation.uid, operation.gid),
      };
    case 'groups':
      return { code: 30, strings: operation.of.map(String) };
    case 'report held files':
      return { code: 31, strings: operation.paths };
    case 'cache':
      refuseSeparators([operation.upper, operation.work]);
      return {
        code: 32,
        strings: [
          operation.target,
          operation.source,
          operation.upper,
          operation.work,
          ...(operation.holders ?? []).map(String),
        ],
        flags: bits(operation.attributes, attributeBits),
      };
    case 'again':
      return {
        code: 35,
        strings: [operation.source, operation.target],
        flags: bits(operation.attributes, attributeBits),
      };
    case 'fuse':
      return {
        code: 33,
        strings: [operation.path],
        number: BigInt(operation.channel),
        flags: bits(operation.attributes, attributeBits),
      };
  }
}

function checkSize(what: string, count: number, most: number): void {
  if (count <= most) return;
  throw new ErrnoError('E2BIG', {
    operation: 'plan',
    reason: `expected at most ${most} ${what}, got ${count}`,
    remedy: 'give the command fewer arguments or variables: write them into a file, or split the work with xargs -n',
  });
}

function refuseNul(text: string): void {
  if (!text.includes('\0')) return;
  throw new ErrnoError('EINVAL', { operation: 'plan', path: text, reason: 'expected text without a NUL character' });
}

const headSize = 16;
const operationSize = 16;
const lengthSize = 4;

/** Words and paths of a command are bytes (`path-bytes`); nearly all of them are text, which takes no buffer of its own. */
const bytesOf = (text: string): number => (isUtf8Text(text) ? Buffer.byteLength(text) : encodePath(text).length);
const put = (text: string, bytes: Buffer, at: number): number =>
  isUtf8Text(text) ? bytes.write(text, at) : encodePath(text).copy(bytes, at);

/** How many bytes an operation takes. */
function sizeOf({ strings = [] }: Encoded): number {
  let size = operationSize;
  for (const text of strings) size += lengthSize + bytesOf(text) + 1;
  return size;
}

/** At `start` of `bytes`; returns where the next begins. */
function write({ code, strings = [], flags = 0, number = 0n }: Encoded, bytes: Buffer, start: number): number {
  bytes.writeUInt16LE(code, start);
  bytes.writeUInt16LE(strings.length, start + 2);
  bytes.writeUInt32LE(flags >>> 0, start + 4);
  bytes.writeBigUInt64LE(number, start + 8);
  let at = start + operationSize;
  for (const text of strings) {
    const length = put(text, bytes, at + lengthSize);
    bytes.writeUInt32LE(length, at);
    at = bytes.writeUInt8(0, at + lengthSize + length);
  }
  return at;
}

/** In one piece, whose size is known first: this is on the way to every command. */
export function planBytes(plan: Plan): Buffer {
  checkSize('operations', plan.length, planLimits.operations);
  const encoded = plan.map((operation) => {
    const one = encode(operation);
    checkSize(`words of '${operation.do}'`, one.strings?.length ?? 0, planLimits.strings);
    one.strings?.forEach(refuseNul);
    return one;
  });
  let size = headSize;
  for (const one of encoded) size += sizeOf(one);
  checkSize('bytes', size, planLimits.bytes - frameHead);
  const bytes = Buffer.alloc(size);
  bytes.write(magic, 'latin1');
  bytes.writeUInt32LE(version, 8);
  bytes.writeUInt32LE(plan.length, 12);
  let at = headSize;
  for (const one of encoded) at = write(one, bytes, at);
  return bytes;
}
