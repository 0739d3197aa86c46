/**
 * A host as a client names it, brought to the one form that grants are written in (src/authority/network.ts): lower
 * case, ASCII labels, no final dot, IPv4 as four decimal numbers, IPv6 in brackets. What could be read as one host here
 * and as another by a resolver or a person is refused, never guessed at.
 */
import { domainToASCII, domainToUnicode } from 'node:url';
import { quoted } from '../authority/syntax.js';
import { ErrnoError } from '../base/errno.js';
import { addressBytes } from './address.js';

export interface Target {
  /** In canonical form. */
  readonly host: string;
  readonly port: number;
}

const nameCharacters = 253;
const label = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
const numericLabel = /^(?:[0-9]+|0x[0-9a-f]*)$/;

function refuse(text: string, reason: string): never {
  throw new ErrnoError('EINVAL', { operation: 'connect', reason: `${reason}, got ${quoted(text)}` });
}

/** Bytes of a message as text; what is neither ASCII nor UTF-8 is refused. */
export function hostText(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return refuse(bytes.toString('latin1'), 'expected a host in ASCII or UTF-8');
  }
}

/**
 * A label that is not ASCII has to be its own normal form and to become an `xn--` label: characters that only look like
 * others (full-width digits and letters, the Kelvin sign, ideographic dots) turn into plain ASCII and end here.
 */
function asciiLabel(part: string, whole: string): string {
  if (/^[\x00-\x7f]*$/.test(part)) {
    const lower = part.toLowerCase();
    if (lower.startsWith('xn--') && domainToASCII(lower) !== lower) refuse(whole, 'expected a valid xn-- label');
    return lower;
  }
  const ascii = domainToASCII(part);
  if (!ascii.startsWith('xn--') || ascii.includes('.') || domainToUnicode(ascii) !== part.toLowerCase()) {
    refuse(whole, 'expected an international name in its normal form');
  }
  return ascii;
}

function address6(text: string): string {
  const inner = text.slice(1, -1);
  if (!text.endsWith(']') || addressBytes(inner)?.length !== 16) {
    refuse(text, 'expected an IPv6 address in brackets, without a zone');
  }
  return new URL(`http://${text}/`).hostname;
}

export function parseHost(text: string): string {
  if (text.startsWith('[')) return address6(text);
  // Before any conversion: none of these belongs to a name, and converters drop or map some of them.
  if (/[\x00-\x20\x7f%@:/?#\\[\]<>^|"'`{},;*]/.test(text)) refuse(text, 'expected a plain host name');
  if (/[\p{C}\p{Z}]/u.test(text)) refuse(text, 'expected a host name without invisible characters');
  const whole = text.endsWith('.') ? text.slice(0, -1) : text;
  if (whole.length > nameCharacters) refuse(text, `expected a host name of at most ${nameCharacters} characters`);
  if (addressBytes(whole)?.length === 4) return whole;
  const labels = whole.split('.').map((part) => asciiLabel(part, text));
  // A last label of digits or 0x is read as an address by URL parsers and by libc: 127.1, 0x7f.1, 2130706433.
  if (numericLabel.test(labels.at(-1) ?? '')) refuse(text, 'expected an IPv4 address as four decimal numbers');
  const name = labels.join('.');
  if (name.length > nameCharacters) refuse(text, `expected a host name of at most ${nameCharacters} characters`);
  if (!labels.every((part) => label.test(part))) {
    refuse(text, 'expected labels of 1 to 63 letters, digits, - and _, divided by dots');
  }
  return name;
}

function parsePort(text: string): number {
  if (!/^[1-9][0-9]{0,4}$/.test(text) || Number(text) > 65_535) refuse(text, 'expected a port from 1 to 65535');
  return Number(text);
}

/** `host:port`; without a port only where there is a default. */
export function parseTarget(text: string, defaultPort?: number): Target {
  // Not one within brackets.
  const colon = text.indexOf(':', text.indexOf(']'));
  if (colon !== -1) return { host: parseHost(text.slice(0, colon)), port: parsePort(text.slice(colon + 1)) };
  if (defaultPort === undefined) refuse(text, 'expected host:port');
  return { host: parseHost(text), port: defaultPort };
}

/** The address that a canonical host is; undefined for a name. */
export function literalAddress(host: string): string | undefined {
  if (host.startsWith('[')) return host.slice(1, -1);
  return addressBytes(host) === undefined ? undefined : host;
}
