/**
 * The head of an HTTP/1 message, read strictly. What two readers could understand differently (a bare line feed, a
 * folded line, a blank before a colon, NUL) is refused, so that nothing can be smuggled past one of them. Pure.
 */
import { ErrnoError } from '../base/errno.js';
import type { Taken } from './inbox.js';

export type Field = readonly [name: string, value: string];

export interface RequestHead {
  readonly method: string;
  readonly target: string;
  readonly version: '1.0' | '1.1';
  readonly fields: readonly Field[];
}

export interface ResponseHead {
  readonly status: number;
  readonly phrase: string;
  readonly fields: readonly Field[];
}

export function refuseMessage(reason: string): never {
  throw new ErrnoError('EINVAL', { operation: 'http', reason });
}

/** Finds the end of a head, looking at each byte once however slowly they come. The text is without its last CRLFCRLF. */
export function headScanner(): (bytes: Buffer) => Taken<string> | undefined {
  let lineStart = 0;
  let from = 0;
  return (bytes) => {
    for (;;) {
      const feed = bytes.indexOf(0x0a, from);
      if (feed < 0) {
        from = bytes.length;
        return undefined;
      }
      if (feed === 0 || bytes[feed - 1] !== 0x0d) refuseMessage('expected lines that end in CR LF');
      if (feed - 1 === lineStart) {
        if (lineStart === 0) refuseMessage('expected a first line');
        return { value: bytes.toString('latin1', 0, lineStart - 2), used: feed + 1 };
      }
      lineStart = feed + 1;
      from = lineStart;
    }
  };
}

const fieldLine =
  /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*((?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?)[ \t]*$/;

function parseFields(lines: readonly string[]): Field[] {
  return lines.map((line): Field => {
    if (/^[ \t]/.test(line)) return refuseMessage('expected no folded header lines');
    const match = fieldLine.exec(line);
    if (match === null) return refuseMessage('expected header lines of the form name: value');
    return [match[1] ?? '', match[2] ?? ''];
  });
}

export function parseRequestHead(text: string): RequestHead {
  const [first = '', ...lines] = text.split('\r\n');
  const match = /^([A-Z][A-Z-]{0,31}) ([\x21-\x7e\x80-\xff]+) HTTP\/(1\.[01])$/.exec(first);
  if (match === null) return refuseMessage('expected METHOD TARGET HTTP/1.1');
  const [, method = '', target = '', version] = match;
  return { method, target, version: version === '1.0' ? '1.0' : '1.1', fields: parseFields(lines) };
}

export function parseResponseHead(text: string): ResponseHead {
  const [first = '', ...lines] = text.split('\r\n');
  const match = /^HTTP\/1\.[01] ([1-9][0-9]{2})(?: ([\t\x20-\x7e\x80-\xff]*))?$/.exec(first);
  if (match === null) return refuseMessage('expected HTTP/1.1 STATUS');
  return { status: Number(match[1]), phrase: match[2] ?? '', fields: parseFields(lines) };
}

export function valuesOf(fields: readonly Field[], name: string): string[] {
  return fields.filter(([each]) => each.toLowerCase() === name).map(([, value]) => value);
}

export function printHead(first: string, fields: readonly Field[]): string {
  return [first, ...fields.map(([name, value]) => `${name}: ${value}`), '', ''].join('\r\n');
}
