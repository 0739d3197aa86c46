/**
 * The small control files: one value, or one a line. A final newline is allowed. Every refusal names file, line and
 * column.
 */

import { isNormalPath, normalPathRule } from '../authority/absolute-path.js';
import { type SiblingChoice, siblingChoices } from '../authority/agent.js';
import { isModelName, modelNameRule } from '../authority/name.js';
import { hostNetwork, type Network } from '../authority/network.js';
import { type Lifetime, lifetimeFields, makeLifetime, makeQuota, type Quota, quotaFields } from '../authority/quota.js';
import { type Line, meaningfulLines, quoted, refuseAt, type SourcePlace, wordsOf } from '../authority/syntax.js';
import { expandPath } from '../authority/tooling-paths.js';
import { ErrnoError } from '../base/errno.js';
import { parseJson } from '../base/shape.js';

const operation = 'control file';

/** Runs a parser that knows no files, and says where its refusal belongs. */
export function located<T>(file: string, line: number, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof ErrnoError) || error.code !== 'EINVAL') throw error;
    return refuseAt(operation, { file, line, column: 1 }, error.reason, error.remedy);
  }
}

export function singleLine(text: string, file: string): string {
  const line = text.endsWith('\n') ? text.slice(0, -1) : text;
  const end = line.indexOf('\n');
  if (end >= 0) refuseAt(operation, { file, line: 2, column: 1 }, 'expected one line');
  const nul = line.indexOf('\0');
  if (nul >= 0) refuseAt(operation, { file, line: 1, column: nul + 1 }, 'expected a line without NUL');
  return line;
}

function linesOf(text: string, file: string): Line[] {
  return meaningfulLines(operation, text, file);
}

const lastId = 0xfffffffe;

function idAt(text: string, place: SourcePlace): number {
  if (/^(?:0|[1-9][0-9]{0,9})$/.test(text) && Number(text) <= lastId) return Number(text);
  return refuseAt(operation, place, `expected a number from 0 to ${lastId}, got ${quoted(text)}`);
}

export function parseId(text: string, file: string): number {
  return idAt(singleLine(text, file), { file, line: 1, column: 1 });
}

export function parseGroups(text: string, file: string): readonly number[] {
  return Object.freeze(linesOf(text, file).map((line) => idAt(line.text, { file, line: line.number, column: 1 })));
}

export function parsePath(text: string, file: string): string {
  const path = singleLine(text, file);
  if (isNormalPath(path)) return path;
  return refuseAt(operation, { file, line: 1, column: 1 }, `expected ${normalPathRule}, got ${quoted(path)}`);
}

export function parseOptionalPath(text: string, file: string): string | undefined {
  return singleLine(text, file) === '' ? undefined : parsePath(text, file);
}

export function parsePaths(text: string, file: string): readonly string[] {
  return Object.freeze(
    linesOf(text, file).map(({ text: path, number }) => {
      const place = { file, line: number, column: 1 };
      // It becomes CTX_PATH, where a colon is between two.
      if (path.includes(':')) refuseAt(operation, place, `expected a path without a colon, got ${quoted(path)}`);
      return isNormalPath(path) ? path : refuseAt(operation, place, `expected ${normalPathRule}, got ${quoted(path)}`);
    }),
  );
}

/** Paths that may start with a variable of the closed set; whether it is set is found when a command runs. */
export function parseTemplates(text: string, file: string): readonly string[] {
  return Object.freeze(
    linesOf(text, file).map(({ text: template, number }) => {
      located(file, number, () => expandPath(template, {}));
      if (template.startsWith('$') || isNormalPath(template)) return template;
      const expected = `${normalPathRule}, or one that starts with a variable such as $HOME`;
      return refuseAt(operation, { file, line: number, column: 1 }, `expected ${expected}, got ${quoted(template)}`);
    }),
  );
}

export function parseSiblings(text: string, file: string): SiblingChoice {
  const word = singleLine(text, file);
  const choice = siblingChoices.find((known) => known === (word === '' ? 'none' : word));
  const place = { file, line: 1, column: 1 };
  return choice ?? refuseAt(operation, place, `expected one of ${siblingChoices.join(', ')}, got ${quoted(word)}`);
}

export function parseModels(text: string, file: string): readonly string[] {
  return Object.freeze(
    linesOf(text, file).map(({ text: name, number }) =>
      isModelName(name)
        ? name
        : refuseAt(operation, { file, line: number, column: 1 }, `expected ${modelNameRule}, got ${quoted(name)}`),
    ),
  );
}

/** `NAME=VALUE` a line; a value is what follows, to the end of the line. */
export function parseEnvironment(text: string, file: string): Readonly<Record<string, string>> {
  const variables = new Map<string, string>();
  for (const { text: line, number } of linesOf(text, file)) {
    const place = { file, line: number, column: 1 };
    const match = /^([A-Za-z_][A-Za-z0-9_]*)=([^\0]*)$/.exec(line);
    const [, name = '', value = ''] =
      match ?? refuseAt(operation, place, `expected NAME=VALUE without NUL, got ${quoted(line)}`);
    if (variables.has(name)) refuseAt(operation, place, `expected ${name} once`);
    variables.set(name, value);
  }
  return Object.freeze(Object.fromEntries(variables));
}

/** `host:port` a line; an empty file says nothing, so the policy decides. */
export function parseHosts(text: string, file: string): Network | undefined {
  const lines = linesOf(text, file);
  if (lines.length === 0) return undefined;
  return hostNetwork(
    lines.flatMap(({ text: host, number }) =>
      located(file, number, () => (hostNetwork([host]).kind === 'hosts' ? [host] : [])),
    ),
  );
}

function parseNumbers<Field extends string>(
  text: string,
  file: string,
  fields: readonly Field[],
): Partial<Record<Field, number>> {
  const numbers: Partial<Record<Field, number>> = {};
  for (const { text: line, number } of linesOf(text, file)) {
    const [name, value, extra] = wordsOf(line);
    const at = (column: number): SourcePlace => ({ file, line: number, column });
    const field = fields.find((known) => known === name?.text);
    if (field === undefined || numbers[field] !== undefined) {
      return refuseAt(
        operation,
        at(name?.column ?? 1),
        `expected each of ${fields.join(', ')} at most once, got ${quoted(line)}`,
      );
    }
    if (value === undefined || extra !== undefined || !/^(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/.test(value.text)) {
      return refuseAt(operation, at(value?.column ?? line.length + 1), `expected one number after ${field}`);
    }
    numbers[field] = Number(value.text);
  }
  return numbers;
}

export function parseQuota(text: string, file: string): Quota {
  const numbers = parseNumbers(text, file, quotaFields);
  return located(file, 1, () => makeQuota(numbers));
}

export function parseExpiry(text: string, file: string): Lifetime {
  const numbers = parseNumbers(text, file, lifetimeFields);
  return located(file, 1, () => makeLifetime(numbers));
}

export function parseObject(text: string, file: string): Readonly<Record<string, unknown>> {
  const fail = (reason: string): never => refuseAt(operation, { file, line: 1, column: 1 }, reason);
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    return fail(`expected JSON: ${error instanceof Error ? error.message : 'not JSON'}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return fail('expected a JSON object');
  return Object.freeze(value as Record<string, unknown>);
}
