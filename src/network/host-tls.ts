/**
 * TLS of the proxy's own, for hosts with secrets. What costs most is done once: the certificates are read for all
 * connections, and a host that was reached before takes the session up again, under the name that its certificate was
 * checked for.
 */
import { isIP, type Socket } from 'node:net';
import { connect, createSecureContext, type SecureContext } from 'node:tls';
import { ErrnoError } from '../base/errno.js';
import { networkSessionHosts, networkSessionMilliseconds } from '../base/limits/network.js';
import { asErrno } from './answer.js';

interface Session {
  readonly ticket: Buffer;
  /** When the certificate was last seen and checked. */
  readonly checkedAt: number;
}

export class HostTls {
  readonly #certificates: readonly string[] | undefined;
  readonly #sessions = new Map<string, Session>();
  #context: SecureContext | undefined;

  /** PEM certificates to trust instead of Node's. */
  constructor(certificates: readonly string[] | undefined) {
    this.#certificates = certificates;
  }

  /** Rejects where the host's certificate is not valid for its name; the socket is closed then. */
  async secured(socket: Socket, { host, port }: { host: string; port: number }, milliseconds: number): Promise<Socket> {
    const name = host.startsWith('[') ? host.slice(1, -1) : host;
    const place = `${host}:${port}`;
    const session = this.#sessionOf(place);
    this.#context ??= createSecureContext({
      ...(this.#certificates === undefined ? {} : { ca: [...this.#certificates] }),
      minVersion: 'TLSv1.2',
    });
    const secure = connect({
      socket,
      host: name,
      ...(isIP(name) === 0 ? { servername: name } : {}),
      ...(session === undefined ? {} : { session: session.ticket }),
      secureContext: this.#context,
      ALPNProtocols: ['http/1.1'],
      rejectUnauthorized: true,
    });
    secure.on('error', () => undefined);
    secure.setTimeout(milliseconds, () => secure.destroy());
    const tickets: Buffer[] = [];
    secure.on('session', (ticket: Buffer) => tickets.push(ticket));
    try {
      await new Promise<void>((resolve, reject) => {
        secure.once('secureConnect', resolve).once('error', reject);
        secure.once('close', () =>
          reject(new ErrnoError('ETIMEDOUT', { operation: 'connect', reason: `${host} gave no TLS` })),
        );
      });
    } catch (error) {
      this.#sessions.delete(place);
      socket.destroy();
      throw asErrno(error, `TLS with ${host}`);
    }
    secure.setTimeout(0);
    const checkedAt = session !== undefined && secure.isSessionReused() ? session.checkedAt : performance.now();
    const keep = (ticket: Buffer) => this.#sessions.set(place, { ticket, checkedAt });
    for (const ticket of tickets) keep(ticket);
    secure.on('session', keep);
    if (this.#sessions.size > networkSessionHosts) this.#sessions.clear();
    return secure;
  }

  #sessionOf(place: string): Session | undefined {
    const session = this.#sessions.get(place);
    const isFresh = session !== undefined && performance.now() - session.checkedAt < networkSessionMilliseconds;
    return isFresh ? session : undefined;
  }
}
