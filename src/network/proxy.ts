/**
 * The network of a jail: a proxy outside of it, which alone has a network.
 *
 *     host-name  address  allow-list      what is a host, what is an address, what is allowed      pure
 *     http-head  http-message  body  socks  redact  secret-search    messages, taken apart and made anew   pure
 *     gate                                the one way out: judge, resolve, judge, connect, judge
 *     host-tls                            TLS of the proxy's own, where it adds a secret
 *     http-server  socks-server           one client's conversation
 *     events                              what the report says of it
 *     environment                         how programs find it
 *
 * It imports authority and base. It promises that a connection is opened only to a granted host and port at an address
 * that was judged, that every attempt is told, and that no client, however hostile, ends the process or another's
 * connection. It trusts the server's connections to be the jail's: who may connect is the jail's to see to.
 */
import type { Server, Socket } from 'node:net';
import type { Network } from '../authority/network.js';
import { ErrnoError } from '../base/errno.js';
import {
  networkConnections,
  networkConnectionsWaiting,
  networkConnectMilliseconds,
  networkHeadBytes,
  networkHeadMilliseconds,
  networkIdleMilliseconds,
  networkLingerMilliseconds,
} from '../base/limits/network.js';
import { networkRules } from './allow-list.js';
import { answerFor, asErrno } from './answer.js';
import type { ProxyConversation, ProxyLimits } from './conversation.js';
import { Ending } from './end-signal.js';
import { Attempt, type ConnectionEvent, ConnectionLog } from './events.js';
import type { NetworkGate } from './gate.js';
import { HostTls } from './host-tls.js';
import { serveHttp } from './http-server.js';
import { Inbox } from './inbox.js';
import { type OwnAddresses, recentAddressesOfHost } from './own-addresses.js';
import { type ResolveName, resolveByHost, sharedResolve } from './resolve-name.js';
import { type HostSecrets, hostSecrets, type InjectedSecret } from './secret.js';
import { socksVersion } from './socks.js';
import { serveSocks } from './socks-server.js';

export interface NetworkProxyOptions {
  /** Its connections are served; it is closed by `stop`. */
  readonly server: Server;
  readonly grant: Network;
  /** `host:port` that are granted and may resolve to loopback and private addresses: the operator's rule. */
  readonly privateHosts?: readonly string[];
  readonly secrets?: readonly InjectedSecret[];
  /** One attempt that has ended, or several alike with a count. May not throw. */
  readonly onEvent?: (event: ConnectionEvent) => void;
  /** The same of connections that were opened, and go on. */
  readonly onOpened?: (event: ConnectionEvent) => void;
  readonly resolve?: ResolveName;
  readonly ownAddresses?: () => OwnAddresses;
  readonly limits?: Partial<ProxyLimits>;
  /** For TLS of the proxy's own (secrets): PEM certificates to trust instead of Node's. */
  readonly certificates?: readonly string[];
}

export interface NetworkProxy {
  /** All attempts that have ended, repeats summed. */
  connections(): readonly ConnectionEvent[];
  /** Tells what is known and was to be told later, with others of its kind. */
  flush(): void;
  /** Closes server and connections; all events have been told when it resolves. */
  stop(): Promise<void>;
}

const defaultLimits: ProxyLimits = Object.freeze({
  connections: networkConnections,
  headBytes: networkHeadBytes,
  headMilliseconds: networkHeadMilliseconds,
  connectMilliseconds: networkConnectMilliseconds,
  idleMilliseconds: networkIdleMilliseconds,
  lingerMilliseconds: networkLingerMilliseconds,
});

/** Throws EINVAL where grant, rules or secrets are not well formed; nothing is served then. */
export function startNetworkProxy(options: NetworkProxyOptions): NetworkProxy {
  const proxy = new RunningProxy(options);
  const { server } = options;
  const onConnection = (socket: Socket) => proxy.accept(socket);
  server.on('connection', onConnection);
  // Out of descriptors, for example: told, and the next one may be served.
  server.on('error', (error) => proxy.tellTrouble(asErrno(error, 'accepting a connection')));
  return {
    connections: () => proxy.connections(),
    flush: () => proxy.flush(),
    stop: async () => {
      const closed = new Promise<void>((resolve) => (server.listening ? server.close(() => resolve()) : resolve()));
      await proxy.stop();
      await closed;
    },
  };
}

class RunningProxy {
  readonly #log: ConnectionLog;
  readonly #openings: ConnectionLog;
  readonly #gate: NetworkGate;
  readonly #secrets: ReadonlyMap<string, HostSecrets>;
  readonly #limits: ProxyLimits;
  readonly #tls: HostTls;
  readonly #served = new Map<Socket, Promise<void>>();
  /** Until there is room, or not for longer. */
  readonly #waiting = new Map<Socket, NodeJS.Timeout>();
  readonly #hosts = new Set<Socket>();
  #stopping = false;

  constructor(options: NetworkProxyOptions) {
    this.#limits = Object.freeze({ ...defaultLimits, ...options.limits });
    this.#gate = Object.freeze({
      rules: networkRules(options.grant, options.privateHosts),
      resolve: sharedResolve(options.resolve ?? resolveByHost),
      own: options.ownAddresses ?? recentAddressesOfHost(),
      connectMilliseconds: this.#limits.connectMilliseconds,
      onOpen: (socket: Socket) => {
        this.#hosts.add(socket);
        socket.once('close', () => this.#hosts.delete(socket));
      },
    });
    this.#secrets = hostSecrets(options.secrets ?? []);
    this.#tls = new HostTls(options.certificates);
    this.#log = new ConnectionLog(options.onEvent ?? (() => undefined));
    this.#openings = new ConnectionLog(options.onOpened ?? (() => undefined));
  }

  connections(): readonly ConnectionEvent[] {
    return this.#log.totals();
  }

  accept(client: Socket): void {
    client.on('error', () => undefined);
    // What is granted to a client that ends its half first is the rest of the answer.
    client.allowHalfOpen = true;
    if (this.#stopping) client.destroy();
    else if (this.#served.size < this.#limits.connections) this.#begin(client);
    else if (this.#waiting.size < networkConnectionsWaiting) this.#wait(client);
    else this.#refuse(client);
  }

  #begin(client: Socket): void {
    client.setNoDelay(true);
    const serving = this.#serve(client).finally(() => {
      this.#served.delete(client);
      const [next] = this.#waiting.keys();
      if (next === undefined || this.#stopping) return;
      this.#leave(next);
      this.#begin(next);
    });
    this.#served.set(client, serving);
  }

  /** Many at once are mostly short: each gets its turn, as it would at a server. */
  #wait(client: Socket): void {
    const timer = setTimeout(() => {
      this.#leave(client);
      this.#refuse(client);
    }, this.#limits.connectMilliseconds);
    this.#waiting.set(client, timer);
    client.once('close', () => this.#leave(client));
  }

  #leave(client: Socket): void {
    clearTimeout(this.#waiting.get(client));
    this.#waiting.delete(client);
  }

  #refuse(client: Socket): void {
    client.destroy();
    const reason = `more than ${this.#limits.connections} connections at once (networkConnections)`;
    this.tellTrouble(new ErrnoError('EAGAIN', { operation: 'accept', reason }));
  }

  tellTrouble(error: ErrnoError): void {
    const attempt = new Attempt(this.#log, this.#openings);
    attempt.verdict = answerFor(error).verdict;
    attempt.reason = error.reason;
    attempt.tell();
  }

  flush(): void {
    this.#openings.flush();
    this.#log.flush();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    for (const socket of [...this.#waiting.keys(), ...this.#served.keys(), ...this.#hosts]) socket.destroy();
    await Promise.all(this.#served.values());
    this.flush();
  }

  async #serve(client: Socket): Promise<void> {
    const gone = new Ending();
    client.once('close', () => gone.abort());
    const { headBytes, headMilliseconds } = this.#limits;
    const inbox = new Inbox(client, { bytes: headBytes, milliseconds: headMilliseconds });
    const attempt = new Attempt(this.#log, this.#openings);
    let asked = false;
    try {
      const first = await inbox.first();
      asked = true;
      await this.#converse(first, {
        client,
        inbox,
        attempt,
        gate: this.#gate,
        secrets: this.#secrets,
        limits: this.#limits,
        tls: this.#tls,
        signal: gone,
      });
    } catch (error) {
      const known = asErrno(error, 'the connection');
      attempt.verdict = answerFor(known).verdict;
      attempt.reason = known.reason;
    }
    // A client that only connected and left has attempted nothing.
    if (asked) attempt.tell();
    await linger(client, this.#limits);
  }

  async #converse(first: number, conversation: ProxyConversation): Promise<void> {
    if (first === socksVersion) return serveSocks(conversation);
    if (first >= 0x41 && first <= 0x5a) return serveHttp(conversation);
    throw new ErrnoError('EINVAL', { operation: 'accept', reason: 'expected HTTP or SOCKS5' });
  }
}

/**
 * Ends our half when the client has taken all of it, and waits for the client's: closing over unread bytes would reset
 * what it has yet to read. One that reads slowly has as long as in a tunnel.
 */
async function linger(client: Socket, { lingerMilliseconds, idleMilliseconds }: ProxyLimits): Promise<void> {
  if (client.destroyed) return;
  client.setTimeout(idleMilliseconds, () => client.destroy());
  client.resume();
  await new Promise<void>((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    client.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
    client.end(() => {
      if (!client.destroyed) timer = setTimeout(() => client.destroy(), lingerMilliseconds);
    });
  });
}
