/**
 * Texts of ours that a person can read, found in the sources: what errors say and advise, help, reports, questions. Pure: source
 * text in, messages out. A text counts by its place (`reason`, `summary`, a call that prints) or by its words: a phrase of
 * English. What is only for programs (regular expressions, paths, lists of program names) has neither.
 */
import { lineOf } from '../layers/imports.mjs';
import { maskSource } from '../layers/mask.mjs';

/** @typedef {{ file: string, line: number, kind: string, text: string }} Message */

const named = new Map([
  ['reason', 'error'],
  ['remedy', 'remedy'],
  ['summary', 'help'],
  ['details', 'help'],
  ['description', 'help'],
  ['title', 'help'],
]);
const calls = new Map([
  ['refuse', 'error'],
  ['print', 'output'],
  ['printError', 'output'],
]);
const namedBefore = new RegExp(`\\b(${[...named.keys()].join('|')}):\\s*\\[?[^,;{}]*$`);
const calledBefore = new RegExp(`\\b(${[...calls.keys()].join('|')})\\((?:[^,;{}()]*, )?$`);

/** Words that phrases have and lists of names have not. */
const grammar = new Set(
  (
    'a an the is are was were be been it its this that these those of to in on at by for from with without and or not no ' +
    'has have had may can cannot could will would must only where when what which who while until than as if else but too ' +
    'expected unknown got nothing every each one more most'
  ).split(' '),
);

export function isPhrase(text) {
  if (/^[\s\S]*[{}[\]\\|^$]{3}/.test(text)) return false;
  const words = text.split(/\s+/).filter((word) => /^[(“"'`]*[A-Za-z][A-Za-z'’-]*[)”"'`.,:;?!]*$/.test(word));
  return words.length >= 2 && words.some((word) => grammar.has(word.replace(/[^A-Za-z]/g, '').toLowerCase()));
}

const unescaped = (text) =>
  text.replace(/\\u\{?([0-9a-fA-F]{2,4})\}?|\\x([0-9a-fA-F]{2})|\\([\s\S])/g, (_all, wide, byte, one) => {
    if (one === undefined) return String.fromCharCode(Number.parseInt(wide ?? byte, 16));
    return { n: '\n', t: '\t', r: '\r' }[one] ?? one;
  });

/** The text that starts with the quote at `start`; `inside` are the places of further quotes, in what a template fills in. */
function literalAt(source, masked, start) {
  const quote = masked[start];
  if (quote !== '`') {
    const end = masked.indexOf(quote, start + 1);
    return { text: unescaped(source.slice(start + 1, end)), end: end + 1, inside: [] };
  }
  const inside = [];
  let text = '';
  let at = start + 1;
  while (source[at] !== '`' && at < source.length) {
    if (source.startsWith('${', at)) {
      const from = at + 2;
      at = endOfExpression(source, masked, from, inside);
      const filled = source.slice(from, at - 1).replace(/\s+/g, ' ');
      text += `{${filled.length > 40 ? `${filled.slice(0, 37)}...` : filled}}`;
    } else {
      const size = source[at] === '\\' ? 2 : 1;
      text += unescaped(source.slice(at, at + size));
      at += size;
    }
  }
  return { text, end: at + 1, inside };
}

function endOfExpression(source, masked, from, inside) {
  let depth = 0;
  let at = from;
  while (at < source.length) {
    if (masked[at] === "'" || masked[at] === '"' || masked[at] === '`') {
      inside.push(at);
      at = literalAt(source, masked, at).end;
      continue;
    }
    if (masked[at] === '{') depth += 1;
    else if (masked[at] === '}') depth -= 1;
    else if (source[at] === '}' && depth === 0) return at + 1;
    at += 1;
  }
  return at;
}

/** Texts that are added up, or lines of one help text, are one: a phrase may go on in the next. */
function joinedFrom(source, masked, start) {
  const isHelp = /\bdetails: \[\s*$/.test(masked.slice(0, start));
  const first = literalAt(source, masked, start);
  const inside = [...first.inside];
  let { text, end } = first;
  for (;;) {
    const between = /^\s*([+,])\s*(?=['"`])/.exec(masked.slice(end, end + 200));
    if (between === null || (between[1] === ',' && !isHelp)) return { text, end, inside };
    const next = literalAt(source, masked, end + between[0].length);
    text += `${between[1] === ',' ? ' ' : ''}${next.text}`;
    inside.push(...next.inside);
    end = next.end;
  }
}

function kindAt(masked, start) {
  const before = masked.slice(Math.max(0, start - 400), start);
  const name = namedBefore.exec(before)?.[1];
  if (name !== undefined) return named.get(name);
  const call = calledBefore.exec(before)?.[1];
  return call === undefined ? undefined : calls.get(call);
}

/** Names of members, imports, cases and types are for programs. */
function isForPrograms(masked, start, end) {
  const before = masked.slice(Math.max(0, start - 40), start);
  const after = masked.slice(end, end + 4);
  return /(?:\bfrom|\bimport|\bcase|import\(|[=!]==)\s*$|\[$/.test(before) && !/\[\s*$/.test(before)
    ? true
    : /^\s*:\s/.test(after) && /[,{]\s*$/.test(before);
}

/** @returns {Message[]} of one TypeScript source */
export function messagesInTypeScript(file, source) {
  const masked = maskSource(source);
  const found = [];
  const visit = (start) => {
    const { text, end, inside } = joinedFrom(source, masked, start);
    const plain = text.replace(/\s+/g, ' ').trim();
    const kind = kindAt(masked, start);
    const isNamed = kind !== undefined && /[A-Za-z]{2}/.test(plain.replace(/\{[^}]*\}/g, ''));
    if ((isNamed || isPhrase(plain)) && !isForPrograms(masked, start, end)) {
      found.push({ file, line: lineOf(source, start), kind: kind ?? 'text', text: plain });
    }
    for (const each of inside) visit(each);
    return end;
  };
  for (let at = 0; at < masked.length; ) at = /['"`]/.test(masked[at]) ? visit(at) : at + 1;
  return found;
}

/** Adjacent literals of C are one text. */
export function messagesInC(file, source) {
  const text = source.replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' '));
  const found = [];
  for (const { 0: whole, index } of text.matchAll(/"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*/g)) {
    const plain = whole.split(/"\s*"/).join('').slice(1, -1).replace(/\\n/g, ' ').replace(/\\(.)/g, '$1').trim();
    const isSaid = /\b(fail|fail_at|report|warn|die|refuse)\w*\($/.test(text.slice(0, index).trimEnd());
    if ((isSaid && /[a-z]{2}/.test(plain)) || isPhrase(plain)) {
      found.push({ file, line: source.slice(0, index).split('\n').length, kind: 'error', text: plain });
    }
  }
  return found;
}

export function messagesInShell(file, source) {
  return source.split('\n').flatMap((line, at) => {
    const said = /^\s*echo "(.*)"/.exec(line)?.[1];
    return said === undefined ? [] : [{ file, line: at + 1, kind: 'error', text: said.trim() }];
  });
}
