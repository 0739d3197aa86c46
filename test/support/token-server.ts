/** A real HTTPS server that says what it was sent, under a name that only the ctx of a test resolves; and how a command inside asks it. */
import { chmodSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { makeCertificate, withoutOpenssl } from '../../src/network/certificate-fixture.js';
import { type Listening, listen } from '../../src/network/proxy-fixture.js';
import { ctxResolving } from './resolver.js';
import type { Stage } from './stage.js';

/** One request, by the proxy that every program inside is told of. */
export const askToken = `node -e 'const { hostname, port } = new URL(process.env.http_proxy);
    require("http").get({ host: hostname, port, path: "http://api.test/", headers: { authorization: "Bearer own" } },
      (answer) => answer.pipe(process.stdout)).on("error", () => {})'`;

export class TokenServer {
  /** The header of each request. */
  readonly seen: (string | undefined)[] = [];
  readonly #stage: Stage;
  #api: Listening | undefined;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  get port(): number {
    return this.#api?.port ?? 0;
  }

  get certificates(): string {
    return join(this.#stage.directory, 'trusted.pem');
  }

  /** The words that start ctx, with a resolver that knows the server. */
  get ctx(): readonly string[] {
    return ctxResolving(this.#stage, { 'api.test': ['127.0.0.1'] });
  }

  /** What the native client starts as Node has the test's resolver, too. Inside there is no such file. */
  resolvingPath(): string {
    const programs = this.#stage.makeDirectory('programs');
    const [, , resolver = ''] = this.ctx;
    const node = `#!/bin/sh\n[ ! -f '${resolver}' ] || set -- --require '${resolver}' "$@"\nexec '${process.execPath}' "$@"\n`;
    writeFileSync(join(programs, 'node'), node);
    chmodSync(join(programs, 'node'), 0o755);
    return `${programs}:${this.#stage.environment['PATH']}`;
  }

  async start(): Promise<void> {
    const certificate = makeCertificate(this.#stage.directory, 'api.test');
    writeFileSync(this.certificates, certificate.cert);
    chmodSync(this.certificates, 0o644);
    this.#api = await listen(
      createServer(certificate, (request, response) => {
        this.seen.push(request.headers.authorization);
        response.end(`you sent ${request.headers.authorization ?? 'nothing'}`);
      }),
    );
  }

  async stop(): Promise<void> {
    await this.#api?.close();
  }
}

export function useTokenServer(stage: Stage): TokenServer {
  const server = new TokenServer(stage);
  before(async () => {
    if (withoutOpenssl() === false) await server.start();
  });
  after(() => server.stop());
  return server;
}
