/**
 * A collection of a WebDAV server as a store of files. Servers differ in which conditions of a PUT they look at, and some at none: so a
 * file is written under a name that is not shown, and moved to its own, which every server does whole; `Overwrite: F` makes a new name
 * a new one.
 */
import { randomUUID } from 'node:crypto';
import { failure } from '../../failure.js';
import { nameFromText } from '../../names.js';
import type { Expected, RemoteContent, RemoteEntry, RemotePath, RemoteStore } from '../remote/remote-store.js';
import { type WebdavAccess, type WebdavAnswer, WebdavClient, type WebdavRequest } from './webdav-client.js';
import { childOf, childrenOf, parseXml, type XmlElement } from './webdav-xml.js';

/** Of files on their way: never shown. */
const partPrefix = '.ctx-part-';
const properties =
  '<?xml version="1.0"?><propfind xmlns="DAV:"><prop><resourcetype/><getcontentlength/><getlastmodified/><getetag/></prop></propfind>';

export class WebdavStore implements RemoteStore {
  readonly label: string;
  readonly pathBytes = 4_095;
  readonly #client: WebdavClient;
  readonly #url: URL;
  /** Path of the URL, without a slash at its end. */
  readonly #base: string;

  constructor(access: WebdavAccess, label: string) {
    this.label = label;
    this.#url = access.url;
    this.#base = access.url.pathname.replace(/\/+$/, '');
    this.#client = new WebdavClient(access, label);
  }

  /** That it is there, speaks WebDAV and knows us, before anything is made of it. */
  async check(): Promise<void> {
    const answer = await this.#find('', '0', 'open');
    if (answer.status !== 207) throw this.#client.refused(answer, 'open');
    const [root] = this.#entries(answer);
    if (root?.kind !== 'directory') throw failure('ENOTDIR', 'open', nameFromText(this.label), 'expected a collection');
  }

  async stat(path: RemotePath): Promise<RemoteEntry | undefined> {
    const answer = await this.#find(path, '0', 'lookup');
    if (answer.status === 404) return undefined;
    if (answer.status !== 207) throw this.#client.refused(answer, 'lookup');
    const entry = this.#entries(answer).find(({ isKnown }) => isKnown);
    return entry === undefined ? undefined : { ...entry, name: path.slice(path.lastIndexOf('/') + 1) };
  }

  async list(path: RemotePath): Promise<readonly RemoteEntry[]> {
    const answer = await this.#find(path, '1', 'readdir');
    // Not an empty directory: a program that compares would delete everything.
    if (answer.status === 404) throw failure('ESTALE', 'readdir', nameFromText(path), 'it is not there any more');
    if (answer.status !== 207) throw this.#client.refused(answer, 'readdir');
    const below = path === '' ? '' : `${path}/`;
    return this.#entries(answer)
      .filter(({ path: at, name }) => at !== path && at === `${below}${name}` && !name.startsWith(partPrefix))
      .map((entry) => (entry.isKnown ? entry : { ...entry, name: '' }));
  }

  async read(path: RemotePath, version: string, offset: number, length: number): Promise<Buffer> {
    if (length <= 0) return Buffer.alloc(0);
    const answer = await this.#ask('read', 'GET', path, {
      headers: { range: `bytes=${offset}-${offset + length - 1}` },
    });
    if (answer.status === 404 || answer.status === 416) throw failure('ESTALE', 'read', nameFromText(path));
    if (answer.status !== 206 && answer.status !== 200) throw this.#client.refused(answer, 'read');
    const { etag } = answer.headers;
    if (typeof etag === 'string' && version.startsWith('"') && etag !== version) {
      throw failure('ESTALE', 'read', nameFromText(path), 'another client has changed it meanwhile');
    }
    const range = answer.headers['content-range'];
    if (answer.status === 206 && typeof range === 'string' && !range.startsWith(`bytes ${offset}-`)) {
      throw failure('EIO', 'read', nameFromText(path), `expected bytes from ${offset} on, got '${range}'`);
    }
    const bytes = answer.status === 206 ? answer.body : answer.body.subarray(offset, offset + length);
    if (bytes.length === length) return bytes;
    throw failure('EIO', 'read', nameFromText(path), `expected ${length} bytes, got ${bytes.length}`);
  }

  async write(path: RemotePath, content: RemoteContent, expected: Expected): Promise<RemoteEntry> {
    const directory = path.slice(0, path.lastIndexOf('/') + 1);
    const part = `${directory}${partPrefix}${randomUUID()}`;
    try {
      this.#accept(await this.#ask('write', 'PUT', part, { body: content }), 'write', [200, 201, 204]);
      await this.#refuseOther(path, expected);
      const moved = await this.#place(part, path, expected === 'nothing' ? 'F' : 'T');
      if (moved !== 'moved' && moved.status === 412 && expected === 'nothing')
        throw failure('EEXIST', 'create', nameFromText(path));
      if (moved !== 'moved') this.#accept(moved, 'write', [201, 204]);
    } catch (error) {
      // That it could not be taken away either is not what the caller has to hear.
      await this.#ask('write', 'DELETE', part).catch(() => undefined);
      throw error;
    }
    const written = await this.stat(path);
    if (written === undefined) throw failure('ESTALE', 'write', nameFromText(path));
    return written;
  }

  async remove(path: RemotePath): Promise<void> {
    this.#accept(await this.#ask('unlink', 'DELETE', path), 'unlink', [200, 204, 404]);
  }

  async makeDirectory(path: RemotePath): Promise<void> {
    const answer = await this.#ask('mkdir', 'MKCOL', `${path}/`, { again: false });
    if (answer.status === 405) throw failure('EEXIST', 'mkdir', nameFromText(path));
    this.#accept(answer, 'mkdir', [201]);
  }

  async removeDirectory(path: RemotePath): Promise<void> {
    this.#accept(await this.#ask('rmdir', 'DELETE', `${path}/`), 'rmdir', [200, 204, 404]);
  }

  async keepDirectory(): Promise<void> {
    // A collection is there by itself.
  }

  async move(from: RemotePath, to: RemotePath, kind: 'file' | 'directory', over: 'nothing' | 'file'): Promise<void> {
    const slash = kind === 'directory' ? '/' : '';
    // `Overwrite: T` takes a whole directory away, too: one that came meanwhile is looked for just before.
    if (over === 'file' && (await this.stat(to))?.kind === 'directory') throw this.#otherIsThere(to);
    const moved = await this.#move(`${from}${slash}`, `${to}${slash}`, over === 'file' ? 'T' : 'F', 'rename');
    if (moved.status === 412) throw this.#otherIsThere(to);
    this.#accept(moved, 'rename', [201, 204]);
  }

  async close(): Promise<void> {
    this.#client.close();
  }

  /** Between this and the move somebody may still come in between: servers have no other way that all of them know. */
  async #refuseOther(path: RemotePath, expected: Expected): Promise<void> {
    if (expected === 'anything' || expected === 'nothing') return;
    const there = await this.stat(path);
    if (there?.version === expected.version) return;
    throw this.#otherIsThere(path);
  }

  #otherIsThere(path: RemotePath) {
    const reason = 'another client has changed it meanwhile, and nothing was overwritten';
    return failure('ESTALE', 'write', nameFromText(path), reason);
  }

  /** Where the answer is lost, the part says what has happened: no one else moves it. */
  async #place(part: RemotePath, path: RemotePath, overwrite: 'T' | 'F'): Promise<WebdavAnswer | 'moved'> {
    try {
      return await this.#move(part, path, overwrite, 'write');
    } catch (error) {
      const left = await this.stat(part).catch(() => 'unknown');
      if (left === undefined) return 'moved';
      throw error;
    }
  }

  #move(from: RemotePath, to: RemotePath, overwrite: 'T' | 'F', operation: string): Promise<WebdavAnswer> {
    const headers = { destination: new URL(this.#path(to), this.#url).href, overwrite };
    return this.#ask(operation, 'MOVE', from, { headers, again: false });
  }

  async #find(path: RemotePath, depth: '0' | '1', operation: string): Promise<WebdavAnswer> {
    const body = Buffer.from(properties);
    const headers = { depth, 'content-type': 'application/xml; charset=utf-8' };
    const ask = (at: RemotePath) =>
      this.#ask(operation, 'PROPFIND', at, { headers, body: { size: body.length, read: () => body } });
    if (depth === '1' || path === '') return ask(`${path}/`);
    const answer = await ask(path);
    return this.#hasSlash(answer, path) ? ask(`${path}/`) : answer;
  }

  /** Apache sends those who ask for a directory without a slash to the same URL with one. No other redirect is followed. */
  #hasSlash({ status, headers: { location } }: WebdavAnswer, path: RemotePath): boolean {
    if (![301, 302, 307, 308].includes(status) || typeof location !== 'string') return false;
    if (!URL.canParse(location, this.#url.href)) return false;
    const { pathname } = new URL(location, this.#url);
    return pathname.endsWith('/') && this.#pathOf(pathname) === path;
  }

  #ask(
    operation: string,
    method: string,
    path: RemotePath,
    more: Partial<Pick<WebdavRequest, 'headers' | 'body' | 'again'>> = {},
  ): Promise<WebdavAnswer> {
    return this.#client.ask({ operation, method, path: this.#path(path), again: true, ...more });
  }

  #accept(answer: WebdavAnswer, operation: string, statuses: readonly number[]): void {
    if (!statuses.includes(answer.status)) throw this.#client.refused(answer, operation);
  }

  #path(path: RemotePath): string {
    return path === '/' ? `${this.#base}/` : `${this.#base}/${path.split('/').map(encodeURIComponent).join('/')}`;
  }

  #entries({ body }: WebdavAnswer): readonly Found[] {
    return childrenOf(parseXml(body.toString('utf8')), 'response').flatMap((response) => {
      const path = this.#pathOf(childOf(response, 'href')?.text.trim() ?? '');
      if (path === undefined) return [];
      const found = childrenOf(response, 'propstat').find((each) => / 200 /.test(`${childOf(each, 'status')?.text} `));
      const name = lastOf(path);
      return [
        {
          ...entryOf(childOf(found, 'prop')),
          path,
          name,
          isKnown: found !== undefined && (name !== '' || path === ''),
        },
      ];
    });
  }

  /** Undefined for what is not below our collection. */
  #pathOf(href: string): RemotePath | undefined {
    if (!URL.canParse(href, this.#url.href)) return undefined;
    const names = namesOf(new URL(href, this.#url).pathname);
    const base = namesOf(this.#base);
    return base.every((name, index) => names[index] === name) ? names.slice(base.length).join('/') : undefined;
  }
}

/** `isKnown`: it can be asked for. What cannot is not shown, and yet its directory is not empty. */
type Found = RemoteEntry & { readonly path: RemotePath; readonly isKnown: boolean };

function namesOf(path: string): readonly string[] {
  return path
    .split('/')
    .filter((name) => name !== '')
    .map(nameOf);
}

/** Empty where it is not text, or where it is written with a slash in it (%2f), which would be one of the path. */
function nameOf(encoded: string): string {
  try {
    const name = decodeURIComponent(encoded);
    return name.includes('/') ? '' : name;
  } catch {
    return '';
  }
}

function lastOf(path: RemotePath): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function entryOf(properties: XmlElement | undefined): Omit<RemoteEntry, 'name'> {
  const text = (name: string) => childOf(properties, name)?.text.trim() ?? '';
  const isDirectory = childOf(childOf(properties, 'resourcetype'), 'collection') !== undefined;
  const time = Date.parse(text('getlastmodified'));
  const modified = BigInt(Number.isNaN(time) ? 0 : time) * 1_000_000n;
  if (isDirectory) return { kind: 'directory', size: 0, modified, version: '' };
  const size = /^\d+$/.test(text('getcontentlength')) ? Number(text('getcontentlength')) : 0;
  return { kind: 'file', size, modified, version: text('getetag') || `${modified}-${size}` };
}
