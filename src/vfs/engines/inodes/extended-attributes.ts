/** Extended attributes of an inode store: few and small, so they are part of the inode's record. */

import { failure } from '../../failure.js';
import type { Inode } from '../../filesystem.js';
import { type Name, nameBytes } from '../../names.js';
import { attributeBytes, type InodeRecord, type InodeStore } from './inode-store.js';
import { now } from './inode-time.js';

/** As the kernel's limits. */
const valueBytes = 64 * 1024;
const allBytes = 64 * 1024;
/** Others mean something to a kernel, such as who may read a file (`system.posix_acl_access`). Here they would not, so they are refused. */
const kinds = ['user.', 'trusted.', 'security.'];
const isKept = (name: Name) => kinds.some((kind) => name.startsWith(kind));

export interface ExtendedAttributes {
  get(inode: Inode, name: Name): Buffer;
  set(inode: Inode, name: Name, value: Uint8Array, rule: 'create' | 'replace' | 'any'): void;
  list(inode: Inode): readonly Name[];
  remove(inode: Inode, name: Name): void;
}

export function extendedAttributes(
  store: InodeStore,
  recordOf: (inode: Inode, operation: string) => InodeRecord,
): ExtendedAttributes {
  const replace = (record: InodeRecord, attributes: ReadonlyMap<Name, Buffer>) => {
    store.weigh(attributeBytes({ attributes }) - attributeBytes(record));
    record.attributes = attributes.size === 0 ? undefined : attributes;
    record.changed = now();
    store.put(record);
  };
  return {
    get: (inode, name) => {
      const value = recordOf(inode, 'getxattr').attributes?.get(name);
      if (value === undefined) throw failure('ENODATA', 'getxattr', name);
      return value;
    },
    set: (inode, name, value, rule) => {
      const record = recordOf(inode, 'setxattr');
      if (name.length > nameBytes || name === '') throw failure('ERANGE', 'setxattr', name.slice(0, 40), 'bad name');
      if (!isKept(name))
        throw failure('ENOTSUP', 'setxattr', name, `expected a name that begins with ${kinds.join(', ')}`);
      if (kinds.includes(name)) throw failure('EINVAL', 'setxattr', name, 'expected a name behind its first part');
      const before = record.attributes?.has(name) === true;
      if (rule === 'create' && before) throw failure('EEXIST', 'setxattr', name);
      if (rule === 'replace' && !before) throw failure('ENODATA', 'setxattr', name);
      if (value.length > valueBytes) throw failure('E2BIG', 'setxattr', name, `expected at most ${valueBytes} bytes`);
      const attributes = new Map(record.attributes).set(name, Buffer.from(value));
      if (attributeBytes({ attributes }) > allBytes)
        throw failure('ENOSPC', 'setxattr', name, `expected at most ${allBytes} bytes in all`);
      replace(record, attributes);
    },
    list: (inode) => [...(recordOf(inode, 'listxattr').attributes?.keys() ?? [])].filter(isKept),
    remove: (inode, name) => {
      const record = recordOf(inode, 'removexattr');
      const attributes = new Map(record.attributes);
      if (!attributes.delete(name)) throw failure('ENODATA', 'removexattr', name);
      replace(record, attributes);
    },
  };
}
