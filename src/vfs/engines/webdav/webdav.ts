/** `webdav:URL`: a collection of a WebDAV server, read-only unless opened as writable. */
import { remoteCallMilliseconds } from '../../../base/limits/trees.js';
import type { FileSystem } from '../../filesystem.js';
import { remoteFileSystem } from '../remote/remote-filesystem.js';
import type { RemoteStore } from '../remote/remote-store.js';
import type { WebdavAccess } from './webdav-client.js';
import { WebdavStore } from './webdav-store.js';

export interface WebdavOptions {
  readonly url: string;
  readonly writable: boolean;
  /** In milliseconds, for one call with its retries. */
  readonly limit?: number | undefined;
}

/** Credentials are the operator's, from the environment of this process: they are in no SPEC, and so in no report. */
export function webdavFileSystem({
  url,
  writable,
  limit = remoteCallMilliseconds,
}: WebdavOptions): Promise<FileSystem> {
  const [user, password] = [process.env['CTX_WEBDAV_USER'], process.env['CTX_WEBDAV_PASSWORD']];
  return openedWebdav({ url: new URL(url), user, password, limit }, `webdav:${url}`, writable, (store) => store);
}

export async function openedWebdav(
  access: WebdavAccess,
  label: string,
  writable: boolean,
  served: (store: WebdavStore) => RemoteStore,
): Promise<FileSystem> {
  const store = new WebdavStore(access, label);
  try {
    await store.check();
  } catch (error) {
    await store.close();
    throw error;
  }
  return remoteFileSystem(served(store), writable);
}
