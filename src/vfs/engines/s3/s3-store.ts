/**
 * A bucket, or what is below a prefix of it, as a store of files: objects are files, `/` in their keys makes directories, and an empty
 * object whose key ends in `/` is a directory without anything in it. Where an object and a directory have one name, the directory is shown.
 */
import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { type ErrnoError, hasCode } from '../../../base/errno.js';
import {
  remoteAttempts,
  remoteCallMilliseconds,
  remoteConnectMilliseconds,
  s3CopiedBytes,
  s3MovedObjects,
  s3PartBytes,
} from '../../../base/limits/trees.js';
import { failure } from '../../failure.js';
import { nameFromText } from '../../names.js';
import type { Expected, RemoteContent, RemoteEntry, RemotePath, RemoteStore } from '../remote/remote-store.js';
import { withinLimit } from '../remote/within-limit.js';
import { s3Failure, saysMissing } from './s3-failure.js';

type Sdk = typeof import('./s3-sdk.js');

export interface S3Options {
  readonly bucket: string;
  /** Without slashes at its ends; empty for the whole bucket. */
  readonly prefix: string;
  /** In milliseconds, for one call with its retries. */
  readonly limit?: number | undefined;
}

/** Among what an object has besides its content: which write has made it. */
const markName = 'ctx-write';

/** Credentials, region and endpoint are found as Amazon's own programs find them: in the environment and in `~/.aws`. */
export class S3Store implements RemoteStore {
  readonly label: string;
  readonly pathBytes: number;
  readonly #sdk: Sdk;
  readonly #client: InstanceType<Sdk['S3Client']>;
  readonly #bucket: string;
  readonly #prefix: string;
  readonly #limit: number;
  /** A process that is still waiting when it is closed waits for nothing. */
  readonly #closing = new AbortController();
  /** Ceph compares the tag that a write expects without the quotes that it has, and Amazon with them. */
  readonly #writtenTag: (version: string) => string;

  constructor(sdk: Sdk, { bucket, prefix, limit = remoteCallMilliseconds }: S3Options) {
    this.#sdk = sdk;
    this.#bucket = bucket;
    this.#prefix = prefix === '' ? '' : `${prefix}/`;
    this.#limit = limit;
    this.label = `s3://${bucket}/${prefix}`;
    this.pathBytes = keyBytes - Buffer.byteLength(this.#prefix) - 1;
    const ownEndpoint = process.env['AWS_ENDPOINT_URL_S3'] ?? process.env['AWS_ENDPOINT_URL'];
    this.#writtenTag = (version) => (ownEndpoint === undefined ? version : version.replaceAll('"', ''));
    // It is pinned, and says nothing of Node that anybody could act upon.
    process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';
    this.#client = new sdk.S3Client({
      maxAttempts: remoteAttempts,
      retryMode: 'standard',
      requestHandler: { connectionTimeout: Math.min(limit, remoteConnectMilliseconds) },
      // Servers that are not Amazon's know neither the newer checksums nor names of buckets in host names.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      ...(ownEndpoint === undefined ? {} : { forcePathStyle: true }),
      ...(process.env['AWS_REGION'] === undefined && ownEndpoint !== undefined ? { region: 'us-east-1' } : {}),
    });
  }

  /** That the bucket is there and knows us, before anything is made of it. */
  async check(): Promise<void> {
    await this.#ask('open', (signal) =>
      this.#client.send(
        new this.#sdk.ListObjectsV2Command({ Bucket: this.#bucket, Prefix: this.#prefix, MaxKeys: 1 }),
        { abortSignal: signal },
      ),
    );
  }

  async stat(path: RemotePath): Promise<RemoteEntry | undefined> {
    const name = path.slice(path.lastIndexOf('/') + 1);
    const [object, below] = await Promise.all([this.#head(path), this.#below(`${this.#key(path)}/`, 1)]);
    const [first] = below;
    if (first !== undefined) return directory(name, first.modified);
    return object === undefined ? undefined : { ...object, name };
  }

  async list(path: RemotePath): Promise<readonly RemoteEntry[]> {
    const prefix = path === '' ? this.#prefix : `${this.#key(path)}/`;
    const found = new Map<string, RemoteEntry>();
    for await (const page of this.#pages('readdir', { Prefix: prefix, Delimiter: '/' })) {
      for (const { Key = '', Size = 0, LastModified, ETag = '' } of page.Contents ?? []) {
        const name = Key.slice(prefix.length);
        if (name === '' || found.has(name)) continue;
        found.set(name, { name, kind: 'file', size: Size, modified: timeOf(LastModified), version: ETag });
      }
      for (const { Prefix = '' } of page.CommonPrefixes ?? []) {
        const name = Prefix.slice(prefix.length, -1);
        found.set(name, directory(name, 0n));
      }
    }
    return [...found.values()];
  }

  async read(path: RemotePath, version: string, offset: number, length: number): Promise<Buffer> {
    if (length <= 0) return Buffer.alloc(0);
    return this.#ask('read', async (signal) => {
      const { Body, ContentLength = length } = await this.#client.send(
        new this.#sdk.GetObjectCommand({
          Bucket: this.#bucket,
          Key: this.#key(path),
          Range: `bytes=${offset}-${offset + length - 1}`,
          IfMatch: version,
        }),
        { abortSignal: signal },
      );
      // A server that knows no ranges would send all of a file, however large.
      if (ContentLength !== length) (Body as Readable | undefined)?.destroy();
      const bytes = Buffer.from(ContentLength === length ? ((await Body?.transformToByteArray()) ?? []) : []);
      if (bytes.length === length) return bytes;
      throw failure('EIO', 'read', nameFromText(path), `expected ${length} bytes, got ${ContentLength}`);
    });
  }

  async write(path: RemotePath, content: RemoteContent, expected: Expected): Promise<RemoteEntry> {
    const condition =
      expected === 'anything'
        ? {}
        : expected === 'nothing'
          ? { IfNoneMatch: '*' }
          : { IfMatch: this.#writtenTag(expected.version) };
    const tag = await this.#written(path, content, condition).catch((error: unknown) => {
      throw expected === 'nothing' && hasCode(error, 'ESTALE')
        ? failure('EEXIST', 'create', nameFromText(path))
        : error;
    });
    const written = await this.#head(path);
    if (written === undefined) throw failure('ESTALE', 'write', nameFromText(path));
    // What was written is known by its own tag: somebody else may have been quicker than the question.
    return { ...written, version: tag ?? written.version, name: path.slice(path.lastIndexOf('/') + 1) };
  }

  /**
   * A request whose answer is lost is repeated, and then meets what it has done itself: that the object has the mark of this write says so.
   * Gives its tag, where one is known.
   */
  async #written(path: RemotePath, content: RemoteContent, condition: Condition): Promise<string | undefined> {
    const where = { Bucket: this.#bucket, Key: this.#key(path) };
    const mark = { Metadata: { [markName]: randomUUID() } };
    try {
      const tag =
        content.size > s3PartBytes
          ? await this.#writeParts(where, mark, content, condition)
          : await this.#put({ ...where, ...mark }, content.read(0, content.size), condition);
      return tag === undefined ? undefined : `"${tag.replaceAll('"', '')}"`;
    } catch (error) {
      const isUnclear = hasCode(error, 'ESTALE') || hasCode(error, 'EIO');
      const there = isUnclear ? await this.#head(path).catch(() => undefined) : undefined;
      if (there === undefined || there.mark !== mark.Metadata[markName]) throw error;
      return there.version;
    }
  }

  async remove(path: RemotePath): Promise<void> {
    await this.#delete(this.#key(path));
  }

  async makeDirectory(path: RemotePath): Promise<void> {
    const empty = { size: 0, read: () => Buffer.alloc(0) };
    await this.#written(`${path}/`, empty, { IfNoneMatch: '*' }).catch((error: unknown) => {
      throw hasCode(error, 'ESTALE') ? failure('EEXIST', 'mkdir', nameFromText(path)) : error;
    });
  }

  async removeDirectory(path: RemotePath): Promise<void> {
    await this.#delete(`${this.#key(path)}/`);
  }

  async keepDirectory(path: RemotePath): Promise<void> {
    if (path === '') return;
    await this.makeDirectory(path).catch((error: unknown) => {
      if (!hasCode(error, 'EEXIST')) throw error;
    });
  }

  async move(from: RemotePath, to: RemotePath, kind: 'file' | 'directory'): Promise<void> {
    if (kind === 'file') {
      await this.#copy(this.#key(from), this.#key(to)).catch(async (error: unknown) => {
        const { size = 0 } = (await this.#head(from).catch(() => undefined)) ?? {};
        throw size > s3CopiedBytes ? tooLargeToMove(from) : error;
      });
      await this.#delete(this.#key(from));
      return;
    }
    const [old, next] = [`${this.#key(from)}/`, `${this.#key(to)}/`];
    const objects = await this.#below(old, s3MovedObjects + 1);
    if (objects.length > s3MovedObjects) {
      const reason = `it has more than ${s3MovedObjects} objects in it (s3MovedObjects), which would be copied one by one`;
      throw failure('EXDEV', 'rename', nameFromText(from), reason);
    }
    if (objects.some(({ size }) => size > s3CopiedBytes)) throw tooLargeToMove(from);
    const longest =
      Math.max(...objects.map(({ key }) => Buffer.byteLength(key))) + Buffer.byteLength(next) - Buffer.byteLength(old);
    if (longest > keyBytes) {
      throw failure('ENAMETOOLONG', 'rename', nameFromText(to), `expected keys of at most ${keyBytes} bytes below it`);
    }
    // First all copies, then the old ones go: whatever ends in between, nothing is lost.
    for (const { key } of objects) await this.#copy(key, `${next}${key.slice(old.length)}`);
    for (const { key } of objects) await this.#delete(key);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#client.destroy();
  }

  #key(path: RemotePath): string {
    return `${this.#prefix}${path}`;
  }

  async #head(path: RemotePath): Promise<(RemoteEntry & { readonly mark: string | undefined }) | undefined> {
    try {
      const {
        ContentLength = 0,
        LastModified,
        ETag = '',
        Metadata = {},
      } = await this.#ask('lookup', (signal) =>
        this.#client.send(new this.#sdk.HeadObjectCommand({ Bucket: this.#bucket, Key: this.#key(path) }), {
          abortSignal: signal,
        }),
      );
      const mark = Metadata[markName];
      return { name: '', kind: 'file', size: ContentLength, modified: timeOf(LastModified), version: ETag, mark };
    } catch (error) {
      if (saysMissing((error as { cause?: unknown }).cause)) return undefined;
      throw error;
    }
  }

  /** Objects whose keys begin so, at most so many. */
  async #below(prefix: string, most: number): Promise<readonly ListedObject[]> {
    const found: ListedObject[] = [];
    for await (const page of this.#pages('lookup', { Prefix: prefix, MaxKeys: Math.min(1_000, most) })) {
      for (const { Key = '', Size = 0, LastModified } of page.Contents ?? [])
        found.push({ key: Key, size: Size, modified: timeOf(LastModified) });
      if (found.length >= most) break;
    }
    return found;
  }

  /** All of a listing, or an error: never a part of it as if it were all. */
  async *#pages(operation: string, what: { Prefix: string; Delimiter?: string; MaxKeys?: number }) {
    const seen = new Set<string>();
    for (let token: string | undefined; ; ) {
      const from = token === undefined ? {} : { ContinuationToken: token };
      const page = await this.#ask(operation, (signal) =>
        this.#client.send(new this.#sdk.ListObjectsV2Command({ Bucket: this.#bucket, ...what, ...from }), {
          abortSignal: signal,
        }),
      );
      yield page;
      token = page.NextContinuationToken;
      if (page.IsTruncated !== true && token === undefined) return;
      if (token === undefined || seen.has(token)) {
        throw failure('EIO', operation, nameFromText(this.label), 'its server does not say how its listing goes on');
      }
      seen.add(token);
    }
  }

  async #put(where: Where & Mark, bytes: Buffer, condition: Condition): Promise<string | undefined> {
    const { ETag } = await this.#ask('write', (signal) =>
      this.#client.send(
        new this.#sdk.PutObjectCommand({ ...where, Body: bytes, ContentLength: bytes.length, ...condition }),
        { abortSignal: signal },
      ),
    );
    return ETag;
  }

  /** Nothing is there before the last step, which takes the condition. */
  async #writeParts(
    where: Where,
    mark: Mark,
    content: RemoteContent,
    condition: Condition,
  ): Promise<string | undefined> {
    const partBytes = Math.max(s3PartBytes, Math.ceil(content.size / 10_000));
    const { UploadId } = await this.#ask('write', (signal) =>
      this.#client.send(new this.#sdk.CreateMultipartUploadCommand({ ...where, ...mark }), { abortSignal: signal }),
    );
    try {
      const parts: { readonly PartNumber: number; readonly ETag: string | undefined }[] = [];
      for (let at = 0; at < content.size; at += partBytes) {
        const PartNumber = parts.length + 1;
        const bytes = content.read(at, partBytes);
        const { ETag } = await this.#ask('write', (signal) =>
          this.#client.send(new this.#sdk.UploadPartCommand({ ...where, UploadId, PartNumber, Body: bytes }), {
            abortSignal: signal,
          }),
        );
        parts.push({ PartNumber, ETag });
      }
      await this.#refuseOther(where, condition);
      const { ETag } = await this.#ask('write', (signal) =>
        this.#client.send(
          new this.#sdk.CompleteMultipartUploadCommand({
            ...where,
            UploadId,
            MultipartUpload: { Parts: parts },
            ...condition,
          }),
          { abortSignal: signal },
        ),
      );
      return ETag;
    } catch (error) {
      // What was sent takes room until it is given up; that this failed, too, is not what the caller has to hear.
      await this.#ask('write', (signal) =>
        this.#client.send(new this.#sdk.AbortMultipartUploadCommand({ ...where, UploadId }), { abortSignal: signal }),
      ).catch(() => undefined);
      throw error;
    }
  }

  /** Servers that are not Amazon's may not look at the condition of the last step. */
  async #refuseOther({ Key }: Where, condition: Condition): Promise<void> {
    if (condition.IfMatch === undefined) return;
    const there = await this.#head(Key.slice(this.#prefix.length));
    if (there !== undefined && this.#writtenTag(there.version) === condition.IfMatch) return;
    throw failure('ESTALE', 'write', nameFromText(Key), 'another client has changed it meanwhile');
  }

  async #copy(from: string, to: string): Promise<void> {
    await this.#ask('rename', (signal) =>
      this.#client.send(
        new this.#sdk.CopyObjectCommand({
          Bucket: this.#bucket,
          Key: to,
          CopySource: `${this.#bucket}/${from.split('/').map(encodeURIComponent).join('/')}`,
        }),
        { abortSignal: signal },
      ),
    );
  }

  async #delete(key: string): Promise<void> {
    await this.#ask('unlink', (signal) =>
      this.#client.send(new this.#sdk.DeleteObjectCommand({ Bucket: this.#bucket, Key: key }), { abortSignal: signal }),
    );
  }

  async #ask<T>(operation: string, act: (signal: AbortSignal) => Promise<T>): Promise<T> {
    try {
      return await withinLimit(this.#limit, this.#closing.signal, act);
    } catch (error) {
      throw s3Failure(error, operation, this.label, this.#limit);
    }
  }
}

interface Where {
  readonly Bucket: string;
  readonly Key: string;
}

interface Mark {
  readonly Metadata: Record<string, string>;
}

interface ListedObject {
  readonly key: string;
  readonly size: number;
  readonly modified: bigint;
}

/** As long as a key can be. */
const keyBytes = 1024;

function tooLargeToMove(path: RemotePath): ErrnoError {
  const reason = `it has an object of more than ${s3CopiedBytes} bytes (s3CopiedBytes), which a bucket does not copy at once`;
  return failure('EXDEV', 'rename', nameFromText(path), reason);
}

interface Condition {
  readonly IfMatch?: string;
  readonly IfNoneMatch?: string;
}

function directory(name: string, modified: bigint): RemoteEntry {
  return { name, kind: 'directory', size: 0, modified, version: '' };
}

function timeOf(date: Date | undefined): bigint {
  return BigInt(date?.getTime() ?? 0) * 1_000_000n;
}
