/** Programs that run a command for each thing they find or read: `find`, `fd`, `xargs`, `parallel`. */
import { type Classes, classesOf, readOnly } from './classes.js';
import { names, type OptionTable, optionsOf } from './options.js';
import type { ProgramCall } from './read-program.js';
import { type Reading, unreadable } from './reading.js';
import { knownValue, plainWord, unknownWord, type Word } from './word.js';

function reading(call: ProgramCall, classes: Classes, why: string, parts: readonly Reading[]): Reading {
  const words = [...call.called, ...call.words.map((word) => knownValue(word) ?? word.text)];
  return { text: call.text, words, classes, readable: true, why, parts };
}

/** `{}` is a path: data, unless it is where the command's name does. */
function commandFor(call: ProgramCall, words: readonly Word[], placeholder: string): Reading {
  const [program] = words;
  if (program === undefined || program.text.includes(placeholder)) {
    return unreadable(words.map(({ text }) => text).join(' ') || call.text, 'the command is computed');
  }
  const filled = words.map((word) => {
    const value = knownValue(word);
    if (value === undefined || !value.includes(placeholder)) return word;
    if (value === placeholder) return unknownWord(placeholder, './');
    // In a text for a shell it may be filled as well, with what is not known: `sh -c 'cat {}'`.
    return /\s/.test(value) ? { ...word, values: [value, value.replaceAll(placeholder, '$_')] } : word;
  });
  return call.reader.command(filled, { ...call.around, input: { kind: 'stream', networked: false } });
}

const runsEach = /^-(?:exec|execdir|ok|okdir)$/;
/** The word after these is data: `-mtime -$DAYS`. */
const takesWord =
  /^-(?:[acm]time|[acm]min|newer..|a?newer|cnewer|size|links|inum|used|uid|gid|user|group|perm|i?name|i?lname|i?path|i?wholename|i?regex|regextype|m(?:ax|in)depth|x?type|fstype|samefile|context|printf)$/;
const writesFile = /^-f(?:print0?|printf|ls)$/;

/** Whether an option of these can be what a computed word that begins so becomes. */
function couldBe(word: Word, options: readonly string[]): boolean {
  return knownValue(word) === undefined && options.some((option) => option.startsWith(word.start));
}

const findRuns = ['-exec', '-execdir', '-ok', '-okdir'];

/** A word that becomes several can be all of it; one that stays one needs a command behind it, and the end of that. */
function findMayRun(word: Word, rest: readonly Word[], isData: boolean): boolean {
  if (knownValue(word) !== undefined) return false;
  if (word.splits) return isData || couldBe(word, findRuns);
  const [next] = rest;
  if (isData || next === undefined || /^[-(!]/.test(next.start) || !couldBe(word, findRuns)) return false;
  return rest.some((each) => knownValue(each) === ';' || knownValue(each) === '+');
}

export function readFind(call: ProgramCall): Reading {
  const parts: Reading[] = [];
  let classes = readOnly;
  let mayRunMore: true | undefined;
  const because: string[] = [];
  const add = (letters: string, why: string) => {
    classes |= classesOf(letters);
    because.push(why);
  };
  for (let at = 0; at < call.words.length; at += 1) {
    const word = call.words[at] ?? plainWord('');
    const value = knownValue(word);
    const isData = takesWord.test(knownValue(call.words[at - 1]) ?? '');
    if (findMayRun(word, call.words.slice(at + 1), isData)) mayRunMore = true;
    if (value === undefined && !isData && /^(?:-|$)/.test(word.start)) add('d', 'a computed word could be -delete');
    else if (value === '-delete') add('d', '-delete removes what is found');
    else if (value !== undefined && writesFile.test(value)) add('m', `${value} writes a file`);
    else if (value !== undefined && runsEach.test(value)) {
      const rest = call.words.slice(at + 1);
      const end = rest.findIndex((each, index) => {
        const text = knownValue(each);
        return text === ';' || (text === '+' && knownValue(rest[index - 1]) === '{}');
      });
      const command = end === -1 ? rest : rest.slice(0, end);
      parts.push(commandFor(call, command, '{}'));
      at += command.length + 1;
    }
  }
  const why = because.length === 0 ? 'find looks for files' : `find: ${because.join(', ')}`;
  return { ...reading(call, classes, why, parts), ...(mayRunMore === undefined ? {} : { mayRunMore }) };
}

/** Behind letters that take no value, and with the command's name at once: `-Hxrm`, `--exec=rm`. */
const fdRuns = /^(?:-[0-9FHILagilpqsu]*[xX]|--exec(?:-batch)?(?:=|$))(.*)$/s;

/** Whether a computed word that begins so can be one of those. */
function fdCouldRun(start: string): boolean {
  return '--exec'.startsWith(start) || /^-[0-9FHILagilpqsu]*$/.test(start);
}

/** `fd -x COMMAND`: everything after the option. */
export function readFd(call: ProgramCall): Reading {
  const at = call.words.findIndex((word) => fdRuns.test(knownValue(word) ?? ''));
  if (at === -1) {
    const unsure = call.words.filter((word) => knownValue(word) === undefined && fdCouldRun(word.start));
    const mayRunMore = unsure.some(
      (word) =>
        word.splits || call.words.slice(call.words.indexOf(word) + 1).some(({ start }) => !start.startsWith('-')),
    );
    const read = reading(call, unsure.length > 0 ? classesOf('d') : readOnly, 'fd looks for files', []);
    return mayRunMore ? { ...read, mayRunMore } : read;
  }
  const name = fdRuns.exec(knownValue(call.words[at]) ?? '')?.[1] ?? '';
  const command = [...(name === '' ? [] : [plainWord(name)]), ...call.words.slice(at + 1)];
  return reading(call, readOnly, 'fd runs a command for what it finds', [commandFor(call, command, '{}')]);
}

const xargs: OptionTable = {
  values: '-a -d -E -I -L -n -P -s --arg-file --delimiter --max-args --max-procs --max-chars --process-slot-var',
  attached: '-e -i -l',
};

/** What it reads becomes words of the command, at its end or in the place of `-I`. */
export function readXargs(call: ProgramCall): Reading {
  const { options, operands, unsure } = optionsOf(xargs, call.words, true);
  const replacing = options.find(({ name }) => name === '-I' || name === '-i' || /^--r/.test(name));
  if (operands.length === 0) {
    return unsure
      ? unreadable(call.text, 'the command is computed')
      : reading(call, readOnly, 'xargs prints what it reads', []);
  }
  const placeholder = replacing === undefined ? '{}' : (knownValue(replacing.value) ?? '{}');
  const words = replacing === undefined ? [...operands, unknownWord('what xargs reads')] : operands;
  const shownPlaceholder = replacing === undefined ? '\0' : placeholder;
  return reading(call, readOnly, 'xargs runs a command with what it reads', [
    commandFor(call, words, shownPlaceholder),
  ]);
}

const parallelFlags = new Set(
  (
    '--keep-order --null --bar --eta --progress --tag --dry-run --dryrun --line-buffer --linebuffer --lb --ungroup --group ' +
    '--verbose --link --xapply --shuf --pipe --pipepart --pipe-part --round-robin --roundrobin --resume --resume-failed ' +
    '--retry-failed --no-notice --will-cite --no-run-if-empty --version --help --color --colour --files --fg --bg --silent --csv ' +
    '--interactive --compress --wait --cat --fifo --gnu --exit --quote --xargs --replace --max-lines --eof'
  ).split(' '),
);
const parallelValues = new Set(
  (
    '--jobs --max-procs --arg-file --arg-file-sep --arg-sep --colsep --max-args --max-replace-args --max-chars --joblog --results ' +
    '--res --delay --timeout --retries --block --block-size --tagstring --tmpdir --tempdir --memfree --memsuspend --load --nice ' +
    '--halt --halt-on-error --env --wd --workdir --delimiter --header --termseq --total-jobs --block-timeout --recstart --recend ' +
    '--id --semaphorename --st --semaphoretimeout'
  ).split(' '),
);

/** The words behind its options; undefined behind one that is not known: what seems to be the command may be its value. */
function behindOptions(words: readonly Word[]): readonly Word[] | undefined {
  let at = 0;
  for (; at < words.length; at += 1) {
    const value = knownValue(words[at]);
    if (value === '--') return words.slice(at + 1);
    if (value === undefined || !/^-./.test(value)) return words.slice(at);
    const name = value.split('=')[0] ?? value;
    if (value.startsWith('--')) {
      if (!parallelFlags.has(name) && !parallelValues.has(name)) return undefined;
      if (parallelValues.has(value)) at += 1;
      continue;
    }
    // Letters without a value, then one with it or the start of what it stands for: `-kj4`, `-I%`.
    const last = /^-[kq0utXmrvxphV]*(?:$|([jPaICNnLdEsi])(.*)$|[el].*$)/s.exec(value);
    if (last === null) return undefined;
    if (last[1] !== undefined && last[1] !== 'i' && last[2] === '') at += 1;
  }
  return [];
}

/** Its words are shell text; without any, what it reads is. */
export function readParallel(call: ProgramCall): Reading {
  const operands = behindOptions(call.words);
  if (operands === undefined)
    return unreadable(call.text, 'an option of parallel that is not known: it may be the command');
  const end = operands.findIndex((word) => names('::: :::: :::+ ::::+').includes(knownValue(word) ?? ''));
  const command = end === -1 ? operands : operands.slice(0, end);
  const values = command.map(knownValue);
  // `{= =}` holds code of perl.
  const isCode = call.words.some(({ text }) => text.includes('{='));
  if (command.length === 0 || isCode || values.includes(undefined) || /^\{.*\}$/.test(values[0] ?? '')) {
    return unreadable(call.text, 'the command is computed');
  }
  const filled = values.map((value) => value?.replace(/\{[^{}\s]*\}/g, '$_'));
  const more = String(filled) === String(values) ? ' $_' : '';
  const text = call.reader.text(`${filled.join(' ')}${more}`, {
    ...call.around,
    input: { kind: 'stream', networked: false },
  });
  return reading(call, readOnly, 'parallel runs a command with what it reads', [text]);
}
