/**
 * Where a glob pattern starts to look. The fixed part of every alternative is a path like any other; behind it a pattern
 * only ever goes down, unless it holds `..`, which is refused however it is written.
 */
import { globAlternatives, pathBytes } from '../base/limits/objects.js';

export type PatternStarts =
  | { readonly ok: true; readonly starts: readonly string[] }
  | { readonly ok: false; readonly fault: string };

const magic = /[*?[\](){}!+@|\\]/;

interface Group {
  readonly before: string;
  readonly choices: readonly string[];
  readonly after: string;
}

/** The first `{a,b}` of a pattern; braces without a comma are text. */
function firstGroup(pattern: string): Group | undefined {
  for (let open = pattern.indexOf('{'); open >= 0; open = pattern.indexOf('{', open + 1)) {
    const commas: number[] = [];
    let depth = 0;
    for (let at = open; at < pattern.length; at += 1) {
      const character = pattern[at];
      if (character === '{') depth += 1;
      else if (character === ',' && depth === 1) commas.push(at);
      else if (character === '}') {
        depth -= 1;
        if (depth > 0) continue;
        if (commas.length === 0) break;
        const edges = [open, ...commas, at];
        const choices = edges.slice(1).map((edge, index) => pattern.slice((edges[index] ?? 0) + 1, edge));
        return { before: pattern.slice(0, open), choices, after: pattern.slice(at + 1) };
      }
    }
  }
  return undefined;
}

/** Every alternative, or undefined where there are too many to look at. */
function alternatives(pattern: string): readonly string[] | undefined {
  const done: string[] = [];
  const pending = [pattern];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const group = firstGroup(next);
    if (group === undefined) done.push(next);
    else for (const choice of group.choices) pending.push(`${group.before}${choice}${group.after}`);
    if (done.length + pending.length > globAlternatives) return undefined;
  }
  return done;
}

function fixedPart(pattern: string): string {
  const components = pattern.split('/');
  const wild = components.findIndex((component) => magic.test(component));
  const fixed = wild < 0 ? components : components.slice(0, wild);
  const joined = fixed.join('/');
  if (pattern.startsWith('/')) return joined === '' ? '/' : joined;
  return joined === '' ? '.' : joined;
}

/** Groups (`@(a|b)`), as braces: one that may be left out lets its neighbours join. */
function withBraces(pattern: string): string {
  const open = pattern.replace(/[?*]\(/g, '{,').replace(/[@!+]?\(/g, '{');
  return open.replaceAll('|', ',').replaceAll(')', '}');
}

/** Classes and braces can spell a dot (`[.].`): looked at without them. */
function climbs(alternative: string): boolean {
  return alternative.replace(/[[\]{}]/g, '').includes('..');
}

export function patternStarts(pattern: string): PatternStarts {
  if (pattern.length > pathBytes) return { ok: false, fault: `expected a pattern of at most ${pathBytes} characters` };
  const plain = pattern.replaceAll('\\', '');
  const [found, grouped] = [alternatives(plain), alternatives(withBraces(plain))];
  if (found === undefined || grouped === undefined)
    return { ok: false, fault: `expected at most ${globAlternatives} alternatives in a pattern` };
  if (grouped.some(climbs)) return { ok: false, fault: 'expected a pattern without `..`' };
  return { ok: true, starts: [...new Set(found.map(fixedPart))] };
}
