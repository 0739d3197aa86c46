/**
 * Cap v0: what a tool needs, one line each. It grants nothing by itself: anyone who installs the tool decides by
 * installing it.
 *
 *     fs.read PATH                       a path of the host, read-only, at its own place
 *     fs.write PATH                      the same, written directly
 *     net.connect HOST:PORT [private]    one host; with `private`, also where it is at a loopback or private address
 *     secret NAME HOST[:PORT] HEADER [SCHEME]   a stored secret, in a header of requests to that host: `Authorization Bearer`
 *     tool NAME, model NAME              what it calls itself
 *     fork ro|rw                         the caller's fork; without it, none of its files
 *     quota KIND N                       as the `quota` file of an agent
 *
 * There is nothing else, and no word of it is passed over: an unknown one is EINVAL. Pure.
 */

import { ErrnoError } from '../base/errno.js';
import { isNormalPath, normalPathRule } from './absolute-path.js';
import { isModelName, isObjectName, modelNameRule, objectNameRule } from './name.js';
import { parseHostPort } from './network.js';
import { makeQuota, type QuotaField, quotaFields } from './quota.js';
import { type Line, meaningfulLines, quoted, refuseAt, type SourceWord, wordsOf } from './syntax.js';

export type ToolCapability =
  | { readonly kind: 'fs.read' | 'fs.write'; readonly path: string }
  | { readonly kind: 'net.connect'; readonly host: string; readonly isPrivate: boolean }
  | {
      readonly kind: 'secret';
      readonly name: string;
      readonly host: string;
      readonly port: number;
      readonly header: string;
      readonly scheme: string | undefined;
    }
  | { readonly kind: 'tool' | 'model'; readonly name: string }
  | { readonly kind: 'fork'; readonly access: 'ro' | 'rw' }
  | { readonly kind: 'quota'; readonly field: QuotaField; readonly value: number };

const operation = 'parse capabilities';
const secretName = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
const headerName = /^[A-Za-z0-9-]{1,64}$/;
const schemeName = /^[A-Za-z][A-Za-z0-9-]{0,31}$/;
const httpsPort = 443;

type Reader = (words: readonly SourceWord[], fail: (reason: string, index?: number) => never) => ToolCapability;

function count(
  words: readonly SourceWord[],
  least: number,
  most: number,
  form: string,
  fail: (reason: string) => never,
): void {
  if (words.length < least || words.length > most) fail(`expected \`${form}\``);
}

function pathOf(kind: 'fs.read' | 'fs.write'): Reader {
  return (words, fail) => {
    count(words, 1, 1, `${kind} PATH`, fail);
    const path = words[0]?.text ?? '';
    return isNormalPath(path) ? { kind, path } : fail(`expected ${normalPathRule}, got ${quoted(path)}`, 0);
  };
}

/** With the port of HTTPS where none is said. */
function hostAndPort(text: string, fail: (reason: string, index?: number) => never, index: number): string {
  try {
    return parseHostPort(/:\d+$/.test(text) ? text : `${text}:${httpsPort}`);
  } catch (error) {
    return fail(error instanceof ErrnoError ? error.reason : String(error), index);
  }
}

const readers: Readonly<Record<string, Reader>> = {
  'fs.read': pathOf('fs.read'),
  'fs.write': pathOf('fs.write'),
  'net.connect': (words, fail) => {
    count(words, 1, 2, 'net.connect HOST:PORT [private]', fail);
    const isPrivate = words.length === 2;
    if (isPrivate && words[1]?.text !== 'private') fail(`expected \`private\`, got ${quoted(words[1]?.text ?? '')}`, 1);
    return { kind: 'net.connect', host: hostAndPort(words[0]?.text ?? '', fail, 0), isPrivate };
  },
  secret: (words, fail) => {
    count(words, 3, 4, 'secret NAME HOST[:PORT] HEADER [SCHEME]', fail);
    const [name = '', place = '', header = '', scheme] = words.map(({ text }) => text);
    if (!secretName.test(name)) fail(`expected the name of a stored secret, got ${quoted(name)}`, 0);
    if (!headerName.test(header)) fail(`expected the name of a header, got ${quoted(header)}`, 2);
    if (scheme !== undefined && !schemeName.test(scheme)) fail(`expected a word like Bearer, got ${quoted(scheme)}`, 3);
    const whole = hostAndPort(place, fail, 1);
    const colon = whole.lastIndexOf(':');
    return { kind: 'secret', name, host: whole.slice(0, colon), port: Number(whole.slice(colon + 1)), header, scheme };
  },
  tool: (words, fail) => {
    count(words, 1, 1, 'tool NAME', fail);
    const name = words[0]?.text ?? '';
    return isObjectName(name) ? { kind: 'tool', name } : fail(`expected ${objectNameRule}`, 0);
  },
  model: (words, fail) => {
    count(words, 1, 1, 'model NAME', fail);
    const name = words[0]?.text ?? '';
    return isModelName(name) ? { kind: 'model', name } : fail(`expected ${modelNameRule}`, 0);
  },
  fork: (words, fail) => {
    const access = words[0]?.text;
    if (words.length !== 1 || (access !== 'ro' && access !== 'rw')) return fail('expected `fork ro` or `fork rw`');
    return { kind: 'fork', access };
  },
  quota: (words, fail) => {
    count(words, 2, 2, 'quota KIND N', fail);
    const field = quotaFields.find((known) => known === words[0]?.text);
    if (field === undefined) return fail(`expected one of ${quotaFields.join(', ')}`, 0);
    const text = words[1]?.text ?? '';
    if (!/^(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/.test(text)) return fail(`expected a number, got ${quoted(text)}`, 1);
    try {
      makeQuota({ [field]: Number(text) });
    } catch (error) {
      return fail(error instanceof ErrnoError ? error.reason : String(error), 1);
    }
    return { kind: 'quota', field, value: Number(text) };
  },
};

function parseLine(file: string, line: Line): ToolCapability {
  const [verb, ...words] = wordsOf(line.text);
  const word = verb?.text ?? '';
  const fail = (reason: string, index = -1): never => {
    const column = (index < 0 ? verb : words[index])?.column ?? line.text.length + 1;
    return refuseAt(operation, { file, line: line.number, column }, reason);
  };
  const reader = Object.hasOwn(readers, word) ? readers[word] : undefined;
  return reader === undefined
    ? fail(`expected one of ${Object.keys(readers).join(', ')}, got ${quoted(word)}`)
    : reader(words, fail);
}

/** EINVAL with file, line and column; what only one line may say is said once. */
export function parseCapabilities(text: string, file: string): readonly ToolCapability[] {
  const said = new Set<string>();
  return Object.freeze(
    meaningfulLines(operation, text, file).map((line) => {
      const made = Object.freeze(parseLine(file, line));
      const key = made.kind === 'fork' ? 'fork' : made.kind === 'quota' ? `quota ${made.field}` : undefined;
      if (key !== undefined && said.has(key)) {
        refuseAt(operation, { file, line: line.number, column: 1 }, `expected ${key} once`);
      }
      if (key !== undefined) said.add(key);
      return made;
    }),
  );
}
