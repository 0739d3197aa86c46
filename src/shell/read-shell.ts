/** Shells and what else runs shell text: `bash -c`, `eval`, `source`, `trap`, `alias`. */
import { type Classes, classesOf, mutating, readOnly } from './classes.js';
import { hiddenCode, misleads } from './read-builtin.js';
import { type ProgramCall, textReading } from './read-program.js';
import { type Reading, unreadable } from './reading.js';
import type { Grammar } from './surroundings.js';
import { hasIndex } from './variables.js';
import { knownValue, plainWord, unknownWord, type Word } from './word.js';
import { areZshOptions } from './zsh.js';

export const shells = new Set('sh bash dash zsh ksh ksh93 mksh ash rbash yash posh'.split(' '));
/** Called `sh`, each of them may be another one. */
const likeBash = new Set('bash rbash ksh ksh93 mksh'.split(' '));

function grammarOf({ called: [name = ''] }: ProgramCall): Grammar {
  if (name === 'zsh') return name;
  return likeBash.has(name) ? 'bash' : 'sh';
}

function reading(call: ProgramCall, classes: Classes, why: string, parts: readonly Reading[] = []): Reading {
  const words = [...call.called, ...call.words.map((word) => knownValue(word) ?? word.text)];
  return { text: call.text, words, classes, readable: true, why, parts };
}

/** What a shell reads from its standard input is run. */
function fromInput(call: ProgramCall, interactive: boolean): Reading {
  const { input } = call.around;
  const name = call.called.join(' ');
  switch (input.kind) {
    case 'text':
      return reading(call, readOnly, `${name} runs the text it is given`, [
        textReading(
          { ...call, around: { ...call.around, input: { kind: 'file' }, ownShell: true } },
          plainWord(input.text),
          grammarOf(call),
        ),
      ]);
    case 'file':
      return reading(call, mutating, `${name} runs a file`);
    case 'stream':
      return unreadable(call.text, `${name} runs what another command prints, which cannot be read here`);
    default:
      return reading(
        call,
        classesOf('mi'),
        interactive ? `${name} is a shell for a person` : `${name} waits for commands`,
      );
  }
}

/** Options of a shell, up to its first operand. `+x` switches off. */
function shellOptions(words: readonly Word[]) {
  const letters = new Set<string>();
  const long = new Set<string>();
  let at = 0;
  for (; at < words.length; at += 1) {
    const value = knownValue(words[at]);
    if (value === undefined || !/^[-+]./.test(value) || value === '--') break;
    if (value.startsWith('--')) {
      long.add(value.split('=')[0] ?? value);
      if (value === '--rcfile' || value === '--init-file') at += 1;
      continue;
    }
    // No options: where it is read as any, the shell ends.
    if (!/^[-+][a-zA-Z]+$/.test(value)) break;
    for (const letter of value.slice(1)) letters.add(`${value[0]}${letter}`);
    // Each takes a name as the next word, wherever it is in a cluster: `-oc pipefail TEXT`.
    at += value.match(/[oO]/g)?.length ?? 0;
  }
  if (knownValue(words[at]) === '--' || knownValue(words[at]) === '-') at += 1;
  return { letters, long, given: words.slice(0, at), rest: words.slice(at) };
}

/** Where the file is is computed, what it is called is not: `. "$HOME/.cargo/env"`. What comes through a descriptor has no name. */
function isNamedFile({ text, start, end, splits }: Word): boolean {
  const isWhole = !splits || /^\$(?:HOME|\{HOME\}|PWD|\{PWD\})\//.test(text);
  const name = /\/([^/]+)$/.exec(end)?.[1] ?? '';
  return isWhole && !/^\/(?:proc|dev)/.test(start) && name !== '' && !/^(?:stdin|\d+|\.\.?)$|[*?[\]{}]/.test(name);
}

/** After `cd /dev/fd`. */
function isDescriptor(path: string): boolean {
  return !path.startsWith('/') && /(?:^|\/)(?:stdin|\d+)$/.test(path);
}

export function readShell(call: ProgramCall): Reading {
  const { letters, long, given, rest } = shellOptions(call.words);
  const name = call.called.join(' ');
  const [first, ...positional] = rest;
  if (long.has('--version') || long.has('--help')) return reading(call, readOnly, `${name} prints what it is`);
  if (name === 'zsh') {
    if (long.size > 0 || !areZshOptions(given.map(knownValue)))
      return unreadable(call.text, 'with this setting of zsh words are not what they seem');
    // To a person's shell `#` begins no comment, and `!` an earlier command.
    if (letters.has('-i') && /[#!]/.test(knownValue(first) ?? '#'))
      return unreadable(call.text, 'zsh -i has no comments');
  }
  const load = given.findIndex((word) => /^--(?:rcfile|init-file)$/.test(knownValue(word) ?? ''));
  if (load >= 0 && knownValue(given[load + 1]) === undefined)
    return unreadable(call.text, `${name} runs a file first whose name is computed`);
  const loads = long.has('--rcfile') || long.has('--init-file') ? mutating : readOnly;
  if (letters.has('-c')) {
    if (misleads(given.map(knownValue)))
      return unreadable(call.text, 'with this setting of the shell words are not what they seem');
    // $0 is the first of them. Behind one that may be several or none the others are not known.
    const sure = positional.findIndex(({ splits }) => splits);
    const known = positional.map(
      (word, index) => [String(index), sure < 0 || index < sure ? word.values : undefined] as const,
    );
    const around = { ...call.around, variables: new Map(known), ownShell: true };
    const text = textReading({ ...call, around }, first, grammarOf(call));
    const indexes = positional.filter((word) => word.values?.some(hasIndex) === true);
    const hidden = indexes.flatMap((word) => hiddenCode(word, call.reader, call.around));
    return reading(call, loads, `${name} -c runs its text`, [text, ...hidden]);
  }
  if (letters.has('-i')) {
    const read = fromInput(call, true);
    return { ...read, classes: read.classes | classesOf('mi') };
  }
  if (letters.has('-s') || first === undefined) return fromInput(call, false);
  const path = knownValue(first);
  if (path === undefined && (first.start === '' || first.splits) && !isNamedFile(first)) {
    return unreadable(call.text, `${name} runs a script whose name is computed: ${first.text}`);
  }
  if (path !== undefined && isDescriptor(path)) return unreadable(call.text, `${name} runs what may be a descriptor`);
  if (path === '/dev/stdin' || path === '/proc/self/fd/0' || path === '/dev/fd/0') return fromInput(call, false);
  if (path?.startsWith('/dev/fd/') === true || path?.startsWith('/proc/') === true) {
    return unreadable(call.text, `${name} runs what comes through a descriptor`);
  }
  return reading(call, mutating, `${name} runs a script`);
}

/** A shell with a grammar of its own: its text cannot be read here. */
export function readForeignShell(call: ProgramCall): Reading {
  const name = call.called.join(' ');
  const runsText = call.words.some((word) => /^-[a-z]*c|^--command/i.test(word.start));
  if (runsText) return unreadable(call.text, `the text of ${name} has a grammar that is not read here; use sh`);
  return reading(call, call.words.length === 0 ? classesOf('mi') : mutating, `${name} runs a script`);
}

/**
 * What these print is a script of their own, which is run as `source` runs one. Only with plain words: nothing of the
 * text that is run is the caller's.
 */
const printsOwnScript =
  /^"?\$\((?:(?:pyenv|rbenv|nodenv|goenv|jenv|starship|zoxide) init(?: [\w./=-]+)*|mise activate(?: \w+)*|ssh-agent(?: -[sck])*|(?:\/[\w./-]+\/)?brew shellenv(?: \w+)*|direnv hook \w+|fnm env(?: --[\w=-]+)*|opam env(?: --[\w=-]+)*|dircolors(?: -[bc])*|lesspipe)\)"?$/;

/** The words are joined and read again. */
export function readEval(call: ProgramCall): Reading {
  const words = knownValue(call.words[0]) === '--' ? call.words.slice(1) : call.words;
  if (words.length === 0) return reading(call, readOnly, 'eval of nothing');
  const values = words.map(knownValue);
  if (words.length === 1 && values[0] === undefined && printsOwnScript.test(words[0]?.text ?? ''))
    return reading(call, mutating, `eval runs the script that ${words[0]?.text} prints`);
  const known = values.some((value) => value === undefined);
  const computed = words.find((word) => knownValue(word) === undefined)?.text ?? call.text;
  const text = textReading(call, known ? unknownWord(computed) : plainWord(values.join(' ')), call.around.grammar);
  return reading(call, readOnly, 'eval runs its words', [text]);
}

export function readSource(call: ProgramCall): Reading {
  const [file] = call.words;
  const path = knownValue(file);
  if (file === undefined) return reading(call, readOnly, 'no file is named');
  if (path === undefined && (file.start === '' || file.splits) && !isNamedFile(file)) {
    return unreadable(call.text, `it runs a file whose name is computed: ${file.text}`);
  }
  if (
    path === '/dev/stdin' ||
    path?.startsWith('/dev/fd/') === true ||
    path?.startsWith('/proc/') === true ||
    isDescriptor(path ?? '')
  ) {
    return fromInput({ ...call, around: { ...call.around, input: { kind: 'stream', networked: false } } }, false);
  }
  return reading(call, mutating, `${call.called.join(' ')} runs a file in this shell`);
}

export function readTrap(call: ProgramCall): Reading {
  const words = call.words.filter((word) => knownValue(word) !== '--');
  const [action, ...signals] = words;
  const value = knownValue(action);
  if (
    action === undefined ||
    signals.length === 0 ||
    value === '-' ||
    value === '' ||
    value === '-l' ||
    value === '-p'
  ) {
    return reading(call, readOnly, 'trap of nothing');
  }
  return reading(call, readOnly, 'trap runs its text later', [textReading(call, action, call.around.grammar)]);
}

const keywords =
  /^(?:if|then|else|elif|fi|for|while|until|do|done|case|esac|select|function|in|time|coproc|!|\{|\}|\[\[|\]\])$/;

/** `alias name=text`; the text is read, whether the alias is used or not. */
export function readAlias(call: ProgramCall): Reading {
  const parts = call.words.flatMap((word) => {
    const value = knownValue(word);
    if (value === undefined) return [unreadable(word.text, 'the text of the alias is computed')];
    if (call.around.grammar === 'zsh' && /^[-+]./.test(value) && value !== '--')
      return [unreadable(word.text, 'zsh may put such an alias anywhere: use bash')];
    const equals = value.indexOf('=');
    if (equals < 0) return [];
    const [name, text] = [value.slice(0, equals), value.slice(equals + 1)];
    if (keywords.test(name))
      return [unreadable(word.text, `an alias for ${name} makes other commands of what follows`)];
    call.reader.findAlias(name, text);
    return [textReading(call, plainWord(text), call.around.grammar)];
  });
  return reading(call, readOnly, 'alias gives a name to its text', parts);
}
