/**
 * The one way out. Whatever the protocol, a connection is opened here and nowhere else: host and port judged, the name
 * resolved once, every address judged, the connection made to a judged address itself (there is no second lookup that
 * could answer otherwise), and the address of the open socket judged again.
 */
import { connect, type Socket } from 'node:net';
import { ErrnoError } from '../base/errno.js';
import { networkAddressesTried } from '../base/limits/network.js';
import { canonicalAddress } from './address.js';
import { judgeAddress, judgeAddresses, judgeTarget, type NetworkRules } from './allow-list.js';
import { asErrno } from './answer.js';
import type { BulkReader } from './bulk-reader.js';
import { Ending, type EndSignal, millisecondsUntil } from './end-signal.js';
import type { Attempt } from './events.js';
import { literalAddress, type Target } from './host-name.js';
import type { OwnAddresses } from './own-addresses.js';
import type { ResolveName } from './resolve-name.js';

export interface NetworkGate {
  readonly rules: NetworkRules;
  /** This machine's own addresses. */
  readonly own: () => OwnAddresses;
  readonly resolve: ResolveName;
  readonly connectMilliseconds: number;
  /** Told of every socket to a host, so that whoever stops can close what is open. */
  readonly onOpen: (socket: Socket) => void;
}

function refuse(reason: string): never {
  throw new ErrnoError('EACCES', { operation: 'connect', reason });
}

interface Patience {
  readonly deadline: number;
  readonly signal: EndSignal;
}

interface Opening extends Patience {
  readonly bulk: BulkReader | undefined;
}

/** Rejects at the deadline and when the client has gone; what is under way is told so by its signal. */
function before<T>(work: (signal: EndSignal) => Promise<T>, { deadline, signal }: Patience, what: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const over = new Ending();
    const settle = (act: () => void) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      act();
      over.abort();
    };
    const fail = (error: unknown) => settle(() => reject(error));
    const onAbort = () =>
      fail(new ErrnoError('ECANCELED', { operation: 'connect', reason: 'the client closed early' }));
    const onLate = () => {
      const reason = `${what} took too long (networkConnectMilliseconds)`;
      fail(new ErrnoError('ETIMEDOUT', { operation: 'connect', reason }));
    };
    const timer = setTimeout(onLate, millisecondsUntil(deadline));
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
    else work(over).then((value) => settle(() => resolve(value)), fail);
  });
}

async function addressesOf(gate: NetworkGate, { host }: Target, patience: Patience): Promise<readonly string[]> {
  const literal = literalAddress(host);
  if (literal !== undefined) return [literal];
  const found = await before((signal) => gate.resolve(host, signal), patience, `resolving ${host}`).catch(
    (error: unknown) => {
      if (error instanceof ErrnoError) throw error;
      throw new ErrnoError('ENOENT', { operation: 'connect', reason: `${host} could not be resolved`, cause: error });
    },
  );
  if (found.length > 0) return found;
  throw new ErrnoError('ENOENT', { operation: 'connect', reason: `${host} has no address` });
}

async function connectTo(gate: NetworkGate, address: string, port: number, patience: Opening): Promise<Socket> {
  const { bulk } = patience;
  const reading = bulk === undefined ? {} : { onread: bulk.onread };
  const socket = connect({ host: address, port, allowHalfOpen: true, noDelay: true, ...reading });
  // Nothing is read before there is somewhere to write it.
  if (bulk !== undefined) socket.pause();
  // Without a listener an error would end the process; `close` follows and is what is acted on.
  socket.on('error', () => undefined);
  gate.onOpen(socket);
  const opened = new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve).once('error', reject);
  });
  try {
    await before(() => opened, patience, 'connecting');
    return socket;
  } catch (error) {
    socket.destroy();
    throw asErrno(error, 'connecting');
  }
}

async function connectToOne(
  gate: NetworkGate,
  addresses: readonly string[],
  port: number,
  { deadline, signal, bulk }: Opening,
): Promise<readonly [socket: Socket, address: string]> {
  const tried = addresses.slice(0, networkAddressesTried);
  let failure: unknown;
  for (const [index, address] of tried.entries()) {
    // Each gets its share of the time that is left, so that one silent address does not cost the others theirs.
    const now = performance.now();
    const share = now + (deadline - now) / (tried.length - index);
    try {
      return [await connectTo(gate, address, port, { deadline: share, signal, bulk }), address];
    } catch (error) {
      failure = error;
      if (signal.aborted) break;
    }
  }
  throw failure;
}

/**
 * An open socket to the target, or EACCES, ENOENT, EIO, ETIMEDOUT or ECANCELED. With `bulk` it is paused, and what comes goes to that
 * reader instead of the stream.
 */
export async function open(
  gate: NetworkGate,
  target: Target,
  attempt: Attempt,
  signal: EndSignal,
  bulk?: BulkReader,
): Promise<Socket> {
  attempt.host = target.host;
  attempt.port = target.port;
  const granted = judgeTarget(gate.rules, target);
  if (!granted.allowed) return refuse(granted.reason);

  const patience = { deadline: performance.now() + gate.connectMilliseconds, signal, bulk };
  const addresses = await addressesOf(gate, target, patience);
  const own = gate.own();
  const verdict = judgeAddresses(gate.rules, target, addresses, own);
  if (!verdict.allowed) {
    attempt.address = verdict.address;
    return refuse(verdict.reason);
  }
  attempt.address = addresses[0] ?? null;
  const [socket, address] = await connectToOne(gate, addresses, target.port, patience);
  attempt.address = address;
  attempt.counted = socket;
  const reached = socket.remoteAddress ?? '';
  // What is reached from itself is this machine, whatever its interfaces say.
  const here = canonicalAddress(socket.localAddress ?? '') === canonicalAddress(reached);
  const again = judgeAddress(gate.rules, target, reached, here ? { has: () => true } : own);
  if (!again.allowed || canonicalAddress(reached) !== canonicalAddress(address)) {
    socket.destroy();
    return refuse(
      again.allowed
        ? `the connection to ${target.host} reached another address than the one that was checked`
        : again.reason,
    );
  }
  attempt.tellOpen();
  return socket;
}
