import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ErrnoError } from '../base/errno.js';
import type { Entries } from './checked-face.js';
import { operatorEntries, workspaceEntries } from './entries.js';

const tops: Readonly<Record<string, Entries>> = { workspace: workspaceEntries, ctx: operatorEntries };

/** The entry of `ctx.record().find` or the like, by its names. */
function entryOf([top = '', ...names]: readonly string[]) {
  let at = tops[top];
  for (const [index, name] of names.entries()) {
    const method = at !== undefined && Object.hasOwn(at.methods, name) ? at.methods[name] : undefined;
    if (index === names.length - 1) return method;
    at = method?.gives ?? at?.parts?.[name];
  }
  return undefined;
}

/** Every call that docs/sdk.md names in its table: `.name(` goes on with the object of the call before it. */
function documentedCalls() {
  const text = readFileSync(join(import.meta.dirname, '../../../../docs/sdk.md'), 'utf8');
  const cells = text.split('\n').flatMap((line) => /^\|[^|]+\|([^|]+)\|$/.exec(line)?.[1] ?? []);
  return cells.flatMap((cell) => {
    let object: readonly string[] = [];
    return [...cell.matchAll(/`((?:workspace|ctx)?(?:\.\w+(?:\([^`]*?\))?)+)`/g)].map(([, code = '']) => {
      const parts = [...code.matchAll(/(^\w+)|\.(\w+)(?:\(([^)]*)\))?/g)];
      const names = parts.map(([, first, later = '']) => first ?? later);
      const path = code.startsWith('.') ? [...object, ...names] : names;
      object = path.slice(0, -1);
      return { code, path, given: parts.at(-1)?.[3] ?? '' };
    });
  });
}

describe('the calls of the SDK', () => {
  const calls = documentedCalls().filter(({ path }) => path.length > 1 && path.join('.') !== 'ctx.tools');

  it('that are documented are there', () => {
    assert.ok(calls.length > 80, `${calls.length} calls were found`);
    for (const { code, path } of calls) assert.notEqual(entryOf(path), undefined, `${code}: ${path.join('.')}`);
  });

  it('take every option that is documented', () => {
    const asked = calls.flatMap(({ code, path, given }) => {
      const [before = '', members] = /^(.*?)\{([^}]*)\}/.exec(given)?.slice(1) ?? [];
      const index = before.split(',').length - 1;
      const names = (members ?? '').split(/,| or /).map((name) => name.trim());
      return names.flatMap((name) => (/^\w+$/.test(name) ? [{ code, path, index, name }] : []));
    });
    assert.ok(asked.length > 20, `${asked.length} options were found`);
    for (const { code, path, index, name } of asked) {
      if (name === 'shell' || name === 'as') continue; // forms of their own, and objects that are given
      try {
        entryOf(path)?.takes[index]?.({ [name]: undefined }, code);
      } catch (error) {
        assert.ok(error instanceof ErrnoError);
        assert.doesNotMatch(error.reason, /unknown member/, `${code}: ${name}`);
      }
    }
  });

  it('that are no one’s are not there', () => {
    for (const name of ['constructor', 'inTurn', 'toString', 'unknown'])
      for (const top of Object.keys(tops)) assert.equal(entryOf([top, name]), undefined, `${top}.${name}`);
  });
});
