/** What every protocol's server is given: one client, and what may be done for it. */
import type { Socket } from 'node:net';
import type { EndSignal } from './end-signal.js';
import type { Attempt } from './events.js';
import type { NetworkGate } from './gate.js';
import type { HostTls } from './host-tls.js';
import type { Inbox } from './inbox.js';
import type { HostSecrets } from './secret.js';

export interface ProxyLimits {
  readonly connections: number;
  readonly headBytes: number;
  readonly headMilliseconds: number;
  readonly connectMilliseconds: number;
  readonly idleMilliseconds: number;
  readonly lingerMilliseconds: number;
}

export interface ProxyConversation {
  readonly client: Socket;
  readonly inbox: Inbox;
  readonly attempt: Attempt;
  readonly gate: NetworkGate;
  readonly secrets: ReadonlyMap<string, HostSecrets>;
  readonly limits: ProxyLimits;
  readonly tls: HostTls;
  /** Aborted when the client is gone or the proxy stops. */
  readonly signal: EndSignal;
}
