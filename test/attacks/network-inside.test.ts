/**
 * Ways out to the network from inside a real jail. A server of the host that no rule names holds a secret, over TCP, UDP and
 * both kinds of IP; another one is granted. Each way reaches the first for the same user without a jail,
 * or through a careless proxy.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createSocket, type Socket as Datagrams } from 'node:dgram';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { after, before, test } from 'node:test';
import type { Envelope } from '../../src/proxy/report/envelope.js';
import { cannotCompile } from '../support/attack-program.js';
import { fooledBy, startCareless } from '../support/careless-proxy.js';
import { ctxResolving } from '../support/resolver.js';
import { parseJson, useWarmStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';
import { useVolley } from '../support/volley.js';

const token = 'secret-77aa';
const skip = cannotCompile ?? false;
const without = (program: string) =>
  spawnSync('sh', ['-c', `command -v ${program}`]).status === 0 ? false : `${program} is not installed`;
const withoutCurl = without('curl');
const withoutBash = without('bash');
const withoutIpv6 = networkInterfaces()['lo']?.some(({ family }) => family === 'IPv6')
  ? false
  : 'this host has no IPv6';

const listen = async (handle: (request: IncomingMessage, response: ServerResponse) => void, address: string) => {
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  return { server, port: (server.address() as AddressInfo).port };
};

forEachUser((user) => {
  const stage = useWarmStage(user);
  const servers: Server[] = [];
  let datagrams: Datagrams;
  let asked: string[] = [];
  let [inner, granted] = [0, 0];

  before(async () => {
    const secret = await listen(
      ({ url = '' }, response) => {
        asked.push(url);
        response.end(token);
      },
      withoutIpv6 === false ? '::' : '0.0.0.0',
    );
    const open = await listen(({ url = '' }, response) => {
      const to = decodeURIComponent(url.split('?to=')[1] ?? '');
      if (to === '') response.end('granted');
      else response.writeHead(302, { Location: to }).end();
    }, '127.0.0.1');
    servers.push(secret.server, open.server);
    [inner, granted] = [secret.port, open.port];
    datagrams = createSocket('udp4', (_message, { port, address }) => {
      asked.push('datagram');
      datagrams.send(token, port, address);
    });
    await new Promise<void>((resolve) => datagrams.bind(inner, '127.0.0.1', resolve));
  });
  after(() => {
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
    datagrams.close();
  });

  const volley = useVolley(stage, {
    programs: skip === false ? ['calls'] : [],
    prelude: () => `I=${inner}; G=${granted}; seen() { grep -qa ${token} && echo won; }
      # For everything, loopback too, through the proxy where there is one.
      proxied() { curl -gsL --max-time 5 --noproxy '' "$@"; }`,
    options: () => ['--net-private', `127.0.0.1:${granted}`, '--net', `open.test:${granted}`],
    between: () => {
      asked = [];
    },
  });

  volley.attack('curl --noproxy reaches nothing', `curl -s --noproxy '*' http://127.0.0.1:$I/ | seen`, {
    skip: withoutCurl,
  });
  volley.attack(
    'nor curl without the variables that name the proxy',
    'env -i PATH=$PATH curl -s http://127.0.0.1:$I/ | seen',
    { skip: withoutCurl },
  );
  volley.attack(
    'nor with variables that name the server as the proxy',
    'http_proxy=http://127.0.0.1:$I curl -s --noproxy "" http://anything.test/ | seen',
    { skip: withoutCurl },
  );
  volley.attack(
    "nor bash's /dev/tcp",
    `bash -c 'exec 3<>/dev/tcp/127.0.0.1/'$I'; printf "GET / HTTP/1.0\\r\\n\\r\\n" >&3; cat <&3' | seen`,
    { skip: withoutBash },
  );
  volley.attack(
    "nor bash's /dev/udp",
    `timeout 1 bash -c 'exec 3<>/dev/udp/127.0.0.1/'$I'; echo x >&3; head -c ${token.length} <&3' | seen`,
    { skip: withoutBash },
  );
  volley.attack('nor the loopback of IPv6', `curl -gs --noproxy '*' 'http://[::1]:'$I/ | seen`, {
    skip: withoutCurl || withoutIpv6,
  });
  volley.attack(
    'nor a relay inside, which everybody may connect to',
    `node -e 'const net = require("net");
       net.createServer((client) => {
         const server = net.connect('$I', "127.0.0.1", () => { client.pipe(server).pipe(client); });
         server.on("error", () => client.destroy());
       }).listen(0, "127.0.0.1", function () {
         require("http").get({ host: "127.0.0.1", port: this.address().port, agent: false }, (answer) => answer.pipe(process.stdout).on("finish", () => process.exit()))
           .on("error", () => process.exit(1));
         setTimeout(() => process.exit(), 1500);
       })' | seen`,
  );
  volley.attack('nor a raw socket', './calls raw-socket', {
    skip,
    refusedAnyway: 'this kernel gives this user no raw socket, even without a jail',
  });

  const spellings = [
    '127.0.0.1',
    '127.1',
    '0x7f.1',
    '2130706433',
    '0177.0.0.1',
    '0.0.0.0',
    'localhost',
    'LOCALHOST',
    ...(withoutIpv6 === false ? ['[::1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[0:0:0:0:0:ffff:127.0.0.1]'] : []),
  ];
  volley.attack(
    'the proxy does not lead to this machine by any notation of it',
    spellings.map((host) => `proxied 'http://${host}:'$I/ | seen`).join('\n'),
    { times: spellings.length, skip: withoutCurl },
  );
  volley.attack('nor by a tunnel', `proxied --proxytunnel http://127.0.0.1:$I/ | seen`, { skip: withoutCurl });
  volley.attack('nor by SOCKS', `proxied \${CTX_SOCKS_PROXY:+-x $CTX_SOCKS_PROXY} http://127.0.0.1:$I/ | seen`, {
    skip: withoutCurl,
  });
  volley.attack(
    'a granted server that redirects there does not lead there',
    ['127.0.0.1', 'localhost', '0.0.0.0', ...(withoutIpv6 === false ? ['[::ffff:127.0.0.1]'] : [])]
      .map((host) => `proxied "http://127.0.0.1:$G/?to=http%3A%2F%2F${encodeURIComponent(host)}:$I/" | seen`)
      .join('\n'),
    { times: withoutIpv6 === false ? 4 : 3, skip: withoutCurl },
  );

  test('none of it asked the server, and each refusal is in the report', () => {
    assert.deepEqual(asked, []);
    const refused = volley.envelope.connections.filter(({ verdict, port }) => verdict === 'refused' && port === inner);
    assert.ok(withoutCurl !== false || refused.length > 0);
    assert.ok(volley.envelope.connections.every(({ verdict, port }) => verdict !== 'allowed' || port === granted));
  });

  /** As `say` takes it, one character a byte. */
  const wire = (text: string) => Buffer.from(text).toString('latin1');

  /** Raw bytes to the proxy's port that the environment names; what it answers to each. */
  const say = (requests: readonly string[]) => `
    const net = require('node:net'); const { hostname, port } = new URL(process.env.HTTP_PROXY);
    const say = (text) => new Promise((done) => { let all = ''; const socket = net.connect(port, hostname, () => socket.end(text, 'latin1'));
      socket.on('data', (chunk) => { all += chunk; }).on('close', () => done(all)).on('error', () => done('closed')); });
    (async () => { for (const text of ${JSON.stringify(requests)}) console.log((await say(text)).replace(/[\\r\\n]+/g, ' ')); })();`;

  test('a name with NUL, blanks, user names or look-alikes in it is nobody’s, though careless proxies are led there', async () => {
    const name = `127.0.0.1:${granted}`;
    const hosts = [
      `${name}@127.0.0.1`,
      `${name}%40localhost`,
      '127.0.0.1\0.open.test',
      'localhost\0open.test',
      '127.0.0.1%00open.test',
      'localhost#open.test',
      'localhost/open.test',
      'localhost\\open.test',
      'open.test localhost',
      '127\u30020.0.1',
      '\uff11\uff12\uff17.0.0.1',
      '\u24dbocalhost',
      'local\u200bhost',
    ];
    const tunnel = (host: string) => wire(`CONNECT ${host}:${inner} HTTP/1.1\r\n\r\nGET / HTTP/1.0\r\n\r\n`);
    for (const host of hosts) {
      const isBad = (text: string) => ['127.0.0.1', 'localhost'].includes(text);
      const allowed = host.includes('open.test') ? 'open.test' : name;
      const way = fooledBy(host, { granted: allowed, isBad });
      assert.ok(way, `${JSON.stringify(host)} fools nobody: it shows nothing`);
      const proxy = await startCareless({ ...way, granted: allowed, resolve: () => undefined });
      const env = { HTTP_PROXY: `http://127.0.0.1:${proxy.port}` };
      const { stdout } = await stage.start(stage.home, ['node', '-e', say([tunnel(host)])], { env }).finished;
      assert.ok(stdout.includes(token), `${JSON.stringify(host)} ${way.judge}, ${way.reading}: ${stdout}`);
      await proxy.close();
    }
    asked = [];
    const requests = hosts.flatMap((host) => [
      tunnel(host),
      wire(`GET http://${host}:${inner}/ HTTP/1.1\r\nHost: ${name}\r\n\r\n`),
      wire(`GET http://${name}/ HTTP/1.1\r\nHost: ${host}:${inner}\r\n\r\n`),
    ]);
    const options = ['--net-private', name, '--net-private', `open.test:${granted}`];
    const words = ['exec', ...options, '--', 'node', '-e', say(requests)];
    const { stdout, stderr, code } = await stage.ctx(stage.project(), words);
    assert.equal(code, 0, stderr);
    const answers = stdout.trimEnd().split('\n');
    assert.equal(answers.length, requests.length);
    for (const [at, answer] of answers.entries()) {
      assert.ok(!answer.includes(token), requests[at]);
      if (at % 3 !== 2) assert.match(answer, /^HTTP\/1\.1 (?:400|403|502) /, requests[at]);
    }
    assert.deepEqual(asked, []);
  });

  test('a name that is bound anew between the judgement and the connection fools a proxy that resolves twice', async () => {
    const addresses = ['192.0.2.1', '127.0.0.1'];
    const proxy = await startCareless({
      judge: 'what stands in it',
      reading: 'as it is',
      granted: 'rebound.test',
      resolve: () => addresses.shift(),
      allowsAddress: (address) => !address.startsWith('127.'),
    });
    const env = { HTTP_PROXY: `http://127.0.0.1:${proxy.port}` };
    const { stdout } = await stage.start(stage.home, ['node', '-e', say([connect(`rebound.test:${inner}`)])], { env })
      .finished;
    assert.ok(stdout.includes(token), stdout);
    await proxy.close();
  });

  const connect = (target: string) => `CONNECT ${target} HTTP/1.1\r\n\r\nGET / HTTP/1.0\r\n\r\n`;

  test('a name that is bound anew between two connections is judged anew, and asked for once a connection', async () => {
    asked = [];
    const target = `rebound.test:${granted}`;
    // Were it asked for twice, the second connection would be the one that has the good address.
    const program = ctxResolving(stage, { 'rebound.test': ['127.0.0.1', '169.254.169.254', '0.0.0.0', '224.0.0.1'] });
    const words = ['exec', '--json', '--net-private', target, '--', 'node', '-e', say(Array(4).fill(connect(target)))];
    const { stdout, stderr } = await stage.start(stage.project(), [...program, ...words]).finished;
    const { stdout: said } = parseJson(stdout, stderr) as Envelope;
    const answers = said?.text.trimEnd().split('\n') ?? [];
    assert.match(answers[0] ?? '', /^HTTP\/1\.1 200 .*granted/, said?.text);
    assert.equal(answers.slice(1).filter((answer) => answer.startsWith('HTTP/1.1 403 ')).length, 3, said?.text);
  });

  test('a public name that leads to this machine is refused, unless a rule says it is private', async () => {
    const names = { 'four.test': ['127.0.0.1'], 'six.test': ['::1'], 'mapped.test': ['::ffff:127.0.0.1'] };
    const program = ctxResolving(stage, names);
    const targets = Object.keys(names).map((name) => `${name}:${granted}`);
    const ask = async (option: string) => {
      const granting = targets.flatMap((target) => [option, target]);
      const words = ['exec', ...granting, '--', 'node', '-e', say(targets.map(connect))];
      return (await stage.start(stage.project(), [...program, ...words]).finished).stdout;
    };
    assert.match(await ask('--net'), /^(?:HTTP\/1\.1 403 .*\n){3}$/);
    assert.match(await ask('--net-private'), /^HTTP\/1\.1 200 .*granted/);
  });
});
