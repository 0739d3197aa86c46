/**
 * A proxy as sandboxes have had them, to show what attacks on names are worth: it judges the text that it is sent, and connects to
 * what somebody else reads in that text. Speaks CONNECT and plain HTTP, and passes everything after the head on as it is.
 */
import { lookup } from 'node:dns/promises';
import { connect, createServer, type Socket } from 'node:net';
import { type Listening, listen } from '../../src/network/proxy-fixture.js';

/** Ways to find a granted host in a text; the last asks only whether it is one of this machine's usual names. */
export const judges = {
  nothing: () => true,
  'how it begins': (text: string, granted: string) => text.startsWith(granted),
  'how it ends': (text: string, granted: string) => text.endsWith(granted),
  'what stands in it': (text: string, granted: string) => text.includes(granted),
  'what stands before a NUL': (text: string, granted: string) => text.split('\0')[0] === granted,
  'a list of bad ones': (text: string) => !/^(?:localhost|127\.0\.0\.1|\[?::1\]?|0\.0\.0\.0)$/i.test(text),
} as const;

/** What others make of the same text. */
export const readings = {
  'as it is': (text: string) => text,
  'as C does': (text: string) => text.split('\0')[0] ?? '',
  'as a URL': (text: string) => urlHost(text),
  'as a URL, escapes resolved': (text: string) => urlHost(unescaped(text).split('\0')[0] ?? ''),
  'as the second word': (text: string) => text.split(/\s/)[1] ?? '',
} as const;

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Node's parser of URLs: user names, fragments, wide digits, dots of other scripts, one number for four. */
function urlHost(text: string): string {
  const url = `http://${text}/`;
  return URL.canParse(url) ? new URL(url).hostname : '';
}

export interface Carelessness {
  readonly judge: keyof typeof judges;
  readonly reading: keyof typeof readings;
}

export interface CarelessOptions extends Carelessness {
  readonly granted: string;
  /** Names and their addresses; every other name is asked of the host, which also reads odd notations of addresses. */
  readonly resolve: (name: string) => string | undefined;
  /** A check of the name's address, by a resolution of its own: the connection is made by another. */
  readonly allowsAddress?: (address: string) => boolean;
}

async function addressOf(name: string, { resolve }: CarelessOptions): Promise<string> {
  const bare = name.replace(/^\[|\]$/g, '');
  return resolve(bare) ?? (await lookup(bare)).address;
}

const head = /^(?:CONNECT |GET http:\/\/)(.*):(\d+)(?:\/\S*)? HTTP\/1\.1\r\n(?:[^\r\n]+\r\n)*\r\n/u;

async function serve(client: Socket, first: Buffer, options: CarelessOptions): Promise<void> {
  const text = first.toString('utf8');
  const [whole = '', host = '', port = ''] = head.exec(text) ?? [];
  if (!judges[options.judge](host, options.granted)) return void client.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  const name = readings[options.reading](host);
  if (options.allowsAddress?.(await addressOf(name, options)) === false)
    return void client.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  const server = connect(Number(port), await addressOf(name, options));
  server.on('error', () => client.destroy());
  if (whole.startsWith('CONNECT')) client.write('HTTP/1.1 200 OK\r\n\r\n');
  const rest = whole.startsWith('CONNECT') ? Buffer.from(text.slice(whole.length)) : first;
  if (rest.length > 0) server.write(rest);
  client.pipe(server).pipe(client);
}

export function startCareless(options: CarelessOptions): Promise<Listening> {
  return listen(
    createServer({ allowHalfOpen: true }, (client) => {
      client.once('data', (first: Buffer) => {
        client.pause();
        serve(client, first, options).catch(() => client.destroy());
      });
    }),
  );
}

/** The first way to be fooled by this name: judged well, and read as a host that is not the granted one. */
export function fooledBy(
  host: string,
  { granted, isBad }: { readonly granted: string; readonly isBad: (name: string) => boolean },
): Carelessness | undefined {
  for (const judge of Object.keys(judges) as (keyof typeof judges)[]) {
    if (judge === 'nothing' || !judges[judge](host, granted)) continue;
    for (const reading of Object.keys(readings) as (keyof typeof readings)[]) {
      const name = readings[reading](host).replace(/^\[|\]$/g, '');
      if (name !== '' && isBad(name)) return { judge, reading };
    }
  }
  return undefined;
}
