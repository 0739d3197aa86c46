/**
 * `s3://BUCKET/PREFIX`: read-only unless opened as writable. Its credentials are this process's: the process that uses
 * the tree never sees them.
 */
import type { FileSystem } from '../../filesystem.js';
import { remoteFileSystem } from '../remote/remote-filesystem.js';
import { type S3Options, S3Store } from './s3-store.js';

export async function s3FileSystem(options: S3Options & { readonly writable: boolean }): Promise<FileSystem> {
  const store = new S3Store(await import('./s3-sdk.js'), options);
  try {
    await store.check();
  } catch (error) {
    await store.close();
    throw error;
  }
  return remoteFileSystem(store, options.writable);
}
