/**
 * What a supervisor granted a child beyond its parent: a JSON object a line, `{ "by": ..., "excess": ... }`. `ctx agent
 * grant` writes it; a grant names exactly one thing (`authority/excess`), and one that is not an excess any more
 * changes nothing.
 */

import type { SupervisorGrant } from '../authority/authority.js';
import { type Excess, isGrantable } from '../authority/excess.js';
import { isolations } from '../authority/lineage.js';
import { lifetimeFields, quotaFields } from '../authority/quota.js';
import { meaningfulLines, refuseAt } from '../authority/syntax.js';
import { parseJson } from '../base/shape.js';

const operation = 'control file';

type Check = (value: unknown) => boolean;
const isText: Check = (value) => typeof value === 'string' && value !== '';
const isNumber: Check = (value) => typeof value === 'number' && Number.isFinite(value);
const oneOf =
  (words: readonly string[]): Check =>
  (value) =>
    words.some((word) => word === value);

/** The members of each kind that can be granted, beside `kind`. */
const members: { readonly [Kind in Excess['kind']]?: Readonly<Record<string, Check>> } = {
  permission: { rule: isText },
  group: { gid: isNumber },
  'hidden path': { source: isText, target: isText, mode: oneOf(['ro', 'rw']), host: isText },
  'read-only path': { source: isText, target: isText, host: isText },
  'tool path': { path: isText },
  network: { host: isText },
  quota: { field: oneOf(quotaFields), asked: isNumber, held: isNumber },
  lifetime: { field: oneOf(lifetimeFields), asked: isNumber, held: isNumber },
  isolation: { asked: oneOf(isolations), held: oneOf(isolations) },
  'detached life': {},
};

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isExcess(value: unknown): value is Excess {
  if (!isRecord(value)) return false;
  const { kind, ...rest } = value;
  const known = Object.entries(members).find(([name]) => name === kind)?.[1];
  if (known === undefined) return false;
  const names = Object.keys(known);
  const isWhole = Object.keys(rest).length === names.length && names.every((name) => known[name]?.(rest[name]));
  return isWhole && isGrantable(value as unknown as Excess);
}

function parsedJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

export function parseSupervised(text: string, file: string): readonly SupervisorGrant[] {
  return Object.freeze(
    meaningfulLines(operation, text, file).map(({ text: line, number }) => {
      const value = parsedJson(line);
      if (isRecord(value) && Object.keys(value).length === 2) {
        const { by, excess } = value;
        if (typeof by === 'string' && by !== '' && isExcess(excess)) return Object.freeze({ by, excess });
      }
      const expected = 'expected {"by": WHO, "excess": {"kind": ...}} with an excess that a supervisor can grant';
      return refuseAt(operation, { file, line: number, column: 1 }, expected, 'ctx agent grant writes this file');
    }),
  );
}

export function printSupervised(grants: readonly SupervisorGrant[]): string {
  return grants.map(({ by, excess }) => `${JSON.stringify({ by, excess })}\n`).join('');
}
