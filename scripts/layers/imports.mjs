/** Finds what a TypeScript file imports: static, re-exported, dynamic, type-only, `import('x').T` and `require`. */

import { maskSource } from './mask.mjs';

const patterns = [
  // import 'y'; import x from 'y'; import type { X } from 'y'; export * from 'y'; export { x } from 'y'
  { pattern: /(?<![\w$.])(?:import|export)\b(?:[\s\w$*,{}]*?\bfrom)?\s*(?=['"])/g, kind: 'static' },
  { pattern: /(?<![\w$.])import\s*\(\s*/g, kind: 'dynamic' },
  { pattern: /(?<![\w$.])require\s*\(\s*/g, kind: 'require' },
];

/**
 * Each import as `{ specifier, line, typeOnly }`, in the order of the file. `specifier` is undefined where it is
 * computed. An `import('x')` in a type cannot be distinguished from one in code here, so it counts as code.
 */
export function importsOf(source, masked = maskSource(source)) {
  const found = new Map();
  for (const { pattern, kind } of patterns) {
    for (const match of masked.matchAll(pattern)) {
      const at = match.index + match[0].length;
      if (found.has(at)) continue;
      found.set(at, {
        specifier: stringAt(source, masked, at),
        line: lineOf(source, match.index),
        typeOnly: kind === 'static' && isTypeOnly(match[0]),
      });
    }
  }
  return [...found.entries()].sort(([left], [right]) => left - right).map(([, value]) => value);
}

export function lineOf(source, offset) {
  return source.slice(0, offset).split('\n').length;
}

/** `import type ...`, or braces in which every name is marked as a type. */
function isTypeOnly(statement) {
  if (/^(?:import|export)\s+type\b(?!\s*from)/.test(statement)) return true;
  const names = /^(?:import|export)\s*\{([^}]*)\}/.exec(statement)?.[1];
  const listed = names?.split(',').filter((name) => name.trim() !== '');
  return listed !== undefined && listed.length > 0 && listed.every((name) => /^\s*type\s/.test(name));
}

function stringAt(source, masked, at) {
  const quote = masked[at];
  if (quote !== "'" && quote !== '"' && quote !== '`') return undefined;
  const end = masked.indexOf(quote, at + 1);
  return end === -1 || (quote === '`' && source.slice(at, end).includes('${')) ? undefined : source.slice(at + 1, end);
}
