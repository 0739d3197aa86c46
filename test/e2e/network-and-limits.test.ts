/** The network a command is granted, and the limits it is held to. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import type { Envelope } from '../../src/proxy/report/envelope.js';
import { ctxAsking } from '../support/resolver.js';
import { useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

/** Plain HTTP by absolute form, as curl would do it: nothing but node is needed. */
const fetchThroughProxy = (url: string) => `
  const { request } = require('node:http');
  const proxy = new URL(process.env.HTTP_PROXY ?? 'http://127.0.0.1:9');
  request({ host: proxy.hostname, port: proxy.port, path: '${url}', headers: { host: new URL('${url}').host } }, (answer) => {
    answer.on('data', (chunk) => process.stdout.write(chunk));
    answer.on('end', () => process.exit(answer.statusCode === 200 ? 0 : 22));
  }).on('error', (error) => { console.log(error.code); process.exit(7); }).end();`;

/** The name that a DNS message asks for. */
function questionOf(message: Buffer): string {
  const labels: string[] = [];
  for (let at = 12, length = message[12] ?? 0; length > 0; at += length + 1, length = message[at] ?? 0)
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
  return labels.join('.');
}

forEitherUser((user) => {
  const stage = useWarmStage(user);
  let server: Server;
  let url = '';
  let name = '';

  before(async () => {
    server = createServer((_request, response) => response.end('from outside'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    name = `127.0.0.1:${port}`;
    url = `http://${name}/`;
  });
  after(() => server.close());

  const execWith = async (options: readonly string[], argv: readonly string[]): Promise<Envelope> => {
    const { stdout } = await stage.ctx(stage.project(), ['exec', '--json', ...options, '--', ...argv]);
    return JSON.parse(stdout);
  };

  test('without a grant there is no network, and none to find', async () => {
    const project = stage.project();
    const { code, stdout } = await stage.ctx(project, ['exec', '--', 'node', '-e', fetchThroughProxy(url)]);
    assert.deepEqual([code, stdout], [7, 'ECONNREFUSED\n']);
  });

  test('a private address is refused though it is granted, unless the operator says so', async () => {
    const envelope = await execWith(['--net', name], ['node', '-e', fetchThroughProxy(url)]);
    assert.equal(envelope.exitCode, 22);
    assert.deepEqual(
      envelope.connections.map(({ verdict, host, count }) => [verdict, host, count]),
      [['refused', '127.0.0.1', 1]],
    );
  });

  test('what is granted is reached, is in the report, and nothing else is', async () => {
    const asked = await execWith(['--net-private', name], ['node', '-e', fetchThroughProxy(url)]);
    assert.deepEqual([asked.exitCode, asked.stdout?.text], [0, 'from outside']);
    assert.equal(asked.connections[0]?.verdict, 'allowed');
    const other = await execWith(['--net-private', name], ['node', '-e', fetchThroughProxy('http://127.0.0.1:1/')]);
    assert.equal(other.connections[0]?.verdict, 'refused');
  });

  test('a granted port of 127.0.0.1 is reached by programs that heed the environment, the jail’s own servers by localhost', {
    skip: spawnSync('curl', ['--version']).status === 0 ? false : 'curl is not installed',
  }, async () => {
    const serve = `require('node:http').createServer((request, response) => response.end(' and inside'))
      .listen(0, 'localhost', function () { console.log(this.address().port); })`;
    const script = `curl -sS ${url}; node -e "${serve}" > port & until test -s port; do sleep 0.05; done
      curl -sS http://localhost:$(cat port)/; kill $!`;
    const { stdout, stderr, connections } = await execWith(['--net-private', name], ['sh', '-c', script]);
    assert.equal(stdout?.text, 'from outside and inside', stderr?.text);
    assert.deepEqual(
      connections.map(({ verdict, count }) => [verdict, count]),
      [['allowed', 1]],
    );
  });

  test('names that no server answers for hold nothing up: time limit and signals end it, and no search list is tried', async () => {
    const asked = new Set<string>();
    const silent = createSocket('udp4', (message) => asked.add(questionOf(message)));
    await new Promise<void>((resolve) => silent.bind(0, '127.0.0.1', resolve));
    try {
      const program = ctxAsking(stage, `127.0.0.1:${silent.address().port}`);
      const connecting = `const { hostname, port } = new URL(process.env.HTTP_PROXY);
        for (let i = 0; i < 200; i++) require('net').connect(port, hostname, function () {
          this.write('CONNECT n' + i % 100 + '.dead.example.com:443 HTTP/1.1\\r\\n\\r\\n'); }).on('error', () => {});
        setTimeout(() => console.log('asked'), 300); setTimeout(() => {}, 60000);`;
      const start = (...options: string[]) =>
        stage.start(stage.project(), [...program, 'exec', '--net', 'any', ...options, '--', 'node', '-e', connecting], {
          env: { LOCALDOMAIN: 'search.example', RES_OPTIONS: 'ndots:9' },
        });
      const limited = start('--timeout', '1s');
      const started = performance.now();
      assert.match((await limited.finished).stderr, /timed out/);
      assert.ok(performance.now() - started < 15_000);
      const running = start();
      running.child.stdout?.once('data', () => {
        running.child.kill('SIGTERM');
      });
      const again = performance.now();
      const ended = await running.finished;
      assert.equal(ended.code, 143, ended.stderr);
      assert.ok(performance.now() - again < 15_000);
      assert.ok(asked.size > 0);
      for (const name of asked) assert.match(name, /^n[0-9]+\.dead\.example\.com$/);
    } finally {
      silent.close();
    }
  });

  test('around the proxy there is no way', async () => {
    const project = stage.project();
    const direct = `require('node:net').connect(${Number(name.split(':')[1])}, '127.0.0.1')
      .on('connect', () => process.exit(0)).on('error', (error) => { console.log(error.code); process.exit(7); })`;
    const { code, stdout } = await stage.ctx(project, ['exec', '--net-private', name, '--', 'node', '-e', direct]);
    assert.deepEqual([code, stdout], [7, 'ECONNREFUSED\n']);
  });

  test('a name that is no host is bad input', async () => {
    const project = stage.project();
    for (const bad of ['a b', 'host:0', '0x7f.1:80', '']) {
      const { code, stderr } = await stage.ctx(project, ['exec', '--net', bad, '--', 'true']);
      assert.equal(code, 2, `${bad}: ${stderr}`);
    }
  });

  test('the report names a limit of few processes that was reached, also without a control group', async () => {
    const project = stage.project();
    const run = async (count: number) => {
      const script = `for i in $(seq ${count}); do sleep 0.3 & done; wait`;
      const { stdout } = await stage.ctx(project, ['exec', '--json', '--processes', '6', '--', 'sh', '-c', script]);
      return JSON.parse(stdout) as Envelope;
    };
    const crowded = await run(9);
    assert.match(
      crowded.limitsReached.join(),
      /process limit reached: (\d+ forks? refused|6 processes and threads of at most 6)/,
    );
    assert.equal(crowded.limitsReached.length, 1);
    const { limit, percent, most } = crowded.limitEvents.at(-1) ?? {};
    assert.deepEqual([limit, percent, most], ['pids', 100, 6]);
    assert.deepEqual((await run(3)).limitsReached, []);
  });

  test('limits hold, and the report names the one that was reached', async (context) => {
    const project = stage.project();
    const grow = 'const kept = []; for (let i = 0; i < 400; i += 1) kept.push(Buffer.alloc(2 ** 20, 1));';
    const { code, stdout } = await stage.ctx(project, ['exec', '--json', '--memory', '100M', '--', 'node', '-e', grow]);
    if (code === 69) {
      assert.match(stdout, /ENOTSUP/);
      context.skip('this host gives this user no control group');
      return;
    }
    const envelope = JSON.parse(stdout);
    assert.equal(envelope.signal, 'SIGKILL');
    assert.match(envelope.limitsReached.join(), /memory limit reached/);
    const fork = 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 0.2 & done; wait';
    const forks = await stage.ctx(project, ['exec', '--json', '--processes', '8', '--', 'sh', '-c', fork]);
    assert.match(JSON.parse(forks.stdout).limitsReached.join(), /process limit reached/);
  });
});
