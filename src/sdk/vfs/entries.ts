/** Every call of a tree and what it takes. */
import {
  abortSignal,
  bytes,
  callback,
  closed,
  either,
  flag,
  integer,
  list,
  oneOf,
  optional,
  refuseShape,
  type Shape,
  word,
} from '../../base/shape.js';
import { atOnce, type Entries, giving, later, methodsOf } from '../checked-face.js';
import type { VfsOptions } from './create.js';
import type { LockOptions, ReadPart, VfsFileHandle } from './file-handle.js';
import type { VfsGrants, VfsQuota } from './grants.js';
import type { ListOptions, ReadOptions, Vfs, WriteOptions } from './vfs.js';
import type { WatchOptions } from './watch.js';

const isText = (value: unknown) => typeof value === 'string';
const path = bytes;
const encodings = ['utf8', 'utf-8', 'ascii', 'latin1', 'binary', 'base64', 'base64url', 'hex', 'utf16le', 'ucs2'];
const encodingName = oneOf(...encodings);
const encoding: Shape = (value, at) => {
  if (value !== null && value !== undefined) encodingName(value, at);
};
const mode = integer(0, 0o7777);
const openFlag = either(isText, word, integer(0));
const orEncoding = (options: Shape): Shape => {
  const other = either(isText, encodingName, options);
  return (value, at) => (value === null ? undefined : optional(other)(value, at));
};
const place: Shape = (value, at) => (value === null ? undefined : optional(integer(0))(value, at));
const time = either((value) => typeof value === 'number', seconds(), date());

function seconds(): Shape {
  return (value, at) => {
    if (!Number.isFinite(value)) refuseShape(at, 'seconds since 1970', value);
  };
}

function date(): Shape {
  return (value, at) => {
    if (!(value instanceof Date) || Number.isNaN(value.getTime())) refuseShape(at, 'a Date', value);
  };
}

const paths = optional(list(word));
const grants = closed<VfsGrants>({
  'fs.read': paths,
  'fs.write': paths,
  'fs.create': paths,
  'fs.delete': paths,
  'fs.metadata': paths,
});
const limit = optional(integer(0));
const quota = closed<VfsQuota>({ bytes: limit, inodes: limit, fileBytes: limit, openFiles: limit });

const isEngine = (value: unknown) => typeof value === 'object' && value !== null && 'lookup' in value;
const mount = either(
  isText,
  word,
  either(
    isEngine,
    () => undefined,
    closed<{ spec: string; writable?: boolean }>({ spec: word, writable: optional(flag) }),
  ),
);
const mounts: Shape = (value, at) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) refuseShape(at, 'an object', value);
  for (const [name, each] of Object.entries(value as object))
    mount(each, `${at}[${JSON.stringify(name.slice(0, 40))}]`);
};

export const vfsOptions = closed<VfsOptions>({
  mounts: optional(mounts),
  quota: optional(quota),
  onQuota: optional(callback),
  directory: optional(word),
});

const readOptions = closed<ReadOptions>({ encoding, flag: optional(openFlag) });
const writeOptions = closed<WriteOptions>({ encoding, flag: optional(openFlag), mode: optional(mode) });
const readPart = closed<ReadPart>({
  buffer: optional((value, at) => {
    if (!(value instanceof Uint8Array)) refuseShape(at, 'a Uint8Array', value);
  }),
  offset: optional(integer(0)),
  length: optional(integer(0)),
  position: place,
});

const range = { start: limit, end: limit };
const lockOptions = closed<LockOptions>({
  ...range,
  kind: optional(oneOf('shared', 'exclusive')),
  wait: optional(flag),
  signal: optional(abortSignal),
});

export const fileHandleEntries: Entries = {
  name: 'file',
  methods: methodsOf<VfsFileHandle>()({
    read: later(optional(either((value) => value instanceof Uint8Array, bytes, readPart)), limit, limit, place),
    write: later(bytes, limit, limit, place),
    readFile: later(orEncoding(closed<{ encoding?: unknown }>({ encoding }))),
    writeFile: later(bytes),
    appendFile: later(bytes),
    stat: later(),
    truncate: later(limit),
    sync: later(),
    datasync: later(),
    lock: later(optional(lockOptions)),
    unlock: later(optional(closed<Pick<LockOptions, 'start' | 'end'>>(range))),
    close: later(),
  }),
};

export const vfsEntries: Entries = {
  name: 'vfs',
  methods: methodsOf<Vfs>()({
    get restricted() {
      return giving(atOnce(grants, optional(callback)), vfsEntries);
    },
    readFile: later(path, orEncoding(readOptions)),
    writeFile: later(path, bytes, orEncoding(writeOptions)),
    appendFile: later(path, bytes, orEncoding(writeOptions)),
    copyFile: later(path, path),
    open: giving(later(path, optional(openFlag), optional(mode)), fileHandleEntries),
    stat: later(path),
    lstat: later(path),
    access: later(path),
    realpath: later(path),
    readdir: later(path, optional(closed<ListOptions>({ withFileTypes: optional(flag), recursive: optional(flag) }))),
    mkdir: later(
      path,
      optional(
        either(
          (value) => typeof value === 'number',
          mode,
          closed<{ recursive?: boolean; mode?: number }>({ recursive: optional(flag), mode: optional(mode) }),
        ),
      ),
    ),
    rmdir: later(path),
    unlink: later(path),
    rm: later(
      path,
      optional(closed<{ recursive?: boolean; force?: boolean }>({ recursive: optional(flag), force: optional(flag) })),
    ),
    rename: later(path, path),
    link: later(path, path),
    symlink: later(path, path),
    readlink: later(path),
    truncate: later(path, limit),
    chmod: later(path, mode),
    chown: later(path, integer(0, 2 ** 32 - 2), integer(0, 2 ** 32 - 2)),
    utimes: later(path, time, time),
    watch: atOnce(path, optional(closed<WatchOptions>({ signal: optional(abortSignal) }))),
    close: later(),
  }),
};
