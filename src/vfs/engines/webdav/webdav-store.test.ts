/** What a WebDAV server may answer to each request, and what becomes of it. */
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { WebdavStore } from './webdav-store.js';

interface Answered {
  readonly status: number;
  readonly body?: string;
  readonly etag?: string;
  readonly location?: string;
  readonly range?: string;
}

/** What the server answers to a method, and what it was asked. */
const answers = new Map<string, (request: IncomingMessage) => Answered>();
const asked: string[] = [];
const server = createServer((request, response) => {
  const { method = '', url = '', headers } = request;
  asked.push([method, url, headers['overwrite'], headers['depth'], headers['range']].filter(Boolean).join(' '));
  request.resume().once('end', () => {
    const { status, body = '', etag, location, range } = answers.get(method)?.(request) ?? { status: 500 };
    const said = { etag, location, 'content-range': range };
    response.writeHead(status, Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined)));
    response.end(body);
  });
});
let store: WebdavStore;
before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  store = new WebdavStore({ url: new URL(`http://127.0.0.1:${port}/top/`), limit: 5000 }, 'webdav:test');
});
after(async () => {
  await store.close();
  server.close();
});

const entry = (href: string, properties: string, status = 'HTTP/1.1 200 OK') =>
  `<d:response><d:href>${href}</d:href><d:propstat><d:prop>${properties}</d:prop><d:status>${status}</d:status></d:propstat></d:response>`;
const directory = '<d:resourcetype><d:collection/></d:resourcetype>';
const file = (size: number, tag: string) =>
  `<d:getcontentlength>${size}</d:getcontentlength><d:getetag>"${tag}"</d:getetag>`;
const many = (...entries: readonly string[]) => ({
  status: 207,
  body: `<d:multistatus xmlns:d="DAV:">${entries.join('')}</d:multistatus>`,
});
const always = (answer: Answered) => () => answer;
const content = { size: 4, read: (at: number, length: number) => Buffer.from('text').subarray(at, at + length) };

/** Of everything that is not named, something that succeeds. */
function answering(given: Readonly<Record<string, (request: IncomingMessage) => Answered>>): void {
  asked.length = 0;
  answers.clear();
  const usual = {
    PUT: always({ status: 201 }),
    MOVE: always({ status: 201 }),
    DELETE: always({ status: 204 }),
    PROPFIND: always(many(entry('/top/f', file(4, 'v1')))),
  };
  for (const [method, answer] of Object.entries({ ...usual, ...given })) answers.set(method, answer);
}

describe('an answer of a WebDAV server', () => {
  it('is a success by its status for each request, and an error by every other', async () => {
    const requests: readonly (readonly [string, readonly number[], () => Promise<unknown>])[] = [
      ['PUT', [200, 201, 204], () => store.write('f', content, 'anything')],
      ['MOVE', [201, 204], () => store.write('f', content, 'anything')],
      ['MOVE', [201, 204], () => store.move('a', 'b', 'file', 'nothing')],
      ['DELETE', [200, 204, 404], () => store.remove('f')],
      ['DELETE', [200, 204, 404], () => store.removeDirectory('d')],
      ['MKCOL', [201], () => store.makeDirectory('d')],
      ['PROPFIND', [207, 404], () => store.stat('f')],
      ['PROPFIND', [207], () => store.list('d')],
      ['PROPFIND', [], () => store.check()],
    ];
    for (const [method, good, act] of requests) {
      for (const status of [200, 201, 202, 204, 207, 301, 404, 409, 423, 507]) {
        answering({
          [method]: always({ status, body: status === 207 ? many(entry('/top/f', file(4, 'v1'))).body : '' }),
        });
        const result = await act().then(
          () => 'good',
          ({ code }) => code,
        );
        const isGood = good.includes(status);
        assert.equal(result === 'good', isGood, `${method} ${status}: ${result}`);
      }
    }
    answering({ MKCOL: always({ status: 405 }) });
    await assert.rejects(store.makeDirectory('d'), { code: 'EEXIST' });
    answering({ PROPFIND: always(many(entry('/top/', directory))) });
    await store.check();
    answering({ PROPFIND: always(many(entry('/top/', file(1, 'x')))) });
    await assert.rejects(store.check(), { code: 'ENOTDIR' });
  });
});

describe('a file on a WebDAV server', () => {
  it('is written beside and moved over what was seen there, and nothing is left of a write that failed', async () => {
    const isHidden = /^PUT \/top\/d\/\.[^ ]+$/;
    answering({});
    assert.equal((await store.write('d/f', content, 'anything')).size, 4);
    assert.match(asked[0] ?? '', isHidden);
    assert.deepEqual(
      asked.slice(1).map((each) => each.replace(/\.\S+/, 'PART')),
      ['MOVE /top/d/PART T', 'PROPFIND /top/d/f 0'],
    );
    answering({ MOVE: always({ status: 412 }) });
    await assert.rejects(store.write('d/f', content, 'nothing'), { code: 'EEXIST' });
    assert.match(asked[1] ?? '', /^MOVE \S+ F$/);
    assert.match(asked.at(-1) ?? '', /^DELETE \/top\/d\/\./, 'the part goes');
    answering({ MOVE: always({ status: 412 }) });
    await assert.rejects(store.write('d/f', content, 'anything'), { code: 'ESTALE' });
    answering({});
    await assert.rejects(store.write('d/f', content, { version: '"v0"' } as never), { code: 'ESTALE' });
    assert.ok(!asked.some((each) => each.startsWith('MOVE')) && asked.at(-1)?.startsWith('DELETE'));
    answering({});
    await store.write('d/f', content, { version: '"v1"' } as never);
    answering({ DELETE: always({ status: 500 }), PUT: always({ status: 507 }) });
    await assert.rejects(store.write('d/f', content, 'anything'), { code: 'ENOSPC' }, 'what failed first is said');
    let looks = 0;
    answering({
      PROPFIND: () => {
        looks += 1;
        return { status: 404 };
      },
    });
    await assert.rejects(store.write('d/f', content, 'anything'), { code: 'ESTALE' }, 'it has gone again');
    assert.equal(looks, 1);
  });

  it('is there although the answer to the last step of its write was lost, and not where the step was not done', async () => {
    const lost = (request: IncomingMessage) => {
      request.socket.destroy();
      return { status: 500 };
    };
    const isPart = (request: IncomingMessage) => request.url?.includes('ctx-part') === true;
    const there = always(many(entry('/top/d/f', file(4, 'v1'))));
    answering({ MOVE: lost, PROPFIND: (request) => (isPart(request) ? { status: 404 } : there()) });
    assert.equal((await store.write('d/f', content, 'nothing')).size, 4);
    answering({ MOVE: lost });
    await assert.rejects(store.write('d/f', content, 'nothing'), { code: 'EIO' });
    assert.match(asked.at(-1) ?? '', /^DELETE .*ctx-part/);
  });

  it('is moved over the file that was seen there, and over nothing that came meanwhile', async () => {
    answering({});
    await store.move('a', 'b', 'file', 'file');
    await store.move('a', 'b', 'file', 'nothing');
    assert.deepEqual(asked, ['PROPFIND /top/b 0', 'MOVE /top/a T', 'MOVE /top/a F']);
    answering({ PROPFIND: always(many(entry('/top/b/', directory))) });
    await assert.rejects(store.move('a', 'b', 'file', 'file'), { code: 'ESTALE' }, 'all in it would be gone');
    assert.deepEqual(asked, ['PROPFIND /top/b 0']);
    answering({ MOVE: always({ status: 412 }) });
    await assert.rejects(store.move('a', 'b', 'file', 'nothing'), { code: 'ESTALE' });
  });

  it('is a directory also where its server asks for a slash, and no other redirect is followed', async () => {
    const answerAt = (location: string) => (request: IncomingMessage) =>
      request.url?.endsWith('/') === true ? many(entry('/top/d/', directory)) : { status: 301, location };
    for (const location of ['/top/d/', 'https://127.0.0.1/top/d/']) {
      answering({ PROPFIND: answerAt(location) });
      assert.equal((await store.stat('d'))?.kind, 'directory');
      assert.deepEqual(asked, ['PROPFIND /top/d 0', 'PROPFIND /top/d/ 0']);
    }
    for (const location of ['/other/', '/top/e/', 'http://elsewhere.example/', '']) {
      answering({ PROPFIND: answerAt(location) });
      await assert.rejects(store.stat('d'), { code: 'EIO' });
      assert.equal(asked.length, 1);
    }
  });

  it('is read in parts, of the version that was asked for and in full', async () => {
    const text = '0123456789';
    const read = (answer: Answered, version = '"v1"') => {
      answering({ GET: always(answer) });
      return store.read('f', version, 2, 3).then(String, ({ code }) => code);
    };
    assert.equal(await read({ status: 206, body: '234', etag: '"v1"' }), '234');
    assert.equal(asked[0], 'GET /top/f bytes=2-4');
    assert.equal(await read({ status: 200, body: text, etag: '"v1"' }), '234', 'a server that knows no parts');
    assert.equal(await read({ status: 206, body: '234' }), '234');
    assert.equal(await read({ status: 206, body: '234', range: 'bytes 2-4/10' }), '234');
    assert.equal(await read({ status: 206, body: '012', range: 'bytes 0-2/10' }), 'EIO');
    assert.equal(await read({ status: 206, body: '234', etag: '"v2"' }), 'ESTALE');
    assert.equal(await read({ status: 206, body: '234', etag: '"v2"' }, '17-10'), '234', 'a version of our own making');
    for (const body of ['23', '2345', '']) assert.equal(await read({ status: 206, body }), 'EIO');
    assert.equal(await read({ status: 200, body: '0123' }), 'EIO');
    for (const [status, code] of [
      [404, 'ESTALE'],
      [416, 'ESTALE'],
      [403, 'EACCES'],
      [201, 'EIO'],
    ] as const)
      assert.equal(await read({ status, body: '234' }), code);
    answering({});
    assert.equal((await store.read('f', '"v1"', 0, 0)).length, 0);
    assert.deepEqual(asked, []);
  });

  it('is listed where it is in the directory itself, and by no name that leads elsewhere', async () => {
    answering({
      PROPFIND: always(
        many(
          entry('/top/d/', directory),
          entry('/top/d/plain', file(3, 'a')),
          entry('/top/d/sp%20%C3%A4', file(4, 'b')),
          entry('/top/d/sub/', directory),
          entry('/top/d/sub/below', file(5, 'c')),
          entry('/top/other', file(6, 'd')),
          entry('/elsewhere/d/x', file(7, 'e')),
          entry('/top/d/a%2fb', file(8, 'f')),
          entry('/top/d/../../x', file(8, 'f')),
          entry('/top/d/%ff', file(8, 'f')),
          entry('/top/d/gone', file(9, 'g'), 'HTTP/1.1 404 Not Found'),
          entry(`/top/d/${hiddenName()}`, file(9, 'g')),
        ),
      ),
    });
    const found = await store.list('d');
    // What has no name that could be asked for is counted, so that its directory is not taken for an empty one.
    assert.equal(found.filter(({ name }) => name === '').length, 3);
    assert.deepEqual(
      found.filter(({ name }) => name !== '').map(({ name, kind, size }) => [name, kind, size]),
      [
        ['plain', 'file', 3],
        ['sp \u00e4', 'file', 4],
        ['sub', 'directory', 0],
      ],
    );
    assert.equal(asked[0], 'PROPFIND /top/d/ 1');
  });

  it('that a gateway gives is no reason to make or to move it a second time: the server may have done it', async () => {
    const requests: readonly (readonly [string, () => Promise<unknown>])[] = [
      ['MOVE', () => store.write('f', content, 'anything')],
      ['MOVE', () => store.move('a', 'b', 'file', 'nothing')],
      ['MOVE', () => store.move('a', 'b', 'directory', 'nothing')],
      ['MKCOL', () => store.makeDirectory('d')],
    ];
    for (const [method, act] of requests) {
      for (const status of [429, 500, 502, 503, 504]) {
        answering({ [method]: always({ status }) });
        await assert.rejects(act(), { code: 'EIO' });
        assert.equal(asked.filter((each) => each.startsWith(method)).length, 1, `${method} ${status}`);
      }
    }
  });

  /** As the store names what it writes beside a file. */
  function hiddenName(): string {
    return hidden;
  }

  let hidden = '';
  before(async () => {
    answering({});
    await store.write('d/f', content, 'anything');
    hidden = /\/(\.[^/ ]+)$/.exec(asked[0] ?? '')?.[1] ?? '';
    assert.notEqual(hidden, '');
  });

  it('has a version of its own where the server gives none, and sizes and times that are numbers', async () => {
    const found = async (properties: string) => {
      answering({ PROPFIND: always(many(entry('/top/f', properties))) });
      return store.stat('f');
    };
    const time = '<d:getlastmodified>Thu, 29 Feb 2024 00:00:01 GMT</d:getlastmodified>';
    const modified = 1_709_164_801_000_000_000n;
    assert.deepEqual(await found(`${time}<d:getcontentlength>5</d:getcontentlength>`), {
      kind: 'file',
      size: 5,
      modified,
      version: `${modified}-5`,
      path: 'f',
      isKnown: true,
      name: 'f',
    });
    const odd = await found(
      '<d:getlastmodified>yesterday</d:getlastmodified><d:getcontentlength>-5</d:getcontentlength>',
    );
    assert.deepEqual([odd?.size, odd?.modified, odd?.version], [0, 0n, '0-0']);
  });
});
