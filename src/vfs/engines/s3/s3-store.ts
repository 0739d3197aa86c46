/**
 * A bucket, or what is below a prefix of it, as a store of files: objects are files, `/` in their keys makes directories, and an empty
 * object whose key ends in `/` is a directory without anything in it. Where an object and a directory have one name, the directory is shown.
 */
import {
  remoteAttempts,
  remoteCallMilliseconds,
  remoteConnectMilliseconds,
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
    this.pathBytes = 1024 - Buffer.byteLength(this.#prefix) - 1;
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
    for (let token: string | undefined, more = true; more; more = token !== undefined) {
      const page = await this.#ask('readdir', (signal) =>
        this.#client.send(
          new this.#sdk.ListObjectsV2Command({
            Bucket: this.#bucket,
            Prefix: prefix,
            Delimiter: '/',
            ...(token === undefined ? {} : { ContinuationToken: token }),
          }),
          { abortSignal: signal },
        ),
      );
      for (const { Key = '', Size = 0, LastModified, ETag = '' } of page.Contents ?? []) {
        const name = Key.slice(prefix.length);
        if (name === '' || found.has(name)) continue;
        found.set(name, { name, kind: 'file', size: Size, modified: timeOf(LastModified), version: ETag });
      }
      for (const { Prefix = '' } of page.CommonPrefixes ?? []) {
        const name = Prefix.slice(prefix.length, -1);
        found.set(name, directory(name, 0n));
      }
      token = page.NextContinuationToken;
    }
    return [...found.values()];
  }

  async read(path: RemotePath, version: string, offset: number, length: number): Promise<Buffer> {
    if (length <= 0) return Buffer.alloc(0);
    return this.#ask('read', async (signal) => {
      const { Body } = await this.#client.send(
        new this.#sdk.GetObjectCommand({
          Bucket: this.#bucket,
          Key: this.#key(path),
          Range: `bytes=${offset}-${offset + length - 1}`,
          IfMatch: version,
        }),
        { abortSignal: signal },
      );
      const bytes = Buffer.from((await Body?.transformToByteArray()) ?? []);
      if (bytes.length === length) return bytes;
      throw failure('EIO', 'read', nameFromText(path), `expected ${length} bytes, got ${bytes.length}`);
    });
  }

  async write(path: RemotePath, content: RemoteContent, expected: Expected): Promise<RemoteEntry> {
    const condition =
      expected === 'anything'
        ? {}
        : expected === 'nothing'
          ? { IfNoneMatch: '*' }
          : { IfMatch: this.#writtenTag(expected.version) };
    const where = { Bucket: this.#bucket, Key: this.#key(path) };
    try {
      if (content.size > s3PartBytes) await this.#writeParts(where, content, condition);
      else await this.#put(where, content.read(0, content.size), condition);
    } catch (error) {
      const isTaken = expected === 'nothing' && (error as { code?: string }).code === 'ESTALE';
      throw isTaken ? failure('EEXIST', 'create', nameFromText(path)) : error;
    }
    const written = await this.#head(path);
    if (written === undefined) throw failure('ESTALE', 'write', nameFromText(path));
    return { ...written, name: path.slice(path.lastIndexOf('/') + 1) };
  }

  async remove(path: RemotePath): Promise<void> {
    await this.#delete(this.#key(path));
  }

  async makeDirectory(path: RemotePath): Promise<void> {
    await this.#put({ Bucket: this.#bucket, Key: `${this.#key(path)}/` }, Buffer.alloc(0), {});
  }

  async removeDirectory(path: RemotePath): Promise<void> {
    await this.#delete(`${this.#key(path)}/`);
  }

  keepDirectory(path: RemotePath): Promise<void> {
    return path === '' ? Promise.resolve() : this.makeDirectory(path);
  }

  async move(from: RemotePath, to: RemotePath, kind: 'file' | 'directory'): Promise<void> {
    if (kind === 'file') {
      await this.#copy(this.#key(from), this.#key(to));
      await this.#delete(this.#key(from));
      return;
    }
    const [old, next] = [`${this.#key(from)}/`, `${this.#key(to)}/`];
    const objects = await this.#below(old, s3MovedObjects + 1);
    if (objects.length > s3MovedObjects) {
      const reason = `it has more than ${s3MovedObjects} objects in it (s3MovedObjects), which would be copied one by one`;
      throw failure('EXDEV', 'rename', nameFromText(from), reason);
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

  async #head(path: RemotePath): Promise<RemoteEntry | undefined> {
    try {
      const {
        ContentLength = 0,
        LastModified,
        ETag = '',
      } = await this.#ask('lookup', (signal) =>
        this.#client.send(new this.#sdk.HeadObjectCommand({ Bucket: this.#bucket, Key: this.#key(path) }), {
          abortSignal: signal,
        }),
      );
      return { name: '', kind: 'file', size: ContentLength, modified: timeOf(LastModified), version: ETag };
    } catch (error) {
      if (saysMissing((error as { cause?: unknown }).cause)) return undefined;
      throw error;
    }
  }

  /** Objects whose keys begin so, at most so many. */
  async #below(prefix: string, most: number): Promise<readonly { readonly key: string; readonly modified: bigint }[]> {
    const found: { readonly key: string; readonly modified: bigint }[] = [];
    for (let token: string | undefined, more = true; more; more = token !== undefined && found.length < most) {
      const page = await this.#ask('lookup', (signal) =>
        this.#client.send(
          new this.#sdk.ListObjectsV2Command({
            Bucket: this.#bucket,
            Prefix: prefix,
            MaxKeys: Math.min(1_000, most),
            ...(token === undefined ? {} : { ContinuationToken: token }),
          }),
          { abortSignal: signal },
        ),
      );
      for (const { Key = '', LastModified } of page.Contents ?? [])
        found.push({ key: Key, modified: timeOf(LastModified) });
      token = page.NextContinuationToken;
    }
    return found;
  }

  async #put(where: Where, bytes: Buffer, condition: Condition): Promise<void> {
    await this.#ask('write', (signal) =>
      this.#client.send(
        new this.#sdk.PutObjectCommand({ ...where, Body: bytes, ContentLength: bytes.length, ...condition }),
        { abortSignal: signal },
      ),
    );
  }

  /** Nothing is there before the last step, which takes the condition. */
  async #writeParts(where: Where, content: RemoteContent, condition: Condition): Promise<void> {
    const partBytes = Math.max(s3PartBytes, Math.ceil(content.size / 10_000));
    const { UploadId } = await this.#ask('write', (signal) =>
      this.#client.send(new this.#sdk.CreateMultipartUploadCommand(where), { abortSignal: signal }),
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
      await this.#ask('write', (signal) =>
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
