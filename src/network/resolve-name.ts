/**
 * Names to addresses: `/etc/hosts` first, then DNS by the servers of `/etc/resolv.conf`.
 *
 * Not by getaddrinfo, for two reasons. It cannot be cancelled: a few dead names hold Node's threads, and with them the
 * end of the process. And it tries a search list, which turns a granted name into another host. Here a name is absolute,
 * and a lookup ends at once when its last asker has gone.
 */
import { Resolver } from 'node:dns/promises';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { ErrnoError } from '../base/errno.js';
import { networkLookupRestMilliseconds, networkLookups } from '../base/limits/network.js';
import { Ending, type EndSignal } from './end-signal.js';

/** Rejects when it is aborted. */
export type ResolveName = (host: string, signal: EndSignal) => Promise<readonly string[]>;

const hostsFile = '/etc/hosts';
const serverMilliseconds = 3_000;
const tries = 2;

export const resolveByHost: ResolveName = async (host, signal) => {
  const listed = addressesInHosts(hostsText(), host);
  if (listed.length > 0) return listed;
  if (host === 'localhost' || host.endsWith('.localhost')) return ['127.0.0.1', '::1'];
  return askServers(host, signal);
};

let known = { stamp: '', text: '' };

/** Read anew when it is another file or was changed. To look costs a fraction of reading it. */
function hostsText(): string {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(hostsFile, { bigint: true });
    const stamp = [dev, ino, size, mtimeNs, ctimeNs].join(' ');
    if (stamp !== known.stamp) known = { stamp, text: readFileSync(hostsFile, 'latin1') };
    return known.text;
  } catch {
    return '';
  }
}

export function addressesInHosts(text: string, host: string): readonly string[] {
  const lines = text.split('\n').map((line) => line.replace(/#.*/, '').trim().split(/\s+/));
  return lines
    .filter(([address = '', ...names]) => isIP(address) !== 0 && names.some((name) => name.toLowerCase() === host))
    .map(([address = '']) => address);
}

async function askServers(host: string, signal: EndSignal): Promise<readonly string[]> {
  if (signal.aborted) throw cancelled();
  const resolver = new Resolver({ timeout: serverMilliseconds, tries });
  const cancel = () => resolver.cancel();
  signal.addEventListener('abort', cancel);
  try {
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    const failure = answers.find((answer) => answer.status === 'rejected');
    if (found.length === 0 && failure !== undefined) throw failure.reason;
    return found;
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

interface Flight {
  readonly found: Promise<readonly string[]>;
  readonly ending: Ending;
  askers: number;
}

/**
 * One lookup a name, however many ask for it; so many names at once, the others in their order; a failure is
 * everybody's for a moment, since clients ask again at once.
 */
export function sharedResolve(resolve: ResolveName): ResolveName {
  const flights = new Map<string, Flight>();
  const waiting: (() => void)[] = [];
  let running = 0;

  const turn = async (signal: EndSignal) => {
    if (running >= networkLookups) {
      await new Promise<void>((go, gone) => {
        waiting.push(go);
        signal.addEventListener('abort', () => {
          const at = waiting.indexOf(go);
          if (at >= 0) waiting.splice(at, 1);
          gone(cancelled());
        });
      });
    } else {
      running += 1;
    }
  };
  // A turn is handed on as it is, so that nobody comes in between.
  const next = () => {
    const go = waiting.shift();
    if (go === undefined) running -= 1;
    else go();
  };

  const start = (host: string): Flight => {
    const ending = new Ending();
    const look = async () => {
      await turn(ending);
      try {
        return await resolve(host, ending);
      } finally {
        next();
      }
    };
    const flight: Flight = { ending, askers: 0, found: look() };
    const forget = () => {
      if (flights.get(host) === flight) flights.delete(host);
    };
    flight.found.then(forget, () => setTimeout(forget, networkLookupRestMilliseconds).unref());
    flights.set(host, flight);
    return flight;
  };

  return async (host, signal) => {
    const flight = flights.get(host) ?? start(host);
    flight.askers += 1;
    let onAbort: (() => void) | undefined;
    const gone = new Promise<never>((_resolve, reject) => {
      onAbort = () => reject(cancelled());
      signal.addEventListener('abort', onAbort);
      if (signal.aborted) onAbort();
    });
    try {
      return await Promise.race([flight.found, gone]);
    } finally {
      if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
      flight.askers -= 1;
      if (flight.askers === 0) {
        if (signal.aborted && flights.get(host) === flight) flights.delete(host);
        flight.ending.abort();
      }
    }
  };
}

function cancelled(): ErrnoError {
  return new ErrnoError('ECANCELED', { operation: 'connect', reason: 'the client closed early' });
}
