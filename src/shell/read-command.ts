/** One simple command, as words: which program it is, and who reads that program's words. */
import { classesOf, mutating, readOnly } from './classes.js';
import { changesKernel, leadsToHost } from './host-paths.js';
import { dashedSubcommand } from './other-names.js';
import { named, type Program, type Programs } from './program.js';
import { devicePrograms } from './programs/devices.js';
import { filePrograms } from './programs/files.js';
import { hostPrograms } from './programs/host.js';
import { networkPrograms } from './programs/network.js';
import { packagePrograms } from './programs/packages.js';
import { systemPackagePrograms } from './programs/system-packages.js';
import { shellBuiltins, terminalPrograms } from './programs/terminal.js';
import { wrapperPrograms } from './programs/wrappers.js';
import {
  readCompletion,
  readDeclaration,
  readFc,
  readHash,
  readNames,
  readPrintf,
  readSettings,
} from './read-builtin.js';
import { type ProgramCall, readProgram } from './read-program.js';
import { readFd, readFind, readParallel, readXargs } from './read-search.js';
import { readAlias, readEval, readForeignShell, readShell, readSource, readTrap, shells } from './read-shell.js';
import * as tool from './read-tool.js';
import { holding, type Reading, unreadable } from './reading.js';
import { calledWords } from './runners.js';
import type { Reader, Surroundings } from './surroundings.js';
import { knownValue, plainWord, splitValue, type Word } from './word.js';
import { isPlainInZsh, zshBuiltins } from './zsh.js';

/** All that is known by tables; a test goes through every row. */
export const programs: Programs = {
  ...filePrograms,
  ...packagePrograms,
  ...networkPrograms,
  ...wrapperPrograms,
  ...terminalPrograms,
  ...hostPrograms,
  ...devicePrograms,
  ...systemPackagePrograms,
  ...shellBuiltins,
};

type Handler = (call: ProgramCall) => Reading;

function forAll(names: string, handler: Handler): Readonly<Record<string, Handler>> {
  return { [names]: handler };
}

export const handlers: Readonly<Record<string, Handler>> = {
  ...forAll([...shells].join(' '), readShell),
  ...forAll('fish csh tcsh nu pwsh powershell elvish xonsh', readForeignShell),
  ...forAll('eval', readEval),
  ...forAll('source .', readSource),
  ...forAll('trap', readTrap),
  ...forAll('alias', readAlias),
  ...forAll('export declare typeset local readonly', readDeclaration),
  ...forAll('read mapfile readarray unset wait getopts let test [', readNames),
  ...forAll('printf', readPrintf),
  ...forAll('complete compgen', readCompletion),
  ...forAll('fc', readFc),
  ...forAll('hash', readHash),
  ...forAll('set shopt', readSettings),
  ...forAll('find gfind', readFind),
  ...forAll('fd fdfind', readFd),
  ...forAll('xargs gxargs', readXargs),
  ...forAll('parallel sem', readParallel),
  ...forAll('sed gsed', tool.readSed),
  ...forAll('awk gawk mawk nawk', tool.readAwk),
  ...forAll('dd', tool.readDd),
  ...forAll('chmod install', tool.readModes),
  ...forAll('mkfs mke2fs mkswap wipefs mkisofs mksquashfs', tool.readMakeFilesystem),
  ...forAll('sudo doas pkexec', tool.readPrivileges),
  ...forAll('tar gtar bsdtar', tool.readTar),
  ...forAll('env', tool.readEnv),
  ...forAll('coreutils', tool.readCoreutils),
  ...forAll('ssh', tool.readSsh),
  ...forAll('scp sftp', tool.readSshCopy),
  ...forAll('wget', tool.readWget),
  ...forAll('python python2 python3 pypy pypy3', tool.readPython),
  ...forAll('node nodejs deno ruby perl php lua luajit Rscript', tool.readInterpreter),
  ...forAll('sqlite3', tool.readSqlite),
  ...forAll('ld.so', tool.readLinker),
  ...forAll('git', tool.readGit),
};

/** What writes to its last operand, or to each. */
const writers = new Set(['tee', 'cp', 'mv', 'install', 'dd', 'truncate', 'sponge', 'touch', 'ln']);
const writeAll = new Set(['tee', 'truncate', 'touch']);

/** `python3.12` is python3, `ld-linux-x86-64.so.2` the linker. */
function canonicalName(name: string): string {
  if (/^ld-linux.*\.so(?:\.\d+)?$|^ld-\d.*\.so$|^ld-musl.*\.so/.test(name)) return 'ld.so';
  if (/^mkfs\./.test(name)) return 'mkfs';
  const versioned = /^(python|pip|node|ruby|perl|php|lua|gcc|clang)[-.]?\d[\d.]*$/.exec(name);
  if (versioned?.[1] !== undefined && named(programs, name) === undefined) return versioned[1];
  return name;
}

/** `--version` alone, or `install --help`: of no program that runs what follows. */
function onlyAsksForVersion(words: readonly Word[], program: Program | undefined): boolean {
  const last = knownValue(words.at(-1)) ?? '';
  if (words.length === 1) return /^--(?:version|help|usage)$/.test(last) || (isRisk(program) && last === '-V');
  const subcommand = /^[a-z][a-z-]*$/.test(knownValue(words[0]) ?? '');
  return words.length === 2 && last === '--help' && subcommand && isRisk(program) && program?.runs === undefined;
}

function isRisk(program: Program | undefined): boolean {
  return program?.is.includes('h') === true;
}

function byName(name: string, call: ProgramCall): Reading {
  if (call.around.grammar === 'zsh' && zshBuiltins.has(name) && !isPlainInZsh(name, call.words.map(knownValue)))
    return unreadable(call.text, `${name} of zsh changes what other words mean, or runs them: use bash`);
  const program = named(programs, name);
  const handler = named(handlers, name);
  const known = program !== undefined || handler !== undefined;
  if (known && onlyAsksForVersion(call.words, program)) {
    const why = `${name} prints what it is`;
    return { text: call.text, words: [name], classes: readOnly, readable: true, why, parts: [] };
  }
  if (handler !== undefined) return handler(call);
  if (program !== undefined) return readProgram(program, call);
  const words = [...call.called, ...call.words.map((word) => knownValue(word) ?? word.text)];
  const why = `${name} is not known here: it may change files`;
  return { text: call.text, words, classes: mutating, readable: true, why, parts: [] };
}

/** A copy or another name of a program is a program no one knows; what it is called decides. */
function bareName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

const noFunctions: ReadonlySet<string> = new Set();

function namedReading(
  path: string,
  given: readonly Word[],
  around: Surroundings,
  reader: Reader,
  text: string,
): Reading {
  if (path.startsWith('/proc/')) return unreadable(text, `${path} is another name of some program`);
  const runs = calledWords(around.runners?.get(path) ?? [], given).map((words) =>
    words === undefined
      ? unreadable(text, `what ${path} runs where it is called like this cannot be read`)
      : reader.command(words, around),
  );
  if (!path.includes('/') && around.functions.has(path)) {
    return holding(text, `${path} is a function of this text, read where it is defined`, runs);
  }
  const subcommand = dashedSubcommand(bareName(path));
  const name = subcommand === undefined ? canonicalName(bareName(path)) : 'git';
  const words = subcommand === undefined ? given : [plainWord(subcommand), ...given];
  // Also what follows `time`, which is a keyword to one shell and a program with options to another.
  if (name === '' || name.startsWith('-')) return unreadable(text, 'the command has no name');
  // What it runs in turn is a program: `command rm`, `env rm`.
  const own = byName(name, { called: [name], words, around: { ...around, functions: noFunctions }, reader, text });
  const read = {
    ...own,
    parts: [...own.parts, ...runs],
    argv: [path, ...given.map((word) => knownValue(word) ?? word.text)],
    // A shell makes a path of `~/x`.
    open: words.filter((word) => knownValue(word)?.startsWith('~') ?? true),
    hasSubcommands: name === 'git' || named(programs, name)?.subcommands !== undefined,
  };
  const searches = /grep$|^rg$|^ag$/.test(name) || name === 'sed' || name === 'awk';
  const paths = searches ? words.slice(words.findIndex((word) => !word.start.startsWith('-')) + 1) : words;
  const leads = paths.find((word, at, all) => {
    if (leadsToHost(word, name)) return true;
    const isWritten = at === all.length - 1 || writeAll.has(name) || word.start.startsWith('of=');
    return writers.has(name) && isWritten && changesKernel(word);
  });
  if (leads === undefined) return read;
  return { ...read, classes: read.classes | classesOf('h'), why: `${leads.text} leads to the host, around the jail` };
}

export function readCommand(words: readonly Word[], around: Surroundings, reader: Reader): Reading {
  const text = words.map((word) => word.text).join(' ');
  const [first, ...rest] = words;
  if (first === undefined) return holding(text, 'no command', []);
  if (first.values === undefined) {
    // `$HOME/bin/tool`: where it is is computed, what it is called is not.
    const slash = first.end.lastIndexOf('/');
    const name = first.end.slice(slash + 1);
    if (slash >= 0 && name !== '' && !first.start.startsWith('/proc') && !/[*?[\]{}]/.test(name)) {
      return namedReading(`/${name}`, rest, around, reader, text);
    }
    const what = first.text === '' ? 'it' : first.text;
    return unreadable(
      text,
      `the name of the command is computed: ${what}. Write it out, or put the commands in a file`,
    );
  }
  const readings = first.values.map((value) => {
    const [name, ...more] = splitValue(first, value);
    if (name === undefined) return rest.length === 0 ? holding(text, 'no command', []) : reader.command(rest, around);
    return namedReading(knownValue(name) ?? '', [...more, ...rest], around, reader, text);
  });
  const [only] = readings;
  return readings.length === 1 && only !== undefined ? only : holding(text, 'one of these', readings);
}
