/**
 * Every row of the tables, in every spelling, against the verdicts that were read and agreed to (test/vectors/programs.txt): a row
 * that is changed or lost is a line of that file. CTX_WRITE_VECTORS=1 writes what the code says now, to be read before it is committed.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { type CommandClass, commandClasses } from './classes.js';
import { classification } from './classify.js';
import { names } from './options.js';
import type { Program, Programs } from './program.js';
import { gitProgram } from './programs/git.js';
import { handlers, programs } from './read-command.js';
import { ShellReader } from './reader.js';
import * as parser from './shell-parser.js';
import { terminal } from './surroundings.js';
import { plainWord, unknownWord } from './word.js';

const file = new URL('../../../../test/vectors/programs.txt', import.meta.url);
const danger = 'rm -rf x';
const letter: Readonly<Record<CommandClass, string>> = {
  read_only: 'r',
  interactive: 'i',
  mutating: 'm',
  destructive: 'd',
  networked: 'n',
  host_escape_risk: 'h',
};

/** `-x`, `--exec v` and `--exec=v`; a value attached to one letter. */
function spellings(program: Program, option: string, value: string | undefined): readonly (readonly string[])[] {
  const valued = [...names(program.values), ...names(program.text)].includes(option);
  if (value === undefined && !valued) return [[option]];
  const given = value ?? 'v';
  const joined = option.startsWith('--') || program.dashes === 'single' ? `${option}=${given}` : `${option}${given}`;
  return [[option, given], [joined]];
}

/** Words that meet a pattern of the tables, which are alternatives of plain words. */
function example(pattern: string): string | undefined {
  const words = [
    'b',
    '1',
    'ext::x',
    'host:path',
    'rsync://host/x',
    'auto',
    '/dev/sda',
    'x=y',
    '-',
    'http://x/',
    'print',
  ];
  const plain = pattern.replace(/^\^\(?/, '').split(/[|()$?\\]/)[0] ?? '';
  return [...words, plain].find((word) => new RegExp(pattern).test(word));
}

function forms(program: Program): readonly (readonly string[])[] {
  const own = Object.keys({ ...program.with, ...program.only }).flatMap((list) =>
    names(list).flatMap((option) => spellings(program, option, undefined)),
  );
  const texts = names(program.text).flatMap((option) => spellings(program, option, danger));
  const valued = Object.entries(program.valued ?? {}).flatMap(([list, patterns]) =>
    names(list).flatMap((option) =>
      Object.keys(patterns).flatMap((pattern) => spellings(program, option, example(pattern) ?? 'v')),
    ),
  );
  const matching = Object.keys(program.matching ?? {}).flatMap((pattern) => {
    const word = example(pattern);
    return word === undefined ? [] : [[word]];
  });
  const operands = Object.keys(program.operands ?? {}).map((count) => Array<string>(Number(count)).fill('x'));
  const runs = program.runs === undefined ? [] : [[...Array<string>(program.runs).fill('1'), ...danger.split(' ')]];
  const skips = program.runs === undefined ? [] : names(program.values).map((name) => [name, '1', ...(runs[0] ?? [])]);
  const after = names(program.runsAfter).map((option) => [option, ...danger.split(' ')]);
  const text = program.runsText === true ? [[danger]] : [];
  const loopback = program.loopback === undefined ? [] : [['localhost'], ['other.example']];
  const all = [[], ['x'], ['-'], ...own, ...texts, ...valued, ...matching, ...operands, ...runs, ...skips, ...after];
  return [...all, ...text, ...loopback];
}

/** All texts that a pattern of `asking` is met by; what may be any word is `x`. */
function textsOf(pattern: string): readonly string[] {
  let at = 0;
  const join = (before: readonly string[], next: readonly string[]) => before.flatMap((a) => next.map((b) => a + b));
  const alternatives = (): string[] => {
    const found: string[] = [];
    for (;;) {
      let texts: readonly string[] = [''];
      while (at < pattern.length && pattern[at] !== '|' && pattern[at] !== ')') texts = join(texts, item());
      found.push(...texts);
      if (pattern[at] !== '|') return found;
      at += 1;
    }
  };
  const item = (): readonly string[] => {
    const [class_] = /^(?:\\S|\[[^\]]*\])\+/.exec(pattern.slice(at)) ?? [];
    if (class_ !== undefined) {
      at += class_.length;
      return ['x'];
    }
    const character = pattern[at] ?? '';
    at += 1;
    if (character === '^' || character === '$') return [''];
    if (character !== '(') return [character];
    const inner = alternatives();
    at += 1;
    if (pattern[at] !== '?') return inner;
    at += 1;
    return ['', ...inner];
  };
  return alternatives();
}

/** `$X` among the words is computed. */
const computed = '$X';

/** What tells whether an option takes the word after it: that word is then neither an option, nor an operand, nor asks. */
function swallowed(program: Program): readonly (readonly string[])[] {
  const [first = ''] = Object.keys(program.subcommands ?? {}).map((list) => list.split(' ')[0] ?? '');
  const question = program.asking === undefined ? [] : textsOf(program.asking).filter((text) => text !== '');
  const counts = Object.keys(program.operands ?? {}).map((count) => Array<string>(Number(count)).fill('x'));
  const matching = Object.keys(program.matching ?? {}).map((pattern) => [example(pattern) ?? 'x']);
  return [
    [computed],
    ...counts,
    ...matching,
    ...(program.loopback === undefined
      ? []
      : [
          ['1', 'localhost'],
          ['other.example', 'localhost'],
        ]),
    ...(first === '' ? [] : [['v', first]]),
    ...question.slice(0, 1).map((text) => ['v', ...text.trim().split(' ')]),
  ];
}

/** Once for a row, whatever the names in it. */
function formsOfRow(program: Program): readonly (readonly string[])[] {
  const valued = [...names(program.values), ...names(program.text)];
  const host = names(program.loopback?.host).flatMap((option) => [
    [option, 'localhost'],
    [option, '/socket'],
    [option, 'other.example'],
  ]);
  const unless = names(program.loopback?.unless).map((option) => [option, 'v', 'localhost']);
  const asks = program.asking === undefined ? [] : textsOf(program.asking);
  const assigned =
    program.assignments === true
      ? [
          ['A_1=x', ...danger.split(' ')],
          ['A=$X', '_b=1'],
        ]
      : [];
  return [
    [computed],
    [`-${computed}`],
    ['x', computed],
    ...valued.flatMap((option) => swallowed(program).map((words) => [option, ...words])),
    ...host,
    ...unless,
    ...asks.map((text) => text.split(' ').filter((word) => word !== '')),
    ...assigned,
  ];
}

function* rowsOf(table: Programs, called: readonly string[]): Generator<readonly string[]> {
  for (const [list, program] of Object.entries(table)) {
    const words = [...called, list.split(' ')[0] ?? ''];
    for (const form of formsOfRow(program)) yield [...words, ...form];
    yield* rowsOf(program.subcommands ?? {}, words);
    if (program.otherwise !== undefined)
      for (const form of formsOfRow(program.otherwise)) yield [...words, 'unlisted', ...form];
  }
}

function* everyProgram(table: Programs): Generator<readonly [name: string, program: Program]> {
  for (const [name, program] of Object.entries(table)) {
    yield [name, program];
    yield* everyProgram(program.subcommands ?? {});
    if (program.otherwise !== undefined) yield* everyProgram({ [`${name} otherwise`]: program.otherwise });
  }
}

function* commandsOf(table: Programs, called: readonly string[]): Generator<readonly string[]> {
  for (const [list, program] of Object.entries(table)) {
    for (const name of list.split(' ')) {
      const words = [...called, name];
      for (const form of forms(program)) yield [...words, ...form];
      yield* commandsOf(program.subcommands ?? {}, words);
      if (program.otherwise !== undefined)
        for (const form of forms(program.otherwise)) yield [...words, 'unlisted', ...form];
    }
  }
}

function quoted(word: string): string {
  return word.endsWith(computed) || /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

const start = {
  input: terminal,
  variables: new Map(),
  functions: new Set<string>(),
  expanded: new Set<string>(),
  grammar: 'bash',
  depth: 0,
} as const;

/** As `classify` does it, but for computed words, which an argument vector does not have. */
function verdict(argv: readonly string[]): string {
  const words = argv.map((word) =>
    word.endsWith(computed) ? unknownWord(word, word.slice(0, -computed.length)) : plainWord(word),
  );
  const { classes } = classification(new ShellReader(parser).command(words, start));
  return commandClasses
    .filter((name) => classes.includes(name))
    .map((name) => letter[name])
    .join('');
}

const tables: Programs = { ...programs, git: gitProgram };

describe('every row of the tables', () => {
  it('says what was read and agreed to, in every spelling', () => {
    const lines = new Set<string>();
    for (const argv of commandsOf(tables, [])) lines.add(`${verdict(argv)}  ${argv.map(quoted).join(' ')}`);
    for (const argv of rowsOf(tables, [])) lines.add(`${verdict(argv)}  ${argv.map(quoted).join(' ')}`);
    for (const name of Object.keys(handlers).flatMap((list) => list.split(' ')))
      for (const form of [[], ['x'], ['-c', danger], ['-e', danger]])
        lines.add(`${verdict([name, ...form])}  ${[name, ...form].map(quoted).join(' ')}`);
    const said = [...lines].sort((a, b) => (a.slice(3) < b.slice(3) ? -1 : 1)).join('\n');
    if (process.env['CTX_WRITE_VECTORS'] === '1') writeFileSync(file, `${said}\n`);
    const agreed = new Set(readFileSync(file, 'utf8').trimEnd().split('\n'));
    const added = [...lines].filter((line) => !agreed.has(line));
    assert.deepEqual({ lost: [...agreed].filter((line) => !lines.has(line)), added }, { lost: [], added: [] });
  });

  it('has classes wherever it speaks of some, and none where it does not', () => {
    const letters = /^(?:r|[imdnh]+)$/;
    for (const [name, program] of everyProgram(tables)) {
      const { is, bare, unsure, loopback, operands = {}, matching = {}, valued = {} } = program;
      const given = [is, bare, unsure, loopback?.is].filter((each) => each !== undefined);
      const lists = [program.with ?? {}, program.only ?? {}, operands, matching, ...Object.values(valued)];
      for (const each of [...given, ...lists.flatMap((list) => Object.values(list))]) assert.match(each, letters, name);
      assert.notEqual(program.why, '', name);
    }
  });

  it('sees through what runs a command, in every spelling', () => {
    for (const argv of commandsOf(tables, [])) {
      if (argv.join(' ').includes(danger)) assert.match(verdict(argv), /[dh]/, argv.join(' '));
    }
  });
});
