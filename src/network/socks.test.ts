import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { socksRequest } from './proxy-fixture.js';
import { takeGreeting, takeRequest } from './socks.js';

const request = (kind: number, ...bytes: readonly number[]) => Buffer.of(5, 1, 0, kind, ...bytes);

describe('a SOCKS5 client', () => {
  it('has to do without authentication', () => {
    assert.equal(takeGreeting(Buffer.of(5)), undefined);
    assert.equal(takeGreeting(Buffer.of(5, 2, 2)), undefined);
    assert.deepEqual(takeGreeting(Buffer.of(5, 2, 2, 0, 9)), { value: true, used: 4 });
    assert.deepEqual(takeGreeting(Buffer.of(5, 1, 2)), { value: false, used: 3 });
    assert.deepEqual(takeGreeting(Buffer.of(5, 0)), { value: false, used: 2 });
  });

  it('names a host, an IPv4 or an IPv6 address', () => {
    const name = socksRequest('Example.org', 443).subarray(3);
    for (let length = 0; length < name.length; length++) assert.equal(takeRequest(name.subarray(0, length)), undefined);
    assert.deepEqual(takeRequest(name), { value: { host: 'example.org', port: 443 }, used: name.length });
    assert.deepEqual(takeRequest(request(1, 10, 0, 0, 1, 0, 80))?.value, { host: '10.0.0.1', port: 80 });
    const six = [...new Array<number>(15).fill(0), 1];
    assert.deepEqual(takeRequest(request(4, ...six, 0, 80))?.value, { host: '[::1]', port: 80 });
  });

  it('is refused with another command, an odd name, or no port', () => {
    assert.throws(() => takeRequest(socksRequest('a.example', 80, 2).subarray(3)), { code: 'ENOTSUP' });
    assert.throws(() => takeRequest(socksRequest('a.example', 80, 3).subarray(3)), { code: 'ENOTSUP' });
    for (const name of ['', 'a\0b', '127.1', '0x7f000001', '::1', 'a'.repeat(255), `${'a.'.repeat(127)}a`]) {
      assert.throws(() => takeRequest(socksRequest(name, 80).subarray(3)), { code: 'EINVAL' }, name);
    }
    assert.throws(() => takeRequest(socksRequest('a.example', 0).subarray(3)), { code: 'EINVAL' });
    assert.throws(() => takeRequest(request(2, 0, 0)), { code: 'EINVAL' });
    const good = request(1, 10, 0, 0, 1, 0, 80);
    assert.equal(takeRequest(good)?.used, good.length);
    for (const [at, byte] of [
      [0, 4],
      [0, 0],
      [2, 1],
      [2, 255],
    ] as const) {
      assert.throws(() => takeRequest(Buffer.from(good.with(at, byte))), { code: 'EINVAL' }, `${byte} at ${at}`);
    }
  });
});
