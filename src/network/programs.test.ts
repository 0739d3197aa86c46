/** Real programs find the proxy by their environment, reach what an explicit rule allows, and nothing without it. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join, normalize } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { start } from '../../test/support/process.js';
import { noNetwork } from '../authority/network.js';
import { proxyEnvironment } from './environment.js';
import { allowing, type Listening, listenHttp, type ProxyFixture, startProxy } from './proxy-fixture.js';

function missing(program: string, ...args: readonly string[]): string | false {
  try {
    execFileSync(program, args.length > 0 ? args : ['--version'], { stdio: 'ignore' });
    return false;
  } catch {
    return `${program} is not installed`;
  }
}

describe('real programs', () => {
  let directory = '';
  let site: Listening;
  let open: ProxyFixture;
  let shut: ProxyFixture;
  const requests: string[] = [];

  /** Files below the directory's `www`, and a registry's two answers. */
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    const path = normalize(decodeURIComponent((request.url ?? '/').split('?')[0] ?? '/'));
    requests.push(`${request.method} ${path}`);
    if (path === '/redirect') {
      response.writeHead(302, { Location: `http://elsewhere.example:${site.port}/hello` }).end();
      return;
    }
    if (path.endsWith('/')) response.setHeader('Content-Type', 'text/html');
    try {
      response.end(readFileSync(join(directory, 'www', path.endsWith('/') ? `${path}index.html` : path)));
    } catch {
      response.writeHead(404).end();
    }
  };

  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'ctx-network-programs-'));
    for (const each of ['www/simple/tiny', 'home', 'work']) mkdirSync(join(directory, each), { recursive: true });
    writeFileSync(join(directory, 'www/hello'), 'hello\n');
    site = await listenHttp(handle);
    open = await startProxy(allowing(`site.example:${site.port}`));
    shut = await startProxy({ grant: noNetwork });
  });
  after(async () => {
    await open.proxy.stop();
    await shut.proxy.stop();
    await site.close();
    rmSync(directory, { recursive: true, force: true });
  });

  const run = (proxy: ProxyFixture, ...argv: readonly string[]) =>
    start(argv, {
      cwd: join(directory, 'work'),
      env: {
        PATH: process.env['PATH'],
        HOME: join(directory, 'home'),
        GIT_TERMINAL_PROMPT: '0',
        npm_config_update_notifier: 'false',
        PIP_DISABLE_PIP_VERSION_CHECK: '1',
        ...proxyEnvironment(proxy.port, noNetwork),
      },
    }).finished;

  /** It works where allowed; where not, it fails and the site is not asked. */
  async function holds(argv: readonly string[], undo: () => void = () => undefined): Promise<string> {
    const asked = requests.length;
    const refused = await run(shut, ...argv);
    assert.notEqual(refused.code, 0, `${refused.stdout}${refused.stderr}`);
    assert.equal(requests.length, asked, 'nothing was asked');
    undo();
    const { code, stdout, stderr } = await run(open, ...argv);
    assert.equal(code, 0, `${argv.join(' ')}\n${stdout}${stderr}`);
    assert.ok(requests.length > asked, 'the site was asked');
    return stdout;
  }

  const url = (path: string) => `http://site.example:${site.port}${path}`;

  it('curl: plain, by CONNECT, by SOCKS', { skip: missing('curl') }, async () => {
    assert.equal(await holds(['curl', '-sSf', url('/hello')]), 'hello\n');
    assert.equal(await holds(['curl', '-sSf', '--proxytunnel', url('/hello')]), 'hello\n');
    const socks = (proxy: ProxyFixture) => ['curl', '-sSf', '-x', `socks5h://127.0.0.1:${proxy.port}`, url('/hello')];
    assert.equal((await run(open, ...socks(open))).stdout, 'hello\n');
    assert.notEqual((await run(shut, ...socks(shut))).code, 0);
  });

  it('curl: a redirect to a host that is not granted is refused', { skip: missing('curl') }, async () => {
    const asked = requests.length;
    const { code, stdout } = await run(open, 'curl', '-sSfL', url('/redirect'));
    assert.notEqual(code, 0, stdout);
    assert.deepEqual(requests.slice(asked), ['GET /redirect']);
  });

  it('wget', { skip: missing('wget') }, async () => {
    assert.equal(await holds(['wget', '-q', '-O', '-', '-t', '1', url('/hello')]), 'hello\n');
  });

  it('git clones', { skip: missing('git') }, async () => {
    const source = join(directory, 'source');
    const git = (...args: readonly string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.org', ...args], { stdio: 'ignore' });
    git('init', '-q', source);
    writeFileSync(join(source, 'file'), 'content\n');
    git('-C', source, 'add', 'file');
    git('-C', source, 'commit', '-q', '-m', 'one');
    git('clone', '-q', '--bare', source, join(directory, 'www/repository.git'));
    git('-C', join(directory, 'www/repository.git'), 'update-server-info');
    await holds(['git', 'clone', '-q', url('/repository.git'), 'clone']);
    assert.equal(readFileSync(join(directory, 'work/clone/file'), 'utf8'), 'content\n');
  });

  it('npm installs', { skip: missing('npm') }, async () => {
    const pack = join(directory, 'pack');
    mkdirSync(join(pack, 'package'), { recursive: true });
    writeFileSync(join(pack, 'package/package.json'), '{"name":"tiny","version":"1.0.0"}');
    const tarball = execFileSync('tar', ['-czf', '-', '-C', pack, 'package']);
    writeFileSync(join(directory, 'www/tiny-1.0.0.tgz'), tarball);
    const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
    const dist = { tarball: url('/tiny-1.0.0.tgz'), integrity };
    const versions = { '1.0.0': { name: 'tiny', version: '1.0.0', dist } };
    writeFileSync(
      join(directory, 'www/tiny'),
      JSON.stringify({ name: 'tiny', 'dist-tags': { latest: '1.0.0' }, versions }),
    );
    const registry = ['--registry', url('/'), '--no-audit', '--no-fund', '--fetch-retries=0'];
    await holds(['npm', 'install', 'tiny', ...registry]);
    assert.match(readFileSync(join(directory, 'work/node_modules/tiny/package.json'), 'utf8'), /"tiny"/);
  });

  it('pip installs', { skip: missing('python3', '-m', 'pip', '--version') }, async () => {
    const name = 'tiny-1.0-py3-none-any.whl';
    const program = `import sys, zipfile
with zipfile.ZipFile(sys.argv[1], 'w') as wheel:
    wheel.writestr('tiny.py', 'x = 1')
    wheel.writestr('tiny-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n')
    wheel.writestr('tiny-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr('tiny-1.0.dist-info/RECORD', '')`;
    execFileSync('python3', ['-c', program, join(directory, 'www', name)]);
    writeFileSync(join(directory, 'www/simple/tiny/index.html'), `<a href="/${name}">${name}</a>`);
    const index = ['--index-url', url('/simple/'), '--trusted-host', 'site.example', '--retries', '0'];
    await holds([
      'python3',
      '-m',
      'pip',
      'install',
      '-q',
      '--no-cache-dir',
      '--no-deps',
      '--target',
      'pip',
      ...index,
      'tiny',
    ]);
    assert.equal(readFileSync(join(directory, 'work/pip/tiny.py'), 'utf8'), 'x = 1');
  });

  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const heeds = major > 24 || (major === 24 && minor >= 5) || (major === 22 && minor >= 21);
  it('node fetches', {
    skip: heeds ? false : `Node ${process.versions.node} does not heed NODE_USE_ENV_PROXY`,
  }, async () => {
    const program = `const answer = await fetch(${JSON.stringify(url('/hello'))}); if (!answer.ok) process.exit(1); process.stdout.write(await answer.text())`;
    assert.equal(await holds(['node', '--input-type=module', '-e', program]), 'hello\n');
  });
});
