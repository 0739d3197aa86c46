/**
 * The small faults that can be planted in a source, found in its text: `{ kind, at, end, to }`, each to be made alone. What is inside of
 * strings, templates and comments is left: a test that knows the words of a message says nothing about what is done.
 */

import { maskSource } from '../layers/mask.mjs';

const swapped = (...pairs) => {
  const table = new Map([...pairs, ...pairs.map(([one, other]) => [other, one])]);
  return (found) => table.get(found);
};
const nothing = () => '';

/** `what` is found in the masked text; the fault is what `into` makes of it. */
const kinds = {
  boundary: { what: /(?<= )(?:<=?|>=?)(?= )/g, into: swapped(['<', '<='], ['>', '>=']) },
  equality: { what: /(?<= )[!=]==(?= )/g, into: swapped(['===', '!==']) },
  connective: { what: /(?<= )(?:&&|\|\|)(?= )/g, into: swapped(['&&', '||']) },
  default: { what: /(?<= )\?\?(?= )/g, into: () => '&&' },
  negation: { what: /(?<=[\s(])!(?=[\w(])/g, into: nothing },
  condition: { what: /(?<=\bif )\((?:[^()]|\([^()]*\))*\)/g, into: (_found, choose) => choose(['(true)', '(false)']) },
  guard: { what: /^ +if \(.*\) (?:throw|return|continue|break)\b.*;\n/gm, into: nothing },
  call: { what: /^ +(?:await |void )?[\w.#?]+\([^;]*?\);\n/gm, into: nothing },
  assignment: { what: /^ +[\w.#[\]]+ [+-]?= [^;\n]*;\n/gm, into: nothing },
  wait: { what: /\bawait (?!using)/g, into: nothing },
  truth: { what: /(?<=[:=(,] |\(|return )(?:true|false)\b(?=[,;)\s])/g, into: swapped(['true', 'false']) },
  number: { what: /(?<![\w.$])\d+(?![\w.])/g, into: (found) => String(Number(found) + 1) },
  element: { what: /(?<=[[\s])(?:' *'|[\w.]+), (?=[^\n]*\])/g, into: nothing },
  line: {
    what: /^ +(?:\.\.\.)?(?:(?!operation|reason|remedy)\w+: (?![A-Z]|string|number|boolean|readonly|unknown)[^;\n]*|' *'|\w+),\n/gm,
    into: nothing,
  },
  spread: { what: /\.\.\.[\w.]+, |, \.\.\.[\w.]+/g, into: nothing },
  flag: { what: / \| [\w.]*O_\w+/g, into: nothing },
  order: { what: /(?<=\w)\(\w+, \w+\)(?=[;),\]])/g, into: (found) => found.replace(/\((\w+), (\w+)\)/, '($2, $1)') },
  quantity: {
    what: /(?<=\.)(?:some|every|startsWith|endsWith|min|max|first|last)(?=\()/g,
    into: swapped(['some', 'every'], ['startsWith', 'endsWith'], ['min', 'max'], ['first', 'last']),
  },
  step: { what: / [+-] 1\b/g, into: nothing },
};

/** Of a type or an import, over one or several lines: nothing that runs. */
const declaration = /^(?:export )?(?:type|interface|import)\b(?:.*;$|[\s\S]*?\n(?:\}.*| *\|.*;)$)/gm;

/** `choose` draws one of a list. */
export function changesOf(source, choose = ([first]) => first) {
  const masked = maskSource(source);
  const declarations = [...masked.matchAll(declaration)].map(({ index, 0: text }) => [index, index + text.length]);
  const runs = ({ index }) => !declarations.some(([from, to]) => index >= from && index < to);
  return Object.entries(kinds).flatMap(([kind, { what, into }]) =>
    [...masked.matchAll(what)].filter(runs).flatMap(({ index: at, 0: { length } }) => {
      const found = source.slice(at, at + length);
      const to = into(found, choose);
      return to === found ? [] : [{ kind, at, end: at + length, to }];
    }),
  );
}

export function changed(source, { at, end, to }) {
  return source.slice(0, at) + to + source.slice(end);
}
