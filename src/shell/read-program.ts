/** A program's words, read by its table. */
import { type Classes, classesOf, classNames, networked, readOnly } from './classes.js';
import { couldHaveOption, names, type Options, onlyClasses, optionsOf, optionValues } from './options.js';
import { subcommandsMeant } from './other-names.js';
import { named, type Program } from './program.js';
import { type Reading, unreadable } from './reading.js';
import type { Grammar, Reader, Surroundings } from './surroundings.js';
import { knownValue, plainWord, type Word } from './word.js';

export interface ProgramCall {
  /** The program and the subcommands so far. */
  readonly called: readonly string[];
  readonly words: readonly Word[];
  readonly around: Surroundings;
  readonly reader: Reader;
  /** As written, with everything. */
  readonly text: string;
}

const assignment = /^[A-Za-z_][A-Za-z0-9_]*=/;

/** Not a word of any other kind: `\S` does not match it, so it is neither a question nor what stands before one. */
const computedOperand = '\n';

function operandText({ operands }: Options): string {
  return operands.map((word) => knownValue(word) ?? computedOperand).join(' ');
}

const loopbackHost = /^(?:[a-z]+:\/\/)?(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]|::1)(?::[^@/?#\\]*)?(?:\/.*)?$/;

export function speaksToItself({ loopback }: Pick<Program, 'loopback'>, options: Options): boolean {
  if (couldHaveOption(loopback?.unless ?? '', options)) return false;
  const values = (words: readonly (Word | undefined)[]) => words.map((word) => knownValue(word) ?? word?.start ?? '?');
  if (loopback?.host !== undefined) {
    const elsewhere = values(options.operands).some((text) => text.includes('://') && !loopbackHost.test(text));
    const hosts = values(optionValues(loopback.host, options));
    return !elsewhere && !options.unsure && hosts.every((host) => host.startsWith('/') || loopbackHost.test(host));
  }
  // A port may be computed: `localhost:$PORT`.
  const operands = values(options.operands).filter((text) => !/^\d*$/.test(text));
  return operands.length > 0 && operands.every((text) => loopbackHost.test(text));
}

/** Classes that the table gives to these options and operands, and the words that made them so. */
function tableClasses(program: Program, options: Options, call: ProgramCall): { classes: Classes; because: string[] } {
  const because: string[] = [];
  const only = onlyClasses(program, options);
  const asks = program.asking !== undefined && new RegExp(program.asking).test(operandText(options));
  const given = options.operands.length + options.options.length > 0;
  const isBare = !given && program.bare !== undefined && call.around.input.kind === 'terminal';
  let classes = classesOf(only ?? (asks ? 'r' : isBare ? (program.bare ?? '') : program.is));
  const add = (letters: string, reason: string) => {
    if ((classes | classesOf(letters)) === classes) return;
    classes |= classesOf(letters);
    because.push(reason);
  };
  for (const [list, letters] of Object.entries(program.with ?? {})) {
    if (couldHaveOption(list, options))
      add(letters, `with ${list.split(' ').find((name) => couldHaveOption(name, options)) ?? list}`);
  }
  for (const [list, patterns] of Object.entries(program.valued ?? {})) {
    const values = optionValues(list, options).map((word) => knownValue(word) ?? '');
    for (const [pattern, letters] of Object.entries(patterns)) {
      if (values.some((value) => new RegExp(pattern).test(value))) add(letters, `with this value of ${list}`);
    }
  }
  for (const [count, letters] of Object.entries(program.operands ?? {})) {
    if (only === undefined && options.operands.length >= Number(count)) add(letters, `with ${count} operands or more`);
  }
  for (const [pattern, letters] of Object.entries(program.matching ?? {})) {
    const expression = new RegExp(pattern);
    const found = options.operands.find((word) => (word.values ?? [word.start]).some((text) => expression.test(text)));
    if (found !== undefined) add(letters, `with ${found.text}`);
  }
  if (program.loopback !== undefined && speaksToItself(program, options)) {
    classes = (classes & ~networked) | classesOf(program.loopback.is);
  }
  if (options.unsure && program.unsure !== undefined) add(program.unsure, 'a computed word could be an option');
  return { classes, because };
}

function describe(name: string, program: Program, classes: Classes, because: readonly string[]): string {
  if (program.why !== undefined && classes !== readOnly) return `${name} ${program.why}`;
  const known = `${name} is ${classNames(classes).join(', ')}`;
  return because.length === 0 ? known : `${known} ${because.join(', ')}`;
}

/** The command behind a wrapper's own words, without assignments: those are read by themselves. */
function wrapped(program: Program, options: Options, call: ProgramCall): Reading | undefined {
  const { reader, around, text } = call;
  let rest = options.operands;
  if (program.assignments === true) {
    const first = rest.findIndex((word) => !assignment.test(word.start));
    const assigned = first === -1 ? rest : rest.slice(0, first);
    rest = first === -1 ? [] : rest.slice(first);
    if (assigned.length > 0) {
      // As the shell would take them: before the command.
      return reader.command([plainWord('env'), ...assigned, ...rest], around);
    }
  }
  if (options.unsure && knownValue(rest[0]) === undefined && rest.length === 0)
    return unreadable(text, 'the command is computed');
  const command = rest.slice(program.runs ?? 0);
  // `flock FILE -c TEXT`
  if (names(program.text).includes(knownValue(command[0]) ?? '')) return textReading(call, command[1]);
  if (command.length > 0) return reader.command(command, around);
  // `flock $X`: its own words and a command in one.
  return rest.some(({ splits }) => splits) ? unreadable(text, 'the command is computed') : undefined;
}

function after(list: string, options: Options, words: readonly Word[]): readonly Word[] {
  const found = options.options.find(({ name }) => list.split(' ').includes(name));
  return found === undefined ? [] : words.slice(found.at + 1);
}

/** `grammar`: that of the shell that runs it; programs ask for `sh`. */
export function textReading(
  call: Pick<ProgramCall, 'reader' | 'around' | 'text'>,
  word: Word | undefined,
  grammar: Grammar = 'sh',
): Reading {
  const { reader, text } = call;
  const around = { ...call.around, grammar };
  if (word?.values === undefined) {
    return unreadable(word?.text ?? text, 'the text that is run is computed; write it out in single quotes');
  }
  const [only, ...more] = word.values;
  if (more.length === 0 && only !== undefined) return reader.text(only, around);
  const parts = word.values.map((value) => reader.text(value, around));
  return { text: word.text, words: [], classes: readOnly, readable: true, why: 'one of these', parts };
}

function joined(words: readonly Word[]): Word | undefined {
  const values = words.map(knownValue);
  return values.some((value) => value === undefined) ? undefined : plainWord(values.join(' '));
}

/** A start of its name is read as the whole: `npm exe rm` runs rm. */
function subcommandOf({ subcommands = {} }: Program, called: readonly string[], name: string): Program | undefined {
  const [program = '', ...more] = called;
  const meant = more.length > 0 ? [] : subcommandsMeant(program, name);
  return named(subcommands, name) ?? (meant.length === 1 ? named(subcommands, meant[0] ?? '') : undefined);
}

function addedBy(program: Program, options: Options): Classes {
  const added = Object.entries(program.with ?? {}).filter(([list]) => couldHaveOption(list, options));
  return added.reduce((sum, [, letters]) => sum | classesOf(letters), readOnly);
}

function subcommandReading(program: Program, call: ProgramCall): Reading {
  const { called, words, text } = call;
  const options = optionsOf(program, words, true);
  const [first] = options.operands;
  const name = knownValue(first);
  if (first !== undefined && name === undefined) {
    return unreadable(text, `the subcommand of ${called.join(' ')} is computed: ${first.text}`);
  }
  if (first === undefined && options.unsure)
    return unreadable(text, `the subcommand of ${called.join(' ')} is computed`);
  const own = readProgram({ ...program, subcommands: {} }, { ...call, words: words.slice(0, options.places[0]) });
  const known = name === undefined ? undefined : subcommandOf(program, called, name);
  if (name === undefined) return own;
  // What it looks at is not read; what makes it act may be behind that.
  if (onlyClasses(program, options) !== undefined)
    return { ...own, classes: own.classes | addedBy(program, optionsOf(program, words, false)) };
  const rest = words.slice((options.places[0] ?? 0) + 1);
  const sub =
    known === undefined
      ? readProgram(program.otherwise ?? { is: program.is }, { ...call, called: [...called, name], words: rest })
      : readProgram(known, { ...call, called: [...called, name], words: rest });
  // Options before the subcommand can only add to it.
  return { ...sub, classes: sub.classes | addedBy(program, options), parts: [...own.parts, ...sub.parts] };
}

export function readProgram(program: Program, call: ProgramCall): Reading {
  const { called, words, around, reader, text } = call;
  if (program.subcommands !== undefined && Object.keys(program.subcommands).length > 0) {
    return subcommandReading(program, call);
  }
  const stops = program.runs !== undefined || program.runsText === true || program.runsAfter !== undefined;
  const options = optionsOf(program, words, stops);
  const { classes, because } = tableClasses(program, options, call);
  const parts: Reading[] = optionValues(program.text, options).map((word) => textReading(call, word));
  if (program.runs !== undefined && onlyClasses(program, options) !== 'r') {
    const inner = wrapped(program, options, call);
    if (inner !== undefined) parts.push(inner);
  }
  if (program.runsAfter !== undefined) {
    const command = after(program.runsAfter, options, words);
    if (command.length > 0) parts.push(reader.command(command, around));
  }
  if (program.runsText === true && options.operands.length > 0) parts.push(textReading(call, joined(options.operands)));
  const name = called.join(' ');
  return {
    text,
    words: [...called, ...words.map((word) => knownValue(word) ?? word.text)],
    classes,
    readable: true,
    why: describe(name, program, classes, because),
    parts,
  };
}
