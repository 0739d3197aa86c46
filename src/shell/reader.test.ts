/** The limits of what is read: on both sides of each, whatever is at hand to reach it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { shellCommands, shellNesting, shellOpenings, shellTextCharacters } from '../base/limits/decisions.js';
import { classesOf, classNames, commandClasses, isCommandClass, mostDangerous } from './classes.js';
import { classification } from './classify.js';
import { ParserNeeded, ShellReader } from './reader.js';
import { everyReading } from './reading.js';
import * as parser from './shell-parser.js';
import { terminal } from './surroundings.js';
import { plainWord } from './word.js';

const nothing = { variables: new Map(), functions: new Set<string>(), expanded: new Set<string>() };
const around = { input: terminal, grammar: 'bash', ...nothing } as const;

function reads(text: string, depth = 0): boolean {
  return classification(new ShellReader(parser).text(text, { ...around, depth })).readable;
}

describe('how much is read', () => {
  it('is bounded by how deep commands and texts are within each other', () => {
    for (const [text, levels] of [
      ['ls', 1],
      ['ls a; ls b', 1],
      ["sh -c 'ls'", 3],
      ['X=1', 0],
      ['nice nice ls', 3],
      ['eval "eval ls"', 5],
      ["[[ -v 'a[$(ls)]' ]]", 2],
    ] as const) {
      assert.equal(reads(text, shellNesting - levels), true, text);
      assert.equal(reads(text, shellNesting - levels + 1), false, text);
    }
  });

  it('is bounded by how many commands there are', () => {
    const reader = new ShellReader(parser);
    const ask = (...words: string[]) => reader.command(words.map(plainWord), { ...around, depth: 0 }).readable;
    for (let count = 1; count < shellCommands; count += 1) assert.equal(ask(), true);
    assert.equal(ask('ls'), true);
    assert.equal(ask('ls'), false);
  });

  it('is bounded by the length of all texts together', () => {
    const text = (length: number) => `: ${'a'.repeat(length - 2)}`;
    assert.equal(reads(text(shellTextCharacters)), true);
    assert.equal(reads(text(shellTextCharacters + 1)), false);
    const reader = new ShellReader(parser);
    const half = text(shellTextCharacters / 2);
    assert.equal(reader.text(half, { ...around, depth: 0 }).readable, true);
    assert.equal(reader.text(half, { ...around, depth: 0 }).readable, true);
    assert.equal(reader.text('ls', { ...around, depth: 0 }).readable, false);
  });

  it('is bounded by how many substitutions are opened', () => {
    for (const opening of ['$(', '<(', '>(', '((', '{a']) {
      const text = (count: number) => `: '${Array<string>(count).fill(opening).join(' ')}'`;
      assert.equal(reads(text(shellOpenings)), true, opening);
      assert.equal(reads(text(shellOpenings + 1)), false, opening);
    }
    assert.equal(reads(`: '${'{ '.repeat(shellOpenings + 1)}'`), true);
  });

  it('needs a parser for all but plain words', () => {
    const reader = new ShellReader(undefined);
    for (const text of ['ls', 'ls -la a.b', './a b=c', 'a_1 x@y%z+1,2:3']) {
      assert.equal(reader.text(text, { ...around, depth: 0 }).readable, true, text);
    }
    for (const text of [
      'ls ',
      ' ls',
      'ls  a',
      'a=b c',
      'ls;ls',
      "ls 'a'",
      'ls *',
      'if a',
      'time ls',
      'ls\nls',
      '~/a',
      'a !',
    ]) {
      assert.throws(() => reader.text(text, { ...around, depth: 0 }), ParserNeeded, text);
    }
  });
});

describe('classes', () => {
  it('are a letter each, and any other letter is a defect', () => {
    for (const letter of 'abcefgjklopqstuvwxyzR -') assert.throws(() => classesOf(letter), TypeError, letter);
    assert.deepEqual(
      [...'rimdnh'].map((letter) => classNames(classesOf(letter))),
      commandClasses.map((name) => [name]),
    );
  });

  it('are named from the least to the most dangerous, without what the stronger says', () => {
    assert.deepEqual(classNames(classesOf('hndmi')), ['interactive', 'destructive', 'networked', 'host_escape_risk']);
    assert.deepEqual(classNames(classesOf('rm')), ['mutating']);
    assert.equal(mostDangerous(classesOf('imn')), 'networked');
    assert.equal(mostDangerous(classesOf('r')), 'read_only');
  });

  it('have names that are known', () => {
    for (const name of commandClasses) assert.equal(isCommandClass(name), true);
    assert.equal(isCommandClass('readonly'), false);
  });
});

/** The commands in it, by their words. */
function commandsIn(text: string): string {
  const reading = new ShellReader(parser).text(text, { ...around, depth: 0 });
  const found = [...everyReading(reading)].filter(({ words, readable }) => words.length > 0 || !readable);
  return found.map(({ words, readable }) => (readable ? words.join('|') : '?')).join('; ');
}

describe('a variable that is expanded without quotes', () => {
  it('becomes the words that the shell makes of it', () => {
    for (const [text, expected] of [
      ['X="push origin"; git $X', 'git|push|origin'],
      ['X="push --force"; timeout 5 git $X', 'timeout|5|git|push|--force; git|push|--force'],
      ['X=; git $X push', 'git|push'],
      ['X=" a  b "; git $X', 'git|a|b'],
      ['X="a b"; Y="c d"; echo $X$Y', 'echo|a|bc|d'],
      ['X="git push"; $X --force', 'git|push|--force'],
      ['for C in "git push" "git pull"; do $C; done', 'git|push; git|pull'],
      ['L="push x"; for C in $L; do git $C; done', '?'],
      ['L="push"; for C in $L; do git $C; done', 'git|push'],
      ['IFS=,; X=push,origin; git $X', 'git|push|origin'],
    ] as const) {
      assert.equal(commandsIn(text), expected, text);
    }
  });

  it('holds what it held outside where it is used before it is sure to be assigned', () => {
    for (const [text, isKnown] of [
      ["X='push --force' sh -c 'git $X; X=log'", false],
      ["env X=push sh -c 'git $X; X=log'", false],
      ['false && X=log; git $X', false],
      ['a || X=log; git $X', false],
      ['X=log & git $X', false],
      ['X=log git $X', false],
      ['f() { git $X; }; X=log; f', false],
      ['a && X=log && git $X', true],
      ['if a; then X=log; git $X; fi', true],
      ['for X in log; do :; done; git $X', true],
      ['(X=log; Y=$X; git $Y)', true],
      ['export X=log; git $X', true],
    ] as const) {
      assert.equal(!/\?/.test(commandsIn(text)), isKnown, text);
    }
  });

  it('stays one word in quotes', () => {
    assert.equal(commandsIn('X="push origin"; git "$X" a'), 'git|push origin|a');
    assert.equal(commandsIn('X=; git "$X" push'), 'git||push');
  });

  it('is not known where files, or what divides words, decide about it', () => {
    for (const text of [
      'X="p*"; git $X',
      'X="/usr/bin/gi?"; $X push',
      'X="[p]ush"; git $X',
      'IFS=$(cat f); X=log; git $X',
      'X="b c"; git "a "$X',
      'for X in "push a" "pull b"; do git $X; done',
      'X=; for Y in $X; do git $Y; done',
    ]) {
      assert.match(commandsIn(text), /\?/, text);
    }
  });
});
