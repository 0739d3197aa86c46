/** What the server of a bucket may answer, or lose on the way, and what becomes of it. */
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, it } from 'node:test';
import { s3CopiedBytes, s3PartBytes } from '../../../base/limits/trees.js';
import { S3Store } from './s3-store.js';

interface Stored {
  readonly size: number;
  readonly tag: string;
  readonly mark: string;
}

/** A bucket of sizes, with the conditions of a write and with uploads in parts. */
const objects = new Map<string, Stored>();
const uploads = new Map<string, { readonly mark: string; size: number }>();
let writes = 0;
/** Before it is done: true where the request has its answer already. After it: true where its answer is lost. */
let instead: (request: IncomingMessage, url: URL, response: ServerResponse) => boolean = () => false;
let isLost: (request: IncomingMessage, url: URL) => boolean = () => false;

const server = createServer((request, response) => {
  let size = 0;
  request.on('data', (bytes: Buffer) => {
    size += bytes.length;
  });
  request.on('end', () => {
    const url = new URL(request.url ?? '', 'http://x');
    if (instead(request, url, response)) return;
    const [status, headers, body] = answer(request, url, size);
    if (isLost(request, url)) request.socket.destroy();
    else response.writeHead(status, headers).end(request.method === 'HEAD' ? '' : body);
  });
});

type Answered = readonly [number, Readonly<Record<string, string>>, string];
const refused = (status: number, code: string): Answered => [status, {}, `<Error><Code>${code}</Code></Error>`];

function answer({ method = '', headers }: IncomingMessage, { pathname, searchParams }: URL, size: number): Answered {
  const key = decodeURIComponent(pathname.replace('/trees/', ''));
  const there = objects.get(key);
  const mark = String(headers['x-amz-meta-ctx-write'] ?? '');
  const put = (bytes: number, by: string): Answered => {
    if (headers['if-none-match'] === '*' && there !== undefined) return refused(412, 'PreconditionFailed');
    const expected = headers['if-match'];
    if (expected !== undefined && expected !== there?.tag) return refused(412, 'PreconditionFailed');
    writes += 1;
    objects.set(key, { size: bytes, tag: `tag${writes}`, mark: by });
    return [200, { etag: `"tag${writes}"` }, `<X><ETag>"tag${writes}"</ETag></X>`];
  };
  if (searchParams.has('uploads')) {
    uploads.set('id', { mark, size: 0 });
    return [200, {}, '<X><UploadId>id</UploadId></X>'];
  }
  const upload = uploads.get(searchParams.get('uploadId') ?? '');
  if (searchParams.has('uploadId')) {
    if (upload === undefined) return refused(404, 'NoSuchUpload');
    if (method !== 'PUT') uploads.clear();
    else upload.size += size;
    return method === 'POST' ? put(upload.size, upload.mark) : [200, { etag: '"part"' }, ''];
  }
  if (method === 'DELETE') objects.delete(key);
  if (method === 'DELETE') return [204, {}, ''];
  if (method === 'GET') return [200, {}, listed(searchParams.get('prefix') ?? '')];
  if (method === 'PUT') {
    const source = headers['x-amz-copy-source'];
    if (source === undefined) return put(size, mark);
    const from = objects.get(decodeURIComponent(String(source)).replace('trees/', ''));
    if (from === undefined) return refused(404, 'NoSuchKey');
    return from.size > s3CopiedBytes ? refused(400, 'InvalidRequest') : put(from.size, from.mark);
  }
  if (there === undefined) return [404, {}, ''];
  const said = { etag: `"${there.tag}"`, 'content-length': String(there.size), 'x-amz-meta-ctx-write': there.mark };
  return [200, said, ''];
}

function listed(prefix: string): string {
  const found = [...objects].filter(([key]) => key.startsWith(prefix));
  const all = found.map(([key, { size }]) => `<Contents><Key>${key}</Key><Size>${size}</Size></Contents>`);
  return `<ListBucketResult>${all.join('')}</ListBucketResult>`;
}

let store: S3Store;
const saved = { ...process.env };
before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const keys = { AWS_ACCESS_KEY_ID: 'k', AWS_SECRET_ACCESS_KEY: 's', AWS_REGION: 'us-east-1' };
  Object.assign(process.env, keys, { AWS_ENDPOINT_URL: `http://127.0.0.1:${port}` });
  store = new S3Store(await import('./s3-sdk.js'), { bucket: 'trees', prefix: '', limit: 20_000 });
});
after(async () => {
  process.env = saved;
  await store.close();
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  objects.clear();
  instead = () => false;
  isLost = () => false;
});

const content = (size: number) => ({
  size,
  read: (at: number, length: number) => Buffer.alloc(Math.min(length, size - at)),
});
/** True the first time that the question is answered so. */
const once = (asks: (request: IncomingMessage, url: URL) => boolean) => {
  let times = 0;
  return (request: IncomingMessage, url: URL) => asks(request, url) && ++times === 1;
};
const isPut = ({ method }: IncomingMessage) => method === 'PUT';
const sized = (size: number) => ({ size, tag: 'old', mark: '' });

describe('a write to a bucket', () => {
  it('whose answer is lost has taken place once, and is no conflict with itself', async () => {
    isLost = once(isPut);
    const made = await store.write('f', content(0), 'nothing');
    isLost = once(isPut);
    const written = await store.write('f', content(5), { version: made.version });
    assert.deepEqual([written.size, objects.get('f')?.size], [5, 5]);
    isLost = once(({ method }, url) => method === 'POST' && url.searchParams.has('uploadId'));
    const large = await store.write('f', content(s3PartBytes + 1), { version: written.version });
    assert.deepEqual([large.size, objects.get('f')?.size], [s3PartBytes + 1, s3PartBytes + 1]);
  });

  it('is a conflict with what somebody else wrote, also where its answer is lost', async () => {
    objects.set('f', sized(1));
    await assert.rejects(store.write('f', content(0), 'nothing'), { code: 'EEXIST' });
    await assert.rejects(store.write('f', content(2), { version: '"older"' }), { code: 'ESTALE' });
    assert.equal(objects.get('f')?.size, 1);
  });

  it('has the version that it wrote, although somebody else was quicker than the question', async () => {
    instead = (request) => {
      if (request.method === 'HEAD') objects.set('f', sized(9));
      return false;
    };
    const written = await store.write('f', content(5), 'nothing');
    instead = () => false;
    await assert.rejects(store.write('f', content(6), { version: written.version }), { code: 'ESTALE' });
    assert.equal(objects.get('f')?.size, 9);
  });
});

describe('a directory of a bucket', () => {
  it('is made by one of two, and what has its key keeps its content', async () => {
    isLost = once(isPut);
    const both = await Promise.allSettled([store.makeDirectory('d'), store.makeDirectory('d')]);
    const refusals = both.flatMap((each) => (each.status === 'rejected' ? [each.reason.code] : []));
    assert.deepEqual(refusals, ['EEXIST']);
    objects.set('e/', sized(7));
    await store.keepDirectory('e');
    assert.equal(objects.get('e/')?.size, 7);
  });

  it('is not moved in part where something in it cannot be', async () => {
    objects
      .set('d/a', sized(1))
      .set('d/b', sized(s3CopiedBytes + 1))
      .set('e', sized(s3CopiedBytes + 1));
    await assert.rejects(store.move('d', 'x', 'directory'), { code: 'EXDEV' });
    await assert.rejects(store.move('e', 'x', 'file'), { code: 'EXDEV' });
    objects.delete('d/b');
    await assert.rejects(store.move('d', 'x'.repeat(1023), 'directory'), { code: 'ENAMETOOLONG' });
    assert.deepEqual([...objects.keys()], ['d/a', 'e']);
    await store.move('d', 'x', 'directory');
    assert.deepEqual([...objects.keys()].sort(), ['e', 'x/a']);
  });

  it('is never listed in part', async () => {
    const more = (text: string) => {
      instead = (_request, _url, response) => {
        response.end(`<ListBucketResult><IsTruncated>true</IsTruncated>${text}</ListBucketResult>`);
        return true;
      };
    };
    more('');
    await assert.rejects(store.list(''), { code: 'EIO' });
    more('<NextContinuationToken>again</NextContinuationToken>');
    await assert.rejects(store.list(''), { code: 'EIO' });
  });

  it('has files of which only what is asked for is read', async () => {
    let sent = 0;
    instead = (_request, _url, response) => {
      response.writeHead(200, { 'content-length': String(2 ** 30) });
      const piece = Buffer.alloc(65_536);
      const send = () => {
        while (!response.destroyed && sent < 2 ** 30) {
          sent += piece.length;
          if (!response.write(piece)) return response.once('drain', send);
        }
        return response;
      };
      send();
      return true;
    };
    await assert.rejects(store.read('f', '"v"', 0, 1000), { code: 'EIO' });
    assert.ok(sent < 2 ** 27, `${sent}`);
  });
});
