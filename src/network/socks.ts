/** SOCKS5 messages (RFC 1928): no authentication, CONNECT only. Pure: bytes in, values out. */
import { ErrnoError } from '../base/errno.js';
import { hostText, parseHost, type Target } from './host-name.js';
import type { Taken } from './inbox.js';

export const socksVersion = 5;
const connectCommand = 1;
const noAuthentication = 0;

function malformed(reason: string): never {
  throw new ErrnoError('EINVAL', { operation: 'socks', reason });
}

/** Whether the client does without authentication. */
export function takeGreeting(bytes: Buffer): Taken<boolean> | undefined {
  const count = bytes[1];
  if (count === undefined || bytes.length < 2 + count) return undefined;
  return { value: bytes.subarray(2, 2 + count).includes(noAuthentication), used: 2 + count };
}

interface Destination {
  readonly text: () => string;
  readonly end: number;
}

function destination(bytes: Buffer): Destination | undefined {
  switch (bytes[3]) {
    case 1:
      return { text: () => bytes.subarray(4, 8).join('.'), end: 8 };
    case 3: {
      const length = bytes[4];
      if (length === undefined) return undefined;
      return { text: () => hostText(bytes.subarray(5, 5 + length)), end: 5 + length };
    }
    case 4: {
      const groups = Array.from({ length: 8 }, (_, i) => `${bytes.toString('hex', 4 + 2 * i, 6 + 2 * i)}`);
      return { text: () => `[${groups.join(':')}]`, end: 20 };
    }
    default:
      return malformed('expected a name, an IPv4 or an IPv6 address');
  }
}

/** Where to; the host is refused as one in HTTP would be. */
export function takeRequest(bytes: Buffer): Taken<Target> | undefined {
  if (bytes.length < 4) return undefined;
  if (bytes[0] !== socksVersion || bytes[2] !== 0) malformed('expected a SOCKS5 request');
  if (bytes[1] !== connectCommand) {
    throw new ErrnoError('ENOTSUP', { operation: 'socks', reason: 'expected CONNECT; BIND and UDP are not served' });
  }
  const to = destination(bytes);
  if (to === undefined || bytes.length < to.end + 2) return undefined;
  const port = bytes.readUInt16BE(to.end);
  if (port === 0) malformed('expected a port from 1 to 65535');
  return { value: { host: parseHost(to.text()), port }, used: to.end + 2 };
}

export function greetingReply(accepted: boolean): Buffer {
  return Buffer.of(socksVersion, accepted ? noAuthentication : 0xff);
}

/** The address we connect from is not the client's to know. */
export function requestReply(code: number): Buffer {
  return Buffer.of(socksVersion, code, 0, 1, 0, 0, 0, 0, 0, 0);
}
