import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { inCheckout } from '../setup/checkout.mjs';
import { changed, changesOf } from './changes.mjs';
import { drawnRows } from './drawn.mjs';

/** What a source can become by one fault of a kind. */
const becomes = (source, kind) =>
  changesOf(source)
    .filter((each) => each.kind === kind)
    .map((each) => changed(source, each));

it('a source becomes each of its faults alone', () => {
  for (const [kind, source, ...expected] of [
    ['boundary', 'a < b && c >= d;', 'a <= b && c >= d;', 'a < b && c > d;'],
    ['equality', 'a === b || c !== d;', 'a !== b || c !== d;', 'a === b || c === d;'],
    ['connective', 'a && b || c;', 'a || b || c;', 'a && b && c;'],
    ['default', 'f(a ?? b);', 'f(a && b);'],
    ['negation', 'if (!a || !(b !== c)) d();', 'if (a || !(b !== c)) d();', 'if (!a || (b !== c)) d();'],
    ['condition', 'if (f(a) > 1) b();', 'if (true) b();'],
    ['guard', '  if (a) throw b();\n  c();\n', '  c();\n'],
    ['call', '  await a.b(\n    c,\n  );\n  const d = e();\n', '  const d = e();\n'],
    ['assignment', '  this.#a = b;\n  const c = d;\n', '  const c = d;\n'],
    ['wait', 'const a = await b();', 'const a = b();'],
    ['truth', 'f({ a: true, b: false });', 'f({ a: false, b: false });', 'f({ a: true, b: true });'],
    ['number', 'a1.slice(0, 12);', 'a1.slice(1, 12);', 'a1.slice(0, 13);'],
    ['element', "const a = ['b', c, d];", 'const a = [c, d];', "const a = ['b', d];"],
    ['line', '  {\n    a: b(),\n    c,\n  }\n', '  {\n    c,\n  }\n', '  {\n    a: b(),\n  }\n'],
    ['spread', '[...a, b, ...c.d]', '[b, ...c.d]', '[...a, b]'],
    ['flag', 'open(a, O_RDONLY | constants.O_NOFOLLOW);', 'open(a, O_RDONLY);'],
    ['order', 'return f(a, b);', 'return f(b, a);'],
    ['quantity', 'a.some(b) || Math.min(c, d);', 'a.every(b) || Math.min(c, d);', 'a.some(b) || Math.max(c, d);'],
    ['step', 'a.slice(b + 1);', 'a.slice(b);'],
  ]) {
    assert.deepEqual(becomes(source, kind), expected, kind);
  }
});

it('words, comments and types are left alone', () => {
  for (const source of [
    "throw new E('a < b && !c is true, 1 of 2');",
    '// a === b ?? c\n/* if (x) return; */',
    'const a = `a && b`;',
    'export interface A {\n  readonly a: true;\n  b(c: 1): 2;\n}\n',
    "type A = { a: 1 } | { b: true };\nimport { b, c } from './d.js';\n",
    '  host: Host,\n  name: string,\n',
  ]) {
    assert.deepEqual(changesOf(source), [], source);
  }
});

it('a seed draws the same faults again, each once, as rows that can be planted', () => {
  const draw = (seed) => [...drawnRows('src/workspace', ['workspace/'], seed)];
  const rows = draw('1');
  assert.ok(rows.length > 200, `${rows.length} faults`);
  assert.deepEqual(rows, draw('1'));
  assert.notDeepEqual(rows, draw('2'));
  const sources = new Map();
  for (const { file, from, to } of rows) {
    if (!sources.has(file)) sources.set(file, readFileSync(inCheckout(file), 'utf8'));
    assert.equal(sources.get(file).split(from).length, 2, `${file}: ${from}`);
    assert.notEqual(from, to);
  }
});
