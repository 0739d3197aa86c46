/** Tools that have a host and a secret of their own, for agents that have neither: against real hosts of this machine. */
import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { makeCertificate, withoutOpenssl } from '../../src/network/certificate-fixture.js';
import { type Listening, listen, listenHttp } from '../../src/network/proxy-fixture.js';
import type { Envelope } from '../../src/proxy/report/envelope.js';
import { agentWith, executes, ok, withoutViews } from '../support/agents.js';
import { HttpMcpServer } from '../support/mcp-http.js';
import type { Finished } from '../support/process.js';
import { recordsOf } from '../support/record.js';
import { ctxResolving } from '../support/resolver.js';
import { parseJson, type Stage, useWarmStage } from '../support/stage.js';
import { asOneUser, forEitherUser } from '../support/users.js';

const token = 'tok-5f0e7c1d9b';
const skip = withoutViews === false ? withoutOpenssl() : withoutViews;

/** `api.test` by TLS, which asks for a token, and another host in clear. */
class Hosts {
  readonly mcp = new HttpMcpServer();
  readonly asked: (string | undefined)[] = [];
  readonly #stage: Stage;
  #api: Listening | undefined;
  #other: Listening | undefined;

  constructor(stage: Stage) {
    this.#stage = stage;
    before(() => this.#start());
    after(async () => {
      await this.#api?.close();
      await this.#other?.close();
    });
  }

  get api(): string {
    return `api.test:${this.#api?.port}`;
  }

  get other(): string {
    return `other.test:${this.#other?.port}`;
  }

  async #start(): Promise<void> {
    if (skip !== false) return;
    const certificate = makeCertificate(this.#stage.directory, 'api.test');
    const file = join(this.#stage.directory, 'trusted.pem');
    writeFileSync(file, certificate.cert);
    chmodSync(file, 0o644);
    this.#api = await listen(
      createServer(certificate, (request, response) => {
        if (request.url === '/mcp') return this.mcp.handle(request, response);
        this.asked.push(request.headers.authorization);
        response.end(`you sent ${request.headers.authorization ?? 'nothing'}\n`);
      }),
    );
    this.#other = await listenHttp(this.mcp.handle);
  }

  ctx(project: string, words: readonly string[], input?: string): Promise<Finished> {
    const names = { 'api.test': ['127.0.0.1'], 'other.test': ['127.0.0.1'] };
    const env = { NODE_EXTRA_CA_CERTS: join(this.#stage.directory, 'trusted.pem') };
    return this.#stage.start(project, [...ctxResolving(this.#stage, names), ...words], {
      env,
      ...(input === undefined ? {} : { input }),
    }).finished;
  }

  async ok(project: string, words: readonly string[], input?: string): Promise<string> {
    const { code, stdout, stderr } = await this.ctx(project, words, input);
    assert.equal(code, 0, `ctx ${words.join(' ')}\n${stdout}${stderr}`);
    return stdout;
  }

  async exec(project: string, agent: string, script: string): Promise<Envelope> {
    const words = ['exec', '--json', '--agent', agent, '--', 'sh', '-c', script];
    const { stdout, stderr } = await this.ctx(project, words);
    return parseJson(stdout, stderr) as Envelope;
  }
}

forEitherUser((user) => {
  describe('a tool with one host and one secret', { skip, concurrency: 1 }, () => {
    const stage = useWarmStage(user);
    const hosts = new Hosts(stage);

    test('is called by an agent without a network, which finds the secret nowhere; no other host is reached', async () => {
      const project = stage.project();
      await hosts.ok(project, ['secret', 'set', 'API_TOKEN'], `${token}\n`);
      const program = join(stage.directory, 'ask.sh');
      writeFileSync(
        program,
        [
          '#!/bin/sh',
          'curl -sS -m 10 http://api.test/',
          `curl -s -m 10 -o /dev/null -w 'other %{http_code}\\n' http://${hosts.other}/`,
          "curl -s -m 3 --noproxy '*' http://127.0.0.1:80/ || echo direct refused",
          "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -c tok-",
          'exit 0',
        ].join('\n'),
      );
      await ok(stage, project, [
        ...['tool', 'new', 'ask', '--exec', program, '--net-private', hosts.api],
        ...['--secret', `${hosts.api} Authorization: Bearer $API_TOKEN`],
      ]);
      await agentWith(stage, project, 'offline', ...executes('ask'));
      const hunt = [
        '/ctx/tool/ask; env; cat /ctx/tool/ask.d/*',
        "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'",
        `node -e 'require("net").connect(80, "api.test").on("error", () => console.log("offline"))'`,
      ].join('\n');
      const { stdout, stderr, connections } = await hosts.exec(project, 'offline', hunt);
      const text = stdout?.text ?? '';
      assert.match(text, /^you sent \*+\nother 403\ndirect refused\n0\n/, `${text}${stderr?.text}`);
      assert.match(text, /^secret API_TOKEN api\.test:\d+ Authorization Bearer$/m);
      assert.match(text, /^offline$/m);
      assert.deepEqual([hosts.asked, connections], [[`Bearer ${token}`], []]);
      assert.ok(!`${text}${stderr?.text}`.includes(token));
      assert.ok(!JSON.stringify(recordsOf(stage.store)).includes(token));
    });
  });
});

asOneUser((user) => {
  describe('an MCP server by HTTP', { skip, concurrency: 1 }, () => {
    const stage = useWarmStage(user);
    const hosts = new Hosts(stage);
    const add = (project: string, name: string, server: object, ...words: string[]) => {
      const file = join(stage.directory, `${name}.json`);
      writeFileSync(file, JSON.stringify({ servers: { [name]: server } }));
      return hosts.ctx(project, ['tool', 'source', 'add', name, '--mcp', file, ...words]);
    };

    test('is reached where its host is granted, through its jail and nowhere else', async () => {
      const project = stage.project();
      const server = { type: 'http', url: `http://${hosts.other}/mcp` };
      const refused = await add(project, 'plain', server);
      assert.equal(refused.code, 2);
      assert.match(refused.stderr, /is at other\.test:\d+, which is not granted[\s\S]*--net-private other\.test:/);
      const public_ = await add(project, 'plain', server, '--net', hosts.other);
      assert.equal(public_.code, 69, public_.stderr);
      assert.match(public_.stderr, /is at a loopback address/);
      const added = await add(project, 'plain', server, '--net-private', hosts.other);
      assert.equal(added.code, 0, added.stderr);
      const names = ['whoami', 'fail', 'expire', 'change', 'garbage', 'later'];
      await agentWith(stage, project, 'distant', ...executes(...names.map((name) => `mcp.plain.${name}`)));
      const script = [
        'cd /ctx/tool; for tool in whoami fail garbage whoami expire whoami; do ./mcp.plain.$tool; echo "$tool $?"; done',
        './mcp.plain.change; for try in 1 2 3 4 5 6 7 8 9; do [ -e mcp.plain.later ] || sleep 0.2; done; ./mcp.plain.later',
      ].join('\n');
      const { stdout, stderr } = await hosts.exec(project, 'distant', script);
      const said = [
        ...['session-2 nobody', 'whoami 0', 'fail 1', 'garbage 1', 'session-2 nobody', 'whoami 0'],
        ...['expire 69', 'session-3 nobody', 'whoami 0', 'session-3 nobody', 'session-3 nobody', ''],
      ];
      assert.equal(stdout?.text, said.join('\n'), stderr?.text);
      assert.match(
        stderr?.text ?? '',
        /HTTP status 500 \(EIO\)[\s\S]*cannot be read[\s\S]*HTTP status 404 \(ENOTCONN\)/,
      );
      assert.ok(hosts.mcp.ended.includes('session-1'));
    });

    test('has its token from outside, as its file names it', async () => {
      const project = stage.project();
      await hosts.ok(project, ['secret', 'set', 'API_TOKEN'], `${token}\n`);
      // biome-ignore lint/suspicious/noTemplateCurlyInString: as the file has it
      const headers = { Authorization: 'Bearer ${API_TOKEN}' };
      const server = { type: 'http', url: `https://${hosts.api}/mcp`, headers };
      const refused = await add(project, 'secure', server, '--net-private', hosts.api);
      assert.equal(refused.code, 2);
      assert.match(refused.stderr, /--secret 'api\.test Authorization: Bearer \$API_TOKEN'/);
      const secret = `${hosts.api} Authorization: Bearer $API_TOKEN`;
      const added = await add(project, 'secure', server, '--net-private', hosts.api, '--secret', secret);
      assert.equal(added.code, 0, added.stderr);
      hosts.mcp.authorizations.length = 0;
      const answer = await hosts.ok(project, ['tool', 'call', 'mcp.secure.whoami', '{}']);
      assert.match(answer, /^session-\d+ \*+\n$/);
      assert.deepEqual([...new Set(hosts.mcp.authorizations)], [`Bearer ${token}`]);
      const tunnelled = await add(project, 'open', { type: 'http', url: server.url }, '--net-private', hosts.api);
      assert.equal(tunnelled.code, 0, tunnelled.stderr);
      assert.match(await hosts.ok(project, ['tool', 'call', 'mcp.open.whoami', '{}']), /^session-\d+ nobody\n$/);
    });
  });
});
