/** What the flags of an open file ask of an engine. Pure. */
import { constants } from 'node:fs';
import type { OpenMode } from '../vfs/filesystem.js';

const { O_WRONLY, O_RDWR, O_APPEND, O_TRUNC } = constants;

export function openMode(flags: number): OpenMode {
  const access = flags & (O_WRONLY | O_RDWR);
  return {
    read: access !== O_WRONLY,
    write: access !== 0,
    append: (flags & O_APPEND) !== 0 && access !== 0,
    truncate: (flags & O_TRUNC) !== 0,
  };
}
