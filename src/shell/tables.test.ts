/**
 * Every row of the tables, in every spelling, against the verdicts that were read and agreed to (test/vectors/programs.txt): a row
 * that is changed or lost is a line of that file. CTX_WRITE_VECTORS=1 writes what the code says now, to be read before it is committed.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { type CommandClass, commandClasses } from './classes.js';
import { classify } from './classify.js';
import { names } from './options.js';
import type { Program, Programs } from './program.js';
import { gitProgram } from './programs/git.js';
import { handlers, programs } from './read-command.js';

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
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

async function verdict(argv: readonly string[]): Promise<string> {
  const { classes } = await classify({ argv });
  return commandClasses
    .filter((name) => classes.includes(name))
    .map((name) => letter[name])
    .join('');
}

const tables: Programs = { ...programs, git: gitProgram };

describe('every row of the tables', () => {
  it('says what was read and agreed to, in every spelling', async () => {
    const lines = new Set<string>();
    for (const argv of commandsOf(tables, [])) lines.add(`${await verdict(argv)}  ${argv.map(quoted).join(' ')}`);
    for (const name of Object.keys(handlers).flatMap((list) => list.split(' ')))
      for (const form of [[], ['x'], ['-c', danger], ['-e', danger]])
        lines.add(`${await verdict([name, ...form])}  ${[name, ...form].map(quoted).join(' ')}`);
    const said = [...lines].sort((a, b) => (a.slice(3) < b.slice(3) ? -1 : 1)).join('\n');
    if (process.env['CTX_WRITE_VECTORS'] === '1') writeFileSync(file, `${said}\n`);
    const agreed = new Set(readFileSync(file, 'utf8').trimEnd().split('\n'));
    const added = [...lines].filter((line) => !agreed.has(line));
    assert.deepEqual({ lost: [...agreed].filter((line) => !lines.has(line)), added }, { lost: [], added: [] });
  });

  it('sees through what runs a command, in every spelling', async () => {
    for (const argv of commandsOf(tables, [])) {
      if (argv.join(' ').includes(danger)) assert.match(await verdict(argv), /[dh]/, argv.join(' '));
    }
  });
});
