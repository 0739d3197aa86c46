/** Programs whose words have a grammar of their own. */

import { posix } from 'node:path';
import { type Classes, classesOf, hostEscapeRisk, mutating, networked, readOnly } from './classes.js';
import { kindOfKey } from './git-keys.js';
import {
  couldHaveOption,
  hasOption,
  names,
  type OptionTable,
  optionsOf,
  optionValues,
  type ShellOption,
} from './options.js';
import { named, type Program } from './program.js';
import { makesFilesystem } from './programs/devices.js';
import { gitProgram } from './programs/git.js';
import { hostPrograms } from './programs/host.js';
import { networkPrograms } from './programs/network.js';
import { packagePrograms } from './programs/packages.js';
import { assignedBy, assignmentReading } from './read-builtin.js';
import { type ProgramCall, readProgram, speaksToItself, textReading } from './read-program.js';
import { allClasses, type Reading, unreadable } from './reading.js';
import { awkOnlyPrints, sedOnlyPrints } from './script-text.js';
import { knownValue, plainWord, unknownWord, type Word } from './word.js';

function reading(call: ProgramCall, classes: Classes, why: string, parts: readonly Reading[] = []): Reading {
  const words = [...call.called, ...call.words.map((word) => knownValue(word) ?? word.text)];
  return { text: call.text, words, classes, readable: true, why, parts };
}

const sed: OptionTable = { values: '-e --e --expression -f --file -l --l --line-length' };

/** `-i` takes its suffix attached: what follows it in a cluster is not an option. */
export function readSed(call: ProgramCall): Reading {
  const options = optionsOf(sed, call.words, false);
  const scripts = optionValues('-e --e --expression', options);
  const given = scripts.length > 0 ? scripts : options.operands.slice(0, 1);
  const writes = couldHaveOption('-i --in-place -f --file', options) || options.unsure;
  const prints = given.every((word) => sedOnlyPrints(knownValue(word) ?? 'e'));
  if (!writes && prints) return reading(call, readOnly, 'sed only prints');
  return reading(call, mutating, writes ? 'sed changes files' : 'the script of sed writes or runs something');
}

const awk: OptionTable = { values: '-F -v -f --file -i --include -l --load -E --exec -e --source' };
/** They load code, or write what they know of the program to a file. */
const awkLoads =
  '-f --file -i --include -l --load -E --exec -d --dump-variables -o --pretty-print -p --profile -D --debug -W';

export function readAwk(call: ProgramCall): Reading {
  const options = optionsOf(awk, call.words, true);
  const loads = couldHaveOption(awkLoads, options) || options.unsure;
  const sources = optionValues('-e --source', options);
  const programs = sources.length > 0 ? sources : options.operands.slice(0, 1);
  if (!loads && programs.every((word) => awkOnlyPrints(knownValue(word) ?? '|')))
    return reading(call, readOnly, 'awk only prints');
  return reading(call, mutating, 'the program of awk writes or runs something');
}

export function readDd(call: ProgramCall): Reading {
  const targets = call.words.filter((word) => word.start.startsWith('of='));
  const computed = call.words.some((word) => knownValue(word) === undefined && !word.start.includes('='));
  const nowhere = targets.every((word) => /^of=\/dev\/(?:null|stdout)$/.test(knownValue(word) ?? ''));
  if (nowhere && !computed) return reading(call, readOnly, 'dd only reads');
  return reading(call, classesOf('d'), 'dd overwrites a file');
}

/** Modes that make a program run as its owner. A group is one that the owner is in; on a directory it is inherited by files. */
function givesIdentity(mode: string): boolean {
  return /^0*[4-7][0-7]{3}$/.test(mode) || /(?:^|,)(?:[go]*[ua][ugoa]*)?[+=][rwxXt]*s/.test(mode);
}

/** `chmod MODE`, `install -m MODE`. */
export function readModes(call: ProgramCall): Reading {
  const [name = ''] = call.called;
  const values = call.words.map((word) => (knownValue(word) ?? '').replace(/^(?:-m|--mode=)/, ''));
  const identity = values.some(givesIdentity);
  const why = identity ? `${name} makes a file that runs as its owner` : `${name} is mutating`;
  return reading(call, mutating | (identity ? hostEscapeRisk : readOnly), why);
}

/** A filesystem in a file is a file. On a device, or on something computed that is not called like a file, it is the host's. */
export function readMakeFilesystem(call: ProgramCall): Reading {
  const options = optionsOf(makesFilesystem, call.words, false);
  const onDevice = options.operands.some((word) => {
    const value = knownValue(word);
    return value === undefined ? !/\.[a-z0-9]+$/.test(word.end) : posix.normalize(value).startsWith('/dev/');
  });
  const [name = ''] = call.called;
  return onDevice
    ? reading(call, classesOf('hd'), `${name} works on a device of the host, which a jail does not have`)
    : reading(call, classesOf(options.operands.length === 0 ? 'r' : 'd'), `${name} overwrites a file`);
}

/** Commands that tell only who and where one is: asking for privileges to run them is a question whether there are any. */
const questions = new Set('true false : id whoami echo printf pwd uname date sleep test ['.split(' '));

export function readPrivileges(call: ProgramCall): Reading {
  const program = named(hostPrograms, call.called[0] ?? '');
  if (program === undefined) return unreadable(call.text, 'a program that asks for privileges');
  const read = readProgram(program, call);
  const [command] = read.parts;
  const edits = couldHaveOption('-e --edit', optionsOf(program, call.words, true));
  const asks = command !== undefined && allClasses(command) === readOnly && questions.has(command.words[0] ?? '');
  const harmless = asks && !edits;
  return harmless ? { ...read, classes: readOnly, why: `${call.called[0]} only finds out whether it may` } : read;
}

const tar: Program = {
  is: 'm',
  text: '--to-command -I --use-compress-program --rsh-command -F --info-script --new-volume-script',
  values: '-f -C -b -g -T -X -N -V -K -L -H --file --directory --exclude --checkpoint-action',
  valued: { '-f --file': { '^[^/]+:': 'n' } },
};

/** The first word may be options without a dash, whose values are the words after it in their order: `tar tfC FILE DIRECTORY`. */
function withDashes(words: readonly Word[]): readonly Word[] {
  const [first, ...rest] = words;
  const letters = knownValue(first) ?? '';
  if (!/^[A-Za-z]+$/.test(letters)) return words;
  const valued = [...names(tar.values), ...names(tar.text)];
  const given = [...letters].flatMap((letter) => {
    const value = valued.includes(`-${letter}`) ? rest.shift() : undefined;
    return [plainWord(`-${letter}`), ...(value === undefined ? [] : [value])];
  });
  return [...given, ...rest];
}

/** `t` only lists. */
export function readTar(call: ProgramCall): Reading {
  const words = withDashes(call.words);
  const options = optionsOf(tar, words, false);
  const read = readProgram(tar, { ...call, words });
  const actions = optionValues('--checkpoint-action', options).flatMap((word) => {
    const value = knownValue(word);
    if (value === undefined) return [unreadable(call.text, 'what tar runs is computed')];
    return value.startsWith('exec=') ? [textReading(call, plainWord(value.slice(5)))] : [];
  });
  const lists = hasOption('-t --list', options);
  const changes = couldHaveOption(
    '-x -c -r -u -A --extract --get --create --append --update --concatenate --delete --index-file',
    options,
  );
  const only = lists && !changes && !options.unsure;
  return {
    ...read,
    words: [...call.called, ...call.words.map((word) => knownValue(word) ?? word.text)],
    classes: (only ? readOnly : mutating) | (read.classes & networked),
    why: only ? 'tar lists' : 'tar is mutating',
    parts: [...read.parts, ...actions],
  };
}

const env: OptionTable = { values: '-u -C -S -a -P --unset --chdir --split-string --argv0' };

/** What `-S` is split into stands before all words behind it, as if written there: `env -S'rm' -f a`. */
function splitText(call: ProgramCall, { at, value: text }: ShellOption): Reading {
  const rest = call.words.slice(text === call.words[at + 1] ? at + 2 : at + 1).map(knownValue);
  const value = knownValue(text);
  // It has escapes of its own: `\_` is a blank that divides.
  if (value === undefined || /\\[^\\"' ]/.test(value) || rest.includes(undefined)) return textReading(call, undefined);
  const words = rest.map((word) => `'${word?.replaceAll("'", "'\\''")}'`);
  return textReading(call, plainWord(['env', value, ...words].join(' ')));
}

/** Assignments, then a command; `-S` is split into words like shell text. */
export function readEnv(call: ProgramCall): Reading {
  const options = optionsOf(env, call.words, true);
  const split = options.options.find((option) => hasOption('-S --split-string', { ...options, options: [option] }));
  const first = options.operands.findIndex((word) => !/^[A-Za-z_][A-Za-z0-9_]*=/.test(word.start));
  const assigned = first === -1 ? options.operands : options.operands.slice(0, first);
  const command = first === -1 ? [] : options.operands.slice(first);
  const parts: Reading[] = assignedBy(assigned).flatMap((each) => assignmentReading(each, call) ?? []);
  if (split !== undefined) parts.push(splitText(call, split));
  else if (command.length > 0) parts.push(call.reader.command(command, call.around));
  else if (options.unsure) parts.push(unreadable(call.text, 'the command is computed'));
  const runs = split !== undefined || command.length > 0;
  return reading(call, readOnly, runs ? 'env runs a command' : 'env prints the environment', parts);
}

/** All of coreutils in one program: `coreutils --coreutils-prog=rm a`, or `coreutils rm a`. */
export function readCoreutils(call: ProgramCall): Reading {
  const [first, ...rest] = call.words;
  const start = /^--coreutils-prog(?:-shebang)?=/.exec(first?.start ?? '')?.[0] ?? '';
  const value = knownValue(first);
  if (first === undefined) return reading(call, readOnly, 'coreutils prints what it is');
  if (value === undefined) return unreadable(call.text, 'the command is computed');
  if (start === '' && value.startsWith('-')) return reading(call, readOnly, 'coreutils prints what it is');
  const command = [plainWord(value.slice(start.length)), ...rest];
  return reading(call, readOnly, 'coreutils runs one of its programs', [call.reader.command(command, call.around)]);
}

const ssh: OptionTable = { values: '-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w' };

/** Settings of ssh that are commands that run here. */
function sshCommands(call: ProgramCall, words: readonly (Word | undefined)[]): readonly Reading[] {
  return words.flatMap((word) => {
    const match = /^\s*(?:ProxyCommand|LocalCommand|KnownHostsCommand)\s*[= ]\s*([\s\S]*)/i.exec(
      knownValue(word) ?? '',
    );
    if (knownValue(word) === undefined) return [unreadable(word?.text ?? call.text, 'an option of ssh is computed')];
    return match?.[1] === undefined ? [] : [textReading(call, plainWord(match[1]))];
  });
}

/** `scp`, `sftp`. */
export function readSshCopy(call: ProgramCall): Reading {
  const program = named(networkPrograms, call.called[0] ?? '') ?? { is: 'n' };
  const read = readProgram(program, call);
  const parts = sshCommands(call, optionValues('-o', optionsOf(program, call.words, false)));
  return { ...read, parts: [...read.parts, ...parts] };
}

export function readSsh(call: ProgramCall): Reading {
  const options = optionsOf(ssh, call.words, true);
  const parts = sshCommands(call, optionValues('-o', options));
  const alone = options.operands.length < 2 && !hasOption('-N -f -W -Q -V -O', options);
  return reading(call, networked | (alone ? classesOf('i') : readOnly), 'ssh speaks to another machine', parts);
}

const wget: OptionTable & Pick<Program, 'loopback'> = {
  loopback: { is: 'r', unless: '-i --input-file -B --base -e --execute --config' },
  values: '-O --output-document -o -a -P -i -B -e --header --post-data -U -t -T --tries --timeout',
};
/** They write a file beside what is fetched, run a program, or say what its configuration would. */
const wgetWrites =
  '-o --output-file -a --append-output --save-cookies --warc-file --warc-cdx --rejected-log --hsts-file --use-askpass -e --execute --config';

export function readWget(call: ProgramCall): Reading {
  const options = optionsOf(wget, call.words, false);
  const prints = optionValues('-O --output-document', options).some((word) =>
    /^(?:-|\/dev\/(?:stdout|null))$/.test(knownValue(word) ?? ''),
  );
  const looks = prints || hasOption('--spider', options);
  const speaks = speaksToItself(wget, options) ? readOnly : networked;
  const writes = couldHaveOption(wgetWrites, options) || options.unsure;
  return reading(call, looks && !writes ? speaks : mutating | speaks, 'wget fetches');
}

/** `python -m NAME`: some modules are programs of their own. */
export function readPython(call: ProgramCall): Reading {
  const at = call.words.findIndex((word) => word.start.startsWith('-m'));
  const first = call.words.findIndex((word) => !word.start.startsWith('-'));
  const named = at >= 0 && (first === -1 || at < first) ? call.words[at] : undefined;
  const attached = (knownValue(named) ?? '').slice(2);
  const module = attached === '' ? knownValue(call.words[at + 1]) : attached;
  const rest = call.words.slice(at + (attached === '' ? 2 : 1));
  if (named !== undefined && module !== undefined && /^pip3?$/.test(module)) {
    return reading(call, readOnly, 'python runs pip', [call.reader.command([plainWord('pip'), ...rest], call.around)]);
  }
  if (
    named !== undefined &&
    /^(?:http\.server|smtplib|ftplib|telnetlib|xmlrpc\.server|ensurepip)$/.test(module ?? '')
  ) {
    return reading(call, mutating | networked, `the module ${module} speaks to other machines`);
  }
  return readInterpreter(call);
}

/** Code that comes from another machine is nobody's program. */
export function readInterpreter(call: ProgramCall): Reading {
  const [name = ''] = call.called;
  const read = readProgram(named(packagePrograms, name) ?? { is: 'm', bare: 'mi' }, call);
  const { input } = call.around;
  const fromInput = call.words.every((word) => word.start.startsWith('-'));
  if (!fromInput || input.kind !== 'stream' || !input.networked) return read;
  return {
    ...read,
    classes: read.classes | hostEscapeRisk,
    readable: false,
    why: `${name} runs code from another machine`,
  };
}

export function readSqlite(call: ProgramCall): Reading {
  const operands = call.words.filter((word) => !word.start.startsWith('-')).length;
  const alone = operands < 2 && call.around.input.kind === 'terminal';
  return reading(call, alone ? classesOf('mi') : mutating, 'sqlite3 changes its database');
}

const linker: Program = {
  is: 'r',
  runs: 0,
  values: '--library-path --preload --audit --argv0 --inhibit-rpath --glibc-hwcaps-prepend --glibc-hwcaps-mask',
  dashes: 'single',
};

/** The dynamic linker runs the program it is given, with libraries from where it is told. */
export function readLinker(call: ProgramCall): Reading {
  const read = readProgram(linker, call);
  const code = optionValues(
    '--library-path --preload --audit --glibc-hwcaps-prepend',
    optionsOf(linker, call.words, true),
  );
  if (code.length === 0) return read;
  return { ...read, classes: read.classes | mutating, why: `${call.called[0]} loads other code into the program` };
}

/** `git -c alias.x='!rm a' x`: some configuration is a command, and what is not known to be none may be one. */
function configuredCommand(call: ProgramCall, word: Word | undefined): readonly Reading[] {
  const value = knownValue(word);
  const text = value ?? word?.start ?? '';
  const equals = text.indexOf('=');
  // Without a value it is a switch. A key of which a part is computed may be any.
  if (equals < 0 && value !== undefined) return [];
  const key = (equals < 0 ? '' : text.slice(0, equals)).toLowerCase();
  const kind = kindOfKey(key);
  if (kind === 'plain') return [];
  if (value === undefined) {
    const isNamed = kind === 'unknown' && key !== '';
    return isNamed ? [mayRun(call, key)] : [unreadable(word?.text ?? call.text, 'a configuration of git is computed')];
  }
  const set = value.slice(equals + 1);
  if (set === '' || set === 'true' || set === 'false') return [];
  if (kind === 'unknown') return [mayRun(call, key)];
  const run = key.startsWith('alias.') && !set.startsWith('!') ? `git ${set}` : set.replace(/^!/, '');
  return [textReading(call, plainWord(run))];
}

const mayRun = (call: ProgramCall, key: string) =>
  reading(call, mutating, `${key} is a key of git that is not known: its value may be a command`);

/** What it keeps in the new repository is in force at once. */
const clone: OptionTable = {
  values: '-c --config -b --branch -o --origin -u --upload-pack -j --jobs --depth --reference --filter',
};

export function readGit(call: ProgramCall): Reading {
  const options = optionsOf(gitProgram, call.words, true);
  // Of `--config-env KEY=NAME` the value is in a variable, which is not looked for.
  const named = optionValues('--config-env', options).map((word) => {
    const text = word?.start ?? '';
    return unknownWord(word?.text ?? text, text.slice(0, text.lastIndexOf('=') + 1));
  });
  const configured = [...optionValues('-c', options), ...named];
  const parts = configured.flatMap((word) => configuredCommand(call, word));
  const read = readProgram(gitProgram, call);
  const cloned = read.words[1] === 'clone' ? optionValues('-c --config', optionsOf(clone, call.words, false)) : [];
  const kept = cloned.flatMap((word) => configuredCommand(call, word));
  return { ...read, parts: [...parts, ...kept, ...read.parts] };
}
