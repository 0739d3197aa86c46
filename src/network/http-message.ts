/**
 * What a proxy does to a message's head: how long the body is, which fields go on, which end here. Pure. Each side's
 * connection carries one message and is closed, so nothing that follows a message is ever read as another one.
 */
import { hostText, parseTarget, type Target } from './host-name.js';
import { type Field, printHead, type RequestHead, type ResponseHead, refuseMessage, valuesOf } from './http-head.js';

export type Framing =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunked' }
  | { readonly kind: 'until close' };

const hopByHop: ReadonlySet<string> = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Naming one of these in `Connection` would have a proxy remove what a message's meaning rests on. */
const neverHopByHop: readonly string[] = ['host', 'content-length', 'authorization', 'cookie'];

function statedFraming(fields: readonly Field[]): Framing | undefined {
  const lengths = valuesOf(fields, 'content-length');
  const encodings = valuesOf(fields, 'transfer-encoding');
  if (lengths.length > 0 && encodings.length > 0) {
    return refuseMessage('expected either Content-Length or Transfer-Encoding, got both');
  }
  if (encodings.length > 0) {
    if (encodings.length > 1 || encodings[0]?.toLowerCase() !== 'chunked') {
      return refuseMessage('expected no Transfer-Encoding but chunked');
    }
    return { kind: 'chunked' };
  }
  if (lengths.length === 0) return undefined;
  const [length = ''] = lengths;
  if (lengths.length > 1 || !/^(?:0|[1-9][0-9]{0,14})$/.test(length)) {
    return refuseMessage('expected one Content-Length in decimal digits');
  }
  return { kind: 'length', bytes: Number(length) };
}

export function requestFraming({ version, fields }: RequestHead): Framing {
  const framing = statedFraming(fields);
  if (framing?.kind === 'chunked' && version === '1.0') refuseMessage('expected HTTP/1.1 with chunks');
  return framing ?? { kind: 'none' };
}

export function responseFraming(method: string, { status, fields }: ResponseHead): Framing {
  const framing = statedFraming(fields);
  if (method === 'HEAD' || status === 204 || status === 304) return { kind: 'none' };
  return framing ?? { kind: 'until close' };
}

/** The fields that go on, without those that are between two neighbours only. */
export function endToEnd(fields: readonly Field[]): Field[] {
  const named = valuesOf(fields, 'connection')
    .flatMap((value) => value.split(','))
    .map((name) => name.trim().toLowerCase());
  if (named.some((name) => neverHopByHop.includes(name))) {
    return refuseMessage('expected Connection not to name a field that the message needs');
  }
  return fields.filter(([name]) => !hopByHop.has(name.toLowerCase()) && !named.includes(name.toLowerCase()));
}

export interface ProxyTarget extends Target {
  /** What the host itself is asked for. */
  readonly path: string;
}

/** A head is read byte by byte; a name in UTF-8 is put together again. */
function nameIn(head: string): string {
  return hostText(Buffer.from(head, 'latin1'));
}

/** `host:port`, as in CONNECT. */
export function parseAuthorityTarget(text: string): Target {
  return parseTarget(nameIn(text));
}

/** `http://host:port/path`, as a client asks a proxy. */
export function parseAbsoluteTarget(text: string): ProxyTarget {
  if (text.startsWith('/') || text === '*') {
    return refuseMessage('this is a proxy: expected an absolute http:// address, or CONNECT');
  }
  if (/^https:/i.test(text)) return refuseMessage('expected CONNECT for an https:// address');
  // wget tells a proxy the name and password of an address, too, and sends them to the host as a header.
  const match = /^http:\/\/(?:[\w.~!$&'()*+,;=:%-]*@)?([^/?#]+)([/?][^#]*)?$/i.exec(text);
  if (match === null) return refuseMessage('expected an http:// address with a host');
  const [, authority = '', rest = '/'] = match;
  return { ...parseTarget(nameIn(authority), 80), path: rest.startsWith('/') ? rest : `/${rest}` };
}

export interface RequestChanges {
  /** Fields of this name are not the client's to send. */
  readonly drops: (name: string) => boolean;
  readonly added: readonly Field[];
}

/** The `Host` is the target's, whatever the client's said: what was judged is what is asked for. */
export function outgoingRequest(
  head: RequestHead,
  target: { readonly hostField: string; readonly path: string },
  framing: Framing,
  changes: RequestChanges,
): string {
  if (valuesOf(head.fields, 'host').length > 1) refuseMessage('expected one Host');
  const fields: Field[] = [
    ['Host', target.hostField],
    ...endToEnd(head.fields).filter(([name]) => name.toLowerCase() !== 'host' && !changes.drops(name)),
    ...changes.added,
    ...(framing.kind === 'chunked' ? [['Transfer-Encoding', 'chunked'] as const] : []),
    ['Connection', 'close'],
  ];
  return printHead(`${head.method} ${target.path} HTTP/${head.version}`, fields);
}

export function outgoingResponse(head: ResponseHead, framing: Framing): string {
  const interim = head.status < 200;
  return printHead(`HTTP/1.1 ${head.status} ${head.phrase}`, [
    ...endToEnd(head.fields),
    ...(framing.kind === 'chunked' ? [['Transfer-Encoding', 'chunked'] as const] : []),
    ...(interim ? [] : [['Connection', 'close'] as const]),
  ]);
}
