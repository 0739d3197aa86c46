/** A request of the kernel, as far as all of them are alike. */
import type { Inode } from '../vfs/filesystem.js';
import { inHeaderBytes } from './wire.js';

/** What is known of a request before its own part. */
export interface Request {
  readonly bytes: Buffer;
  readonly end: number;
  readonly inode: Inode;
  readonly uid: number;
  readonly gid: number;
  /** Where its reply is written; nobody else's before that is sent. */
  readonly reply: Buffer;
}

/** Where a request's own part begins. */
export const body = inHeaderBytes;
