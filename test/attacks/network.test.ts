/**
 * The network proxy from outside, as a hostile command sees it: a port that it may send any bytes to. Beside it is a
 * server on loopback that no rule names; each attack is a way to it, and it must never be asked. That it can be reached
 * without the proxy, and through careless ones by the same bytes, is shown first.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { connect, createServer, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { after, afterEach, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { anyPublicNetwork, hostNetwork } from '../../src/authority/network.js';
import {
  allowing,
  type Listening,
  listenRaw,
  type ProxyFixture,
  say,
  socksRequest,
  startProxy,
  told,
} from '../../src/network/proxy-fixture.js';
import { seeded } from '../property/seeded.js';
import { type CarelessOptions, fooledBy, startCareless } from '../support/careless-proxy.js';
import { randomFrom, testSeed } from '../support/random.js';

let inner: Listening;
let asked = 0;
const stopping: (() => Promise<void>)[] = [];

before(async () => {
  inner = await listenRaw((socket) => {
    asked += 1;
    socket.end('HTTP/1.1 200 OK\r\n\r\nsecret');
  });
});
afterEach(() => assert.equal(asked, 0, 'the server inside was reached'));
after(async () => {
  for (const stop of stopping) await stop();
  await inner.close();
});

async function proxying(options: Parameters<typeof startProxy>[0]): Promise<ProxyFixture> {
  const fixture = await startProxy(options);
  stopping.push(() => fixture.proxy.stop());
  return fixture;
}

const latin1 = (bytes: Buffer) => bytes.toString('latin1');

/** By each protocol; none may get through. */
async function unreachable(port: number, host: string, to = inner.port): Promise<void> {
  const authority = Buffer.from(`${host}:${to}`).toString('latin1');
  const connected = latin1(await say(port, `CONNECT ${authority} HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n`, true));
  assert.match(connected, /^HTTP\/1\.1 (?:400|403|502) /, `CONNECT ${JSON.stringify(host)}`);
  const plain = latin1(await say(port, `GET http://${authority}/ HTTP/1.1\r\n\r\n`, true));
  assert.match(plain, /^HTTP\/1\.1 (?:400|403|502) /, `GET ${JSON.stringify(host)}`);
  const name = Buffer.from(host.replace(/^\[|\]$/g, ''));
  if (name.length < 256) {
    const socks = await say(port, socksRequest(name, to), true);
    assert.ok((socks[3] ?? 0) > 0, `SOCKS ${JSON.stringify(host)}: ${socks.toString('hex')}`);
  }
}

/** Every name of `.example` but the granted one is the attacker's, who says that it is here. */
const hostile = (name: string): string | undefined =>
  name.endsWith('.example') && name !== 'good.example' ? '127.0.0.1' : undefined;

/** Whether a name means this machine to anyone who resolves it. */
const isHere = (name: string): boolean =>
  hostile(name) !== undefined || /^(?:localhost|127\.0\.0\.1|0\.0\.0\.0|::ffff:7f00:1)$/i.test(name);

async function careless(options: Partial<CarelessOptions>): Promise<number> {
  const proxy = await startCareless({
    judge: 'nothing',
    reading: 'as it is',
    granted: 'good.example',
    resolve: hostile,
    ...options,
  });
  stopping.push(() => proxy.close());
  return proxy.port;
}

/** A proxy that judges by this text, and one that resolves it, are led to the server inside. */
async function fools(host: string): Promise<void> {
  const way = fooledBy(host, { granted: 'good.example', isBad: isHere });
  assert.ok(way, `${JSON.stringify(host)} fools nobody: it shows nothing`);
  const bytes = Buffer.from(`CONNECT ${host}:${inner.port} HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n`);
  assert.match(
    latin1(await say(await careless(way), bytes, true)),
    /secret$/,
    `${JSON.stringify(host)} ${way.judge}, ${way.reading}`,
  );
  asked = 0;
}

test('the server inside is there for whoever has the network', async () => {
  const six = networkInterfaces()['lo']?.some(({ family }) => family === 'IPv6') ? ['::ffff:127.0.0.1'] : [];
  for (const host of ['127.0.0.1', '127.1', '0x7f.1', '2130706433', '0177.0.0.1', 'localhost', '0.0.0.0', ...six]) {
    const socket = connect({ host, port: inner.port, family: host.includes(':') ? 6 : 4 });
    const [first] = await socket.take(1).toArray();
    assert.match(String(first), /secret/, host);
  }
  asked = 0;
});

test('a public address that is this machine’s own leads to no server of it', (context) => {
  const address = '11.22.33.44';
  const script = `
    const { anyPublicNetwork } = await import(${JSON.stringify(import.meta.resolve('../../src/authority/network.js'))});
    const { say, startProxy } = await import(${JSON.stringify(import.meta.resolve('../../src/network/proxy-fixture.js'))});
    const { connect, createServer } = await import('node:net');
    const server = createServer((socket) => socket.on('error', () => undefined).end('secret')).listen(8080, '0.0.0.0');
    const [first] = await connect(8080, '${address}').take(1).toArray();
    const asked = 'CONNECT ${address}:8080 HTTP/1.1\\r\\n\\r\\n';
    const answers = [String(first)];
    for (const options of [{}, { ownAddresses: () => new Set() }]) {
      const { port } = await startProxy({ grant: anyPublicNetwork, ...options });
      answers.push(String(await say(port, asked, true)));
    }
    console.log(JSON.stringify(answers));
    process.exit();`;
  // In a network namespace of its own, where it may have any address.
  const setUp = `ip link set lo up && ip address add ${address}/32 dev lo && exec "$0" --input-type=module -e "$1"`;
  const words = ['--map-root-user', '--net', 'sh', '-c', setUp, process.execPath, script];
  const { status, stdout, stderr } = spawnSync('unshare', words, { encoding: 'utf8', timeout: 60_000 });
  if (status !== 0 && /ip:|unshare:|Operation not permitted/.test(stderr)) return context.skip(stderr.trim());
  assert.equal(status, 0, stderr);
  const [without, ...within] = JSON.parse(stdout) as string[];
  assert.equal(without, 'secret', 'without the proxy it has to be there');
  // By its interfaces, and where those do not say so by the connection itself.
  for (const answer of within) assert.match(answer, /^HTTP\/1\.1 403 [\s\S]*own address/);
});

describe('a name', () => {
  test('of this machine or a private network is refused in every notation', async () => {
    const { port } = await proxying({ grant: anyPublicNetwork, resolve: async () => ['127.0.0.1'] });
    for (const host of [
      '127.0.0.1',
      '127.1',
      '127.0.1',
      '0x7f.1',
      '0x7f000001',
      '0177.0.0.1',
      '2130706433',
      '017700000001',
      '0.0.0.0',
      '0',
      '[::1]',
      '[::]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[0:0:0:0:0:ffff:7f00:1]',
      '[::127.0.0.1]',
      '[64:ff9b::7f00:1]',
      '[2002:7f00:1::]',
      '[fe80::1%lo]',
      '[fd00:ec2::254]',
      '169.254.169.254',
      '10.0.0.1',
      'localhost',
      'localhost.',
      'LOCALHOST',
      'printer.local',
      'metadata.google.internal',
      'ip6-localhost',
    ]) {
      await unreachable(port, host);
    }
  });

  test('may not hide another in NUL, blanks, escapes, user names or look-alikes, which fool careless proxies', async () => {
    const { port } = await proxying({
      ...allowing('good.example:80', 'good.example:443'),
      resolve: async () => ['127.0.0.1'],
    });
    for (const host of [
      'good.example\0.evil.example',
      'evil.example\0good.example',
      'evil.example\0.good.example',
      'evil.example%00good.example',
      'good.example:80@evil.example',
      'good.example@evil.example',
      'good.example%40evil.example',
      'evil.example#good.example',
      'evil.example?good.example',
      'evil.example/good.example',
      'evil.example\\good.example',
      'good.example evil.example',
      'good.example\tevil.example',
      'good.example.evil.example',
      'evilgood.example',
      '127\u30020.0.1',
      '\uff11\uff12\uff17.0.0.1',
      '\u2460\u2461\u2466.0.0.1',
      '\u24dbocalhost',
      'local\u200bhost',
      'local\u00adhost',
      'LOCALHO\u017fT',
      '127.1',
      '2130706433',
      '0x7f.1',
      '0177.0.0.1',
      '[::ffff:127.0.0.1]',
      '[0:0:0:0:0:ffff:7f00:1]',
    ]) {
      await fools(host);
      await unreachable(port, host);
    }
    // These lead nowhere bad by themselves; each could be read as the granted host by one reader and not by the next.
    for (const host of [
      'good.example%2eevil.example',
      '\uff47ood.example',
      'good\u3002example',
      'g\u200bood.example',
      'g\u043eod.example',
      'good.example\u0000',
      'xn--good-.example',
      'a'.repeat(250),
      'a'.repeat(255),
      `${'a.'.repeat(127)}a`,
      '*',
      '*.example',
    ]) {
      await unreachable(port, host);
    }
  });

  test(`of this machine, disguised at random, fools careless proxies and not this one, CTX_TEST_SEED=${testSeed}`, async () => {
    const random = randomFrom(testSeed);
    const { port } = await proxying({
      ...allowing('good.example:80', 'good.example:443'),
      resolve: async () => ['127.0.0.1'],
    });
    for (let round = 0; round < (process.env['CTX_SOAK'] === '1' ? 5_000 : 120); round += 1) {
      const host = disguised(random);
      await fools(host);
      await unreachable(port, host);
    }
  });

  test('that resolves to a private address, alone or among public ones, is refused before anything is connected', async () => {
    // To anyone who looks at names alone, it is what it says it is.
    const byName = await careless({ judge: 'how it ends', granted: 'public.example' });
    const request = `CONNECT public.example:${inner.port} HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n`;
    assert.match(latin1(await say(byName, request, true)), /secret$/);
    asked = 0;
    for (const addresses of [
      ['127.0.0.1'],
      ['10.0.0.1'],
      ['::1'],
      ['::ffff:127.0.0.1'],
      ['64:ff9b::7f00:1'],
      ['2002:7f00:1::1'],
      ['169.254.169.254'],
      ['fd00:ec2::254'],
      ['127.0.0.1', '8.8.8.8'],
      ['::1', '2606:4700::1111'],
      ['0.0.0.0'],
      ['127.0.0.1%lo'],
      ['nonsense'],
    ]) {
      const fixture = await proxying({ grant: anyPublicNetwork, resolve: async () => addresses });
      await unreachable(fixture.port, 'public.example.org');
      const { port, proxy } = await proxying({
        grant: hostNetwork([`named.example.org:${inner.port}`]),
        resolve: async () => addresses,
      });
      await unreachable(port, 'named.example.org');
      for (const { verdict, address, reason } of await told(proxy, 3)) {
        assert.equal(verdict, 'refused');
        assert.ok(addresses.includes(address ?? ''));
        assert.ok(!reason?.includes(address ?? '-'), 'the client is not told the address');
      }
    }
  });

  test('that is rebound is asked for once a connection: what was judged is what is connected to', async () => {
    const good = await listenRaw((socket) => void socket.end('good'));
    stopping.push(() => good.close());
    let reached = 0;
    const evil = createServer((socket) => {
      reached += 1;
      socket.end('evil');
    });
    await new Promise<void>((resolve) => evil.listen(good.port, '127.0.0.2', resolve));
    stopping.push(async () => void evil.close());
    let calls = 0;
    const target = `rebound.example:${good.port}`;
    const rebinding = () => ['127.0.0.1', '127.0.0.2'][calls++ % 2] ?? '';
    // What asks once to judge and once more to connect is fooled.
    const twice = await careless({ resolve: rebinding, allowsAddress: (address) => address === '127.0.0.1' });
    assert.match(latin1(await say(twice, `CONNECT ${target} HTTP/1.1\r\n\r\n`)), /evil$/);
    [calls, reached] = [0, 0];
    const { port } = await proxying({ ...allowing(target), resolve: async () => [rebinding()] });
    assert.match(latin1(await say(port, `CONNECT ${target} HTTP/1.1\r\n\r\n`)), /good$/);
    assert.equal(calls, 1);
    assert.equal(reached, 0);
  });

  test('that was good is judged anew for the next connection, and no rule lets it become the metadata service', async () => {
    const good = await listenRaw((socket) => void socket.end('good'));
    stopping.push(() => good.close());
    const target = `rebound.example:${good.port}`;
    const answers = ['127.0.0.1', '169.254.169.254', 'fd00:ec2::254', '168.63.129.16', '224.0.0.1'];
    let calls = 0;
    const { port } = await proxying({ ...allowing(target), resolve: async () => [answers[calls++] ?? '0.0.0.0'] });
    assert.match(latin1(await say(port, `CONNECT ${target} HTTP/1.1\r\n\r\n`)), /good$/);
    for (const address of [...answers.slice(1), '0.0.0.0']) {
      assert.match(latin1(await say(port, `CONNECT ${target} HTTP/1.1\r\n\r\n`)), /^HTTP\/1\.1 403 /, address);
    }
  });
});

describe('a message', () => {
  /** A host that keeps what it was sent, and answers each time. */
  async function recording() {
    const seen: Buffer[] = [];
    const origin = await listenRaw((socket) => {
      socket.on('data', (chunk: Buffer) => seen.push(chunk));
      socket.on('end', () => socket.end());
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    });
    stopping.push(() => origin.close());
    const { port, proxy } = await proxying(allowing(`good.example:${origin.port}`));
    return { port, proxy, site: `http://good.example:${origin.port}`, text: () => latin1(Buffer.concat(seen)) };
  }
  const hidden = 'GET http://good.example/smuggled HTTP/1.1\r\nHost: evil.example\r\n\r\n';

  test('may not hide a second one behind it', async () => {
    const { port, site, text } = await recording();
    for (const message of [
      `GET ${site}/ HTTP/1.1\r\nHost: a\r\n\r\n${hidden}`,
      `POST ${site}/ HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc${hidden}`,
      `POST ${site}/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
      `POST ${site}/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n\r\n${hidden}`,
    ]) {
      assert.match(latin1(await say(port, message, true)), /^HTTP\/1\.1 200 OK\r\n[\s\S]*ok$/);
    }
    assert.doesNotMatch(text(), /smuggled|evil/);
    assert.equal(text().split('Host: good.example').length, 5);
    // What judges the first head and passes on the rest sends both.
    const { site: other, text: seen } = await recording();
    const passing = await careless({ judge: 'how it begins', resolve: () => '127.0.0.1' });
    await say(passing, `GET ${other}/ HTTP/1.1\r\nHost: a\r\n\r\n${hidden}`, true);
    assert.match(seen(), /smuggled HTTP\/1\.1\r\nHost: evil/);
  });

  test('whose length or lines two readers could see differently is refused and not sent on', async () => {
    const { port, site, text } = await recording();
    const body = `0\r\n\r\n${hidden}`;
    for (const lines of [
      `Content-Length: ${body.length}\r\nTransfer-Encoding: chunked`,
      `Transfer-Encoding: chunked\r\nContent-Length: ${body.length}`,
      'Content-Length: 5\r\nContent-Length: 6',
      'Content-Length: 5, 6',
      'Content-Length: +5',
      'Content-Length: 5 5',
      'Transfer-Encoding: chunked, identity',
      'Transfer-Encoding: identity, chunked',
      'Transfer-Encoding: chunked\r\nTransfer-Encoding: x',
      'Transfer-Encoding:\x0bchunked',
      'Transfer-Encoding : chunked',
      ' Transfer-Encoding: chunked',
      'X: y\r\n Transfer-Encoding: chunked',
      'X: y\nTransfer-Encoding: chunked',
      'X: y\rTransfer-Encoding: chunked',
      'X: y\0',
      'Host: a\r\nHost: b',
      'Connection: Content-Length\r\nContent-Length: 5',
    ]) {
      const answer = latin1(await say(port, `POST ${site}/ HTTP/1.1\r\n${lines}\r\n\r\n${body}`, true));
      assert.match(answer, /^HTTP\/1\.1 400 /, JSON.stringify(lines));
    }
    assert.equal(text(), '');
  });

  test('with malformed chunks ends there', async () => {
    const { port, site, text } = await recording();
    for (const chunks of ['-1\r\n', '0x1\r\na\r\n', '1\r\nab\r\n', '1\na\r\n', 'z\r\n', 'ffffffffffffffff\r\n']) {
      await say(port, `POST ${site}/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}${hidden}`, true);
    }
    assert.doesNotMatch(text(), /smuggled/);
  });

  test('asks the host that was judged, whatever its Host says', async () => {
    const { port, site, text } = await recording();
    await say(port, `GET ${site}/ HTTP/1.1\r\nHost: evil.example\r\nProxy-Authorization: x\r\n\r\n`);
    assert.match(text(), /^GET \/ HTTP\/1\.1\r\nHost: good\.example:\d+\r\nConnection: close\r\n\r\n$/);
  });

  test('for no proxy, for TLS in clear, or in no protocol is refused', async () => {
    const { port } = await proxying({ grant: anyPublicNetwork });
    for (const message of [
      `GET / HTTP/1.1\r\nHost: 127.0.0.1:${inner.port}\r\n\r\n`,
      `GET https://127.0.0.1:${inner.port}/ HTTP/1.1\r\n\r\n`,
      `CONNECT http://127.0.0.1:${inner.port}/ HTTP/1.1\r\n\r\n`,
      `CONNECT 127.0.0.1:${inner.port}/ HTTP/1.1\r\n\r\n`,
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      'CONNECT a.example.org:443 HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello',
    ]) {
      assert.match(latin1(await say(port, message, true)), /^HTTP\/1\.1 400 /, message);
    }
    for (const hex of ['0401005000000001', '160301', '00', 'ff', '0501000502000150', '05010005030001', '0a']) {
      const answer = await say(port, Buffer.from(hex, 'hex'), true);
      assert.ok(answer.length <= 12, answer.toString());
    }
  });
});

describe('a client', () => {
  test('that drips is let go in time, and does not keep others waiting', async () => {
    const { port, proxy } = await proxying({ grant: anyPublicNetwork, limits: { headMilliseconds: 200 } });
    const drips = Array.from({ length: 20 }, async (_, index) => {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      const text =
        index % 2 === 0 ? 'GET http://a.example.org/ HTTP/1.1\r\nX: '.padEnd(400, 'x') : '\x05\xff'.padEnd(250, '\x02');
      let answer = '';
      socket.on('data', (chunk) => {
        answer += chunk.toString('latin1');
      });
      for (const character of text) {
        if (socket.destroyed || answer !== '') break;
        socket.write(character, 'latin1');
        await sleep(20);
      }
      socket.destroy();
    });
    assert.match(latin1(await say(port, 'CONNECT localhost:1 HTTP/1.1\r\n\r\n')), /^HTTP\/1\.1 403 /);
    await Promise.all(drips);
    const late = (await told(proxy, 21)).filter(({ reason }) => reason?.includes('networkHeadMilliseconds'));
    assert.equal(
      late.reduce((sum, { count }) => sum + count, 0),
      20,
    );
  });

  test('that sends an endless head is cut off', async () => {
    const { port } = await proxying({ grant: anyPublicNetwork });
    const line = `X: ${'x'.repeat(1000)}\r\n`;
    for (const rest of [line.repeat(100), 'x'.repeat(100_000), 'a:b\r\n'.repeat(20_000)]) {
      const answer = latin1(await say(port, `GET http://a.example.org/ HTTP/1.1\r\n${rest}`));
      assert.match(answer, /^HTTP\/1\.1 431 /);
    }
  });

  test('that resets at any moment harms nobody', async () => {
    const echo = await listenRaw((socket) => void socket.pipe(socket));
    stopping.push(() => echo.close());
    const target = `echo.example:${echo.port}`;
    const { port, proxy } = await proxying(allowing(target));
    const messages = [
      `CONNECT ${target} HTTP/1.1\r\n\r\n${'x'.repeat(200_000)}`,
      `POST http://${target}/ HTTP/1.1\r\nContent-Length: 500000\r\n\r\n${'x'.repeat(200_000)}`,
      Buffer.concat([socksRequest('echo.example', echo.port), Buffer.alloc(200_000)]),
    ];
    await Promise.all(
      Array.from({ length: 90 }, async (_, index) => {
        const socket: Socket = connect(port, '127.0.0.1');
        socket.on('error', () => undefined).resume();
        const message = Buffer.from(messages[index % 3] ?? '');
        socket.write(message.subarray(0, 10 + ((index * 7919) % message.length)));
        await sleep(index % 10);
        socket.resetAndDestroy();
      }),
    );
    assert.match(latin1(await say(port, `CONNECT ${target} HTTP/1.1\r\n\r\nalive`, true)), /alive$/);
    await proxy.stop();
    assert.deepEqual(defects(proxy), []);
  });

  test('that says anything at all gets nowhere, and the proxy goes on', async () => {
    const { port, proxy } = await proxying({
      grant: hostNetwork(['good.example:80']),
      resolve: async () => ['127.0.0.1'],
      limits: { headMilliseconds: 1_000, lingerMilliseconds: 100 },
    });
    const word = fc.oneof(
      fc.constantFrom(
        'GET ',
        'CONNECT ',
        'POST ',
        'http://',
        `127.0.0.1:${inner.port}`,
        'good.example',
        ':80',
        '/',
        ' HTTP/1.1',
        '\r\n',
        '\r\n\r\n',
        '\n',
        'Host: ',
        'Content-Length: 5',
        'Transfer-Encoding: chunked',
        '\0',
        '\x05\x01\x00',
        '\x05\x01\x00\x01\x7f\x00\x00\x01',
        '\x05\x01\x00\x03\x09localhost',
        '@',
        '[::1]',
      ),
      fc.string({ unit: 'binary', maxLength: 6 }),
      fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(word, { minLength: 1, maxLength: 14 }), async (words) => {
        const answer = latin1(await say(port, Buffer.from(words.join(''), 'latin1'), true));
        assert.doesNotMatch(answer, /secret|^HTTP\/1\.1 200/);
        assert.equal(asked, 0);
      }),
      seeded(150),
    );
    await proxy.stop();
    assert.deepEqual(defects(proxy), []);
    assert.ok(proxy.connections().every(({ verdict }) => verdict !== 'allowed'));
  });
});

/** A name of this machine that a careless reader undoes: other digits and letters, other dots, things that readers drop or cut off. */
function disguised(random: () => number): string {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const name = pick(['localhost', '127.0.0.1', 'evil.example']);
  const wide = (character: string) => String.fromCodePoint((character.codePointAt(0) ?? 0) + 0xfee0);
  const isAddress = name.startsWith('1');
  const letters = [...name].map((character) => {
    if (character === '.') return pick(['.', '.', '\u3002', '\uff0e', '\uff61']);
    return random() < 0.3 ? wide(character) : character;
  });
  if (!isAddress && random() < 0.5)
    letters.splice(1 + Math.floor(random() * 3), 0, pick(['\u200b', '\u00ad', '\u2060', '\ufeff']));
  const disguise = letters.join('');
  return pick([
    () => `good.example@${disguise}`,
    () => `good.example:80@${disguise}`,
    () => `${disguise}#good.example`,
    () => `${disguise}?good.example`,
    () => `${disguise}/good.example`,
    () => `${disguise}\\good.example`,
    () => `${name}\0good.example`,
    () => `${name}\0.good.example`,
    () => `${[...name].map((each) => `%${(each.codePointAt(0) ?? 0).toString(16)}`).join('')}%00.good.example`,
  ])();
}

/** An error without an errno is a mistake of ours. */
function defects({ connections }: ProxyFixture['proxy']): readonly (string | null)[] {
  return connections()
    .map(({ reason }) => reason)
    .filter((reason) => reason?.includes('(unknown)') || reason?.includes('ERR_'));
}
