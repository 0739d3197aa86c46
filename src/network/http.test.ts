import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../test/property/seeded.js';
import { bodyReader, framed, framedEnd } from './body.js';
import { headScanner, parseRequestHead, parseResponseHead } from './http-head.js';
import { endToEnd, outgoingRequest, parseAbsoluteTarget, requestFraming, responseFraming } from './http-message.js';

const request = (...lines: readonly string[]) =>
  parseRequestHead(['GET http://a.example/ HTTP/1.1', ...lines].join('\r\n'));
const refuses = (act: () => unknown, why?: string) => assert.throws(act, { code: 'EINVAL' }, why);

describe('the end of a head', () => {
  it('is found however the bytes come, and what follows is left', () => {
    const bytes = Buffer.from('GET / HTTP/1.1\r\nA: b\r\n\r\nrest');
    const scan = headScanner();
    let found: ReturnType<typeof scan>;
    for (let length = 1; length <= bytes.length && found === undefined; length++)
      found = scan(bytes.subarray(0, length));
    assert.deepEqual(found, { value: 'GET / HTTP/1.1\r\nA: b', used: bytes.length - 4 });
    assert.deepEqual(headScanner()(bytes), found);
  });

  it('is not taken from a bare line feed', () => {
    for (const text of ['GET / HTTP/1.1\n', 'GET / HTTP/1.1\r\nA: b\n\r\n', '\n', '\r\n', '\r\n\r\n']) {
      refuses(() => headScanner()(Buffer.from(text)), JSON.stringify(text));
    }
  });
});

describe('a head', () => {
  it('is read as it is written', () => {
    assert.deepEqual(request('Host: a.example', 'X-Empty:', 'X:  b c \t'), {
      method: 'GET',
      target: 'http://a.example/',
      version: '1.1',
      fields: [
        ['Host', 'a.example'],
        ['X-Empty', ''],
        ['X', 'b c'],
      ],
    });
    assert.deepEqual(parseResponseHead('HTTP/1.1 200\r\nA: b').status, 200);
  });

  it('is refused where two readers could differ', () => {
    for (const line of [
      ' folded',
      '\tfolded',
      'Name : x',
      'Name',
      ': x',
      'Na me: x',
      'A: b\0',
      'A: b\rC: d',
      'A: \x01',
      'A\x00: b',
    ]) {
      refuses(() => request('Host: a', line), JSON.stringify(line));
    }
    for (const first of [
      'GET  / HTTP/1.1',
      'GET /',
      'get / HTTP/1.1',
      'GET / HTTP/2.0',
      'GET / HTTP/1.1 ',
      ' GET / HTTP/1.1',
      'GET /a b HTTP/1.1',
      'GET / HTTP/1.10',
    ]) {
      refuses(() => parseRequestHead(first), first);
    }
    for (const first of ['HTTP/1.1 20', 'HTTP/2 200', 'ICY 200 OK', 'HTTP/1.1 0200 OK', 'HTTP/1.1  200']) {
      refuses(() => parseResponseHead(first), first);
    }
  });
});

describe('the length of a body', () => {
  it('is stated once or not at all', () => {
    assert.deepEqual(requestFraming(request()), { kind: 'none' });
    assert.deepEqual(requestFraming(request('Content-Length: 5')), { kind: 'length', bytes: 5 });
    assert.deepEqual(requestFraming(request('transfer-encoding: Chunked')), { kind: 'chunked' });
    for (const lines of [
      ['Content-Length: 5', 'Transfer-Encoding: chunked'],
      ['Content-Length: 5', 'Content-Length: 5'],
      ['Content-Length: 5, 5'],
      ['Content-Length: +5'],
      ['Content-Length: 05'],
      ['Content-Length: 0x5'],
      ['Content-Length: -1'],
      ['Content-Length: 99999999999999999'],
      ['Content-Length:'],
      ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'],
      ['Transfer-Encoding: gzip, chunked'],
      ['Transfer-Encoding: chunked, identity'],
      ['Transfer-Encoding: xchunked'],
      ['Transfer-Encoding: \x0bchunked'],
    ]) {
      refuses(() => requestFraming(request(...lines)), lines.join('; '));
    }
    refuses(() => requestFraming(parseRequestHead('POST http://a/ HTTP/1.0\r\nTransfer-Encoding: chunked')));
  });

  it('of an answer depends on the question', () => {
    const head = parseResponseHead('HTTP/1.1 200 OK\r\nContent-Length: 5');
    assert.deepEqual(responseFraming('HEAD', head), { kind: 'none' });
    assert.deepEqual(responseFraming('GET', head), { kind: 'length', bytes: 5 });
    assert.deepEqual(responseFraming('GET', parseResponseHead('HTTP/1.1 304 x')), { kind: 'none' });
    assert.deepEqual(responseFraming('GET', parseResponseHead('HTTP/1.1 200 x')), { kind: 'until close' });
  });
});

describe('a request that goes on', () => {
  const none = { drops: () => false, added: [] };
  const target = { hostField: 'a.example', path: '/' };

  it('asks the host that was judged, and closes', () => {
    const head = request(
      'Host: other.example',
      'A: b',
      'Proxy-Authorization: x',
      'Connection: keep-alive, X-Own',
      'X-Own: y',
      'TE: trailers',
    );
    assert.equal(
      outgoingRequest(head, target, { kind: 'none' }, none),
      'GET / HTTP/1.1\r\nHost: a.example\r\nA: b\r\nConnection: close\r\n\r\n',
    );
    refuses(() => outgoingRequest(request('Host: a', 'Host: b'), target, { kind: 'none' }, none));
  });

  it('keeps the fields that its meaning rests on', () => {
    for (const name of ['Content-Length', 'host', 'AUTHORIZATION', 'cookie']) {
      refuses(() => endToEnd(request(`Connection: close, ${name}`).fields), name);
    }
  });

  it('names an absolute http address', () => {
    assert.deepEqual(parseAbsoluteTarget('HTTP://A.example?q'), { host: 'a.example', port: 80, path: '/?q' });
    assert.deepEqual(parseAbsoluteTarget('http://[::1]:8080/a/../b'), { host: '[::1]', port: 8080, path: '/a/../b' });
    for (const user of ['u', 'u:p%40', 'b.example:80', ''])
      assert.equal(parseAbsoluteTarget(`http://${user}@a.example:81/x`).host, 'a.example', user);
    for (const text of [
      '/',
      '*',
      'https://a.example/',
      'ftp://a.example/',
      'http://',
      'http:///',
      'http://a.example/#x',
      'http://u@v@a.example/',
      'http://u:p/w@a.example/',
      'http://good.example\\@u@a.example/',
      'http:a.example',
      'a.example:80',
      'http://a.example\\@b.example/',
      'http://a.example:80:80/',
      'http://2130706433/',
    ]) {
      refuses(() => parseAbsoluteTarget(text), text);
    }
  });
});

describe('a body', () => {
  const chunked = { kind: 'chunked' } as const;
  const read = (pieces: readonly Buffer[]) => {
    const reader = bodyReader(chunked);
    const data = pieces.flatMap((piece) => [...reader.push(piece)]);
    reader.end();
    return Buffer.concat(data);
  };

  it('in chunks is what was sent, however it is cut', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 })), fc.integer({ min: 1, max: 50 }), (parts, size) => {
        const wire = Buffer.concat([
          ...parts.flatMap((part) => framed(chunked, Buffer.from(part))),
          ...framedEnd(chunked),
        ]);
        const pieces = Array.from({ length: Math.ceil(wire.length / size) }, (_, i) =>
          wire.subarray(i * size, (i + 1) * size),
        );
        assert.deepEqual(read(pieces), Buffer.concat(parts.map((part) => Buffer.from(part))));
      }),
      seeded(300),
    );
  });

  it('ends where it ends: nothing after it is read', () => {
    const reader = bodyReader(chunked);
    assert.equal(
      Buffer.concat([...reader.push(Buffer.from('3;x=y\r\nabc\r\n0\r\nT: r\r\n\r\nGET /'))]).toString(),
      'abc',
    );
    assert.equal(reader.done, true);
    const counted = bodyReader({ kind: 'length', bytes: 2 });
    assert.equal(Buffer.concat([...counted.push(Buffer.from('abGET /'))]).toString(), 'ab');
    assert.equal(counted.done, true);
  });

  it('in malformed chunks is refused, and so is one cut short', () => {
    for (const wire of [
      'x\r\n',
      '\r\n',
      '-1\r\n',
      '0x3\r\nabc\r\n',
      '3\nabc\r\n',
      '3\r\nabcX\r\n',
      '3\r\nabc\n0\r\n\r\n',
      '1 1\r\n',
      'fffffffffffff\r\n',
      '3\r\nab',
      '3\r\nabc\r\n0\r\n',
      '',
    ]) {
      refuses(() => read([Buffer.from(wire)]), JSON.stringify(wire));
    }
    // Each line alone, in a body that is whole but for it: what else is there would be taken.
    const lines = ['3\r\n', 'abc', '\r\n', '0\r\n', 'T: r\r\n', '\r\n'];
    const faults: Readonly<Record<number, readonly string[]>> = {
      0: ['x\r\n', '-3\r\n', '+3\r\n', ' 3\r\n', '0x3\r\n', '3\n', '3\r\r\n', '3 3\r\n', '3,3\r\n', '\r\n3\r\n'],
      1: ['ab', 'abcd', 'abc\r', 'abc\n', 'abc3'],
      2: ['', '\n', 'X\r\n', ' \r\n', '\r\r\n', '\0\r\n', 'GET / HTTP/1.1\r\n', '\r\n\r\n'],
      3: ['0\n', '0x0\r\n', '-0\r\n', ' 0\r\n', '0 0\r\n'],
      4: ['T: r\n', '\n'],
      5: ['', '\n', '\r'],
    };
    const sizes = [1, 2, 5, 100];
    const bodyOf = (whole: string, size: number) => {
      const wire = Buffer.from(whole, 'latin1');
      return Array.from({ length: Math.ceil(wire.length / size) }, (_, i) => wire.subarray(i * size, (i + 1) * size));
    };
    for (const size of sizes) assert.equal(read(bodyOf(lines.join(''), size)).toString(), 'abc');
    for (const [at, wrong] of Object.entries(faults).flatMap(([at, all]) => all.map((each) => [at, each] as const))) {
      const whole = lines.with(Number(at), wrong).join('');
      for (const size of sizes) refuses(() => read(bodyOf(whole, size)), `${JSON.stringify(whole)} by ${size}`);
    }
    refuses(() => read([Buffer.alloc(100_000, '1')]));
    refuses(() => read([Buffer.from('0\r\n'), ...Array.from({ length: 9_000 }, () => Buffer.from('A: b\r\n'))]));
    const counted = bodyReader({ kind: 'length', bytes: 2 });
    counted.push(Buffer.from('a'));
    refuses(() => counted.end());
  });
});
