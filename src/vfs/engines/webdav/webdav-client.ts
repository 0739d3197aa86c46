/**
 * Requests to a WebDAV server: each within a limit, which begins anew with each piece of a body, its answer in memory, tried again after a pause where nothing has happened yet or it
 * makes no difference. Credentials go into one header, and into nothing that is ever printed.
 */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonic } from '../../../base/clock.js';
import { type ErrnoCode, ErrnoError } from '../../../base/errno.js';
import { remoteAttempts, webdavAnswerBytes } from '../../../base/limits/trees.js';
import type { RemoteContent } from '../remote/remote-store.js';
import { withinLimit } from '../remote/within-limit.js';

export interface WebdavRequest {
  readonly operation: string;
  readonly method: string;
  /** Encoded, from the root of the server on. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: RemoteContent | undefined;
  /** Doing it twice is doing it once. */
  readonly again: boolean;
}

export interface WebdavAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer;
}

export interface WebdavAccess {
  readonly url: URL;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  /** In milliseconds, for one call with its retries, and for each piece of what is sent. */
  readonly limit: number;
}

const pieceBytes = 1024 * 1024;
const firstPauseMilliseconds = 100;

export class WebdavClient {
  readonly #access: WebdavAccess;
  readonly #agent: HttpAgent;
  readonly #label: string;
  /** A process that is still waiting then waits for nothing. */
  readonly #closing = new AbortController();

  constructor(access: WebdavAccess, label: string) {
    this.#access = access;
    this.#label = label;
    const options = { keepAlive: true, maxSockets: 16 };
    this.#agent = access.url.protocol === 'https:' ? new HttpsAgent(options) : new HttpAgent(options);
  }

  ask(request: WebdavRequest): Promise<WebdavAnswer> {
    return withinLimit(this.#access.limit, this.#closing.signal, (signal, goesOn) =>
      this.#tried(request, signal, goesOn),
    );
  }

  async #tried(request: WebdavRequest, signal: AbortSignal, goesOn: () => void): Promise<WebdavAnswer> {
    const deadline = monotonic() + this.#access.limit;
    for (let attempt = 1; ; attempt += 1) {
      const pause = firstPauseMilliseconds * 2 ** (attempt - 1) * (0.5 + Math.random());
      // Where no time is left for another one, what this one gives is what is said.
      const isLast = attempt >= remoteAttempts || monotonic() + pause >= deadline;
      try {
        const answer = await this.#once(request, signal, goesOn);
        if (isLast || !request.again || !isBusy(answer)) return answer;
      } catch (error) {
        const mayRepeat = request.again || neverSent(error);
        if (signal.aborted || isLast || !mayRepeat) throw this.#failure(error, request, signal);
      }
      await sleep(pause);
    }
  }

  /** EACCES ENOENT ESTALE ENOSPC, or EIO with what was answered. */
  refused({ status }: WebdavAnswer, operation: string): ErrnoError {
    const known: Readonly<Record<number, readonly [ErrnoCode, string, string?]>> = {
      401: ['EACCES', 'its server does not accept the credentials (401)', credentialsRemedy],
      403: ['EACCES', 'its server refuses it (403)', credentialsRemedy],
      404: ['ENOENT', 'it is not there'],
      409: ['ENOENT', 'its directory is not there'],
      412: ['ESTALE', 'another client has changed it meanwhile, and nothing was overwritten'],
      423: ['EBUSY', 'it is locked'],
      507: ['ENOSPC', 'its server has no room left'],
    };
    const [code, reason, remedy] = known[status] ?? (['EIO', `its server answered ${status}`] as const);
    return new ErrnoError(code, { operation, path: this.#label, reason, remedy });
  }

  close(): void {
    this.#closing.abort();
    this.#agent.destroy();
  }

  #once(
    { method, path, headers, body }: WebdavRequest,
    signal: AbortSignal,
    goesOn: () => void,
  ): Promise<WebdavAnswer> {
    const { url, user, password } = this.#access;
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const authorization =
      user === undefined
        ? {}
        : { authorization: `Basic ${Buffer.from(`${user}:${password ?? ''}`).toString('base64')}` };
    const length = body === undefined ? {} : { 'content-length': String(body.size) };
    return new Promise((resolve, reject) => {
      const request = send({
        agent: this.#agent,
        hostname: url.hostname.replace(/^\[|\]$/g, ''),
        port: url.port,
        method,
        path,
        headers: { ...authorization, ...headers, ...length },
        signal,
      });
      request.once('error', reject);
      request.once('response', (response) => {
        gathered(response)
          .then(resolve, reject)
          // A server that answers before it has read everything may never read the rest.
          .finally(() => request.writableFinished || request.destroy());
      });
      if (body === undefined) request.end();
      else
        sent(request, body, goesOn).catch((error: unknown) => {
          request.destroy();
          reject(error);
        });
    });
  }

  #failure(error: unknown, { operation }: WebdavRequest, signal: AbortSignal): ErrnoError {
    if (error instanceof ErrnoError) return error;
    const { limit, url } = this.#access;
    const path = this.#label;
    if (signal.aborted) {
      const reason = `its server did not answer within ${limit / 1000} s (remoteCallMilliseconds)`;
      return new ErrnoError('ETIMEDOUT', { operation, path, reason, cause: error });
    }
    const { code = 'no answer' } = (error ?? {}) as { code?: string };
    const reason = `its server ${url.host} cannot be reached (${code})`;
    return new ErrnoError('EIO', { operation, path, reason, remedy: 'check its URL and the network', cause: error });
  }
}

const credentialsRemedy = 'set CTX_WEBDAV_USER and CTX_WEBDAV_PASSWORD for this command';

function isBusy({ status }: WebdavAnswer): boolean {
  return status === 429 || (status >= 500 && status !== 501 && status !== 507);
}

function neverSent(error: unknown): boolean {
  return ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'].includes((error as { code?: string }).code ?? '');
}

async function gathered(response: IncomingMessage): Promise<WebdavAnswer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > webdavAnswerBytes) {
      response.destroy();
      const reason = `its server answered with more than ${webdavAnswerBytes} bytes (webdavAnswerBytes)`;
      throw new ErrnoError('EIO', { operation: 'webdav', reason });
    }
    pieces.push(piece);
  }
  return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(pieces) };
}

async function sent(request: ReturnType<typeof httpRequest>, body: RemoteContent, goesOn: () => void): Promise<void> {
  for (let at = 0; at < body.size; at += pieceBytes) {
    if (request.destroyed) return;
    if (!request.write(body.read(at, pieceBytes))) {
      await new Promise<void>((resolve) => {
        const goOn = () => {
          request.off('drain', goOn).off('close', goOn);
          resolve();
        };
        request.on('drain', goOn).on('close', goOn);
      });
    }
    goesOn();
  }
  request.end();
}
