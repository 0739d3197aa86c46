/**
 * Functions that run what they are called with: `run() { echo "$*"; "$@"; }`, `step() { shift; timeout 5 "$@"; }`. What that is, each
 * call says, so it is read there, in every text that can call them; the body itself is no computed command.
 */
import type { Command, Function as FunctionNode, forEachChild, Statement, SyntaxNode } from 'unbash';
import { plainWord, type Word } from './word.js';

/** As one word each, just as they were given. */
const ownWords = /^"\$(?:@|\{@\})"$/;

/** With these the words may be others by then, or come from elsewhere. */
const changesWords = new Set(['shift', 'set', 'eval', 'source', '.', 'trap', 'alias', 'builtin', 'command', 'exec']);

/** How a function runs its words: behind `before`, and without the first of them. */
interface Form {
  readonly before: readonly Word[];
  readonly shifted: number;
}

/** By name; several where it does so in several places. */
export type Runners = ReadonlyMap<string, readonly Form[]>;

function isPlainName({ name }: Command): boolean {
  return name === undefined || name.parts === undefined;
}

/** What is before the words of its function, where a command ends with those: `timeout 5 "$@"`. */
function wordsBefore({ name, args, prefix }: Command): readonly Word[] | undefined {
  const words = name === undefined ? [] : [name, ...args];
  const last = words.at(-1);
  if (prefix.length > 0 || last === undefined || !ownWords.test(last.text)) return undefined;
  const before = words.slice(0, -1);
  const plain = before.flatMap((word) =>
    word.type === 'Word' && word.parts === undefined ? plainWord(word.value) : [],
  );
  return plain.length === before.length ? plain : undefined;
}

/** A command that is the words of its function, and nothing more. */
export function isOwnWords(command: Command): boolean {
  return wordsBefore(command)?.length === 0;
}

/** One that runs them behind words of its own. */
export function endsWithOwnWords(command: Command): boolean {
  return wordsBefore(command) !== undefined;
}

/** How many words a statement drops: `shift`, by itself. Undefined for any other. */
function shiftOf({ command, background }: Statement): number | undefined {
  const only = command.type === 'Command' && background !== true ? command : undefined;
  if (only?.name?.text !== 'shift' || only.prefix.length + only.redirects.length > 0) return undefined;
  const [count, ...more] = only.args.map(({ text }) => text);
  return more.length === 0 && /^[1-9]?$/.test(count ?? '') ? Number(count ?? 1) : undefined;
}

/** None where its own words are not the ones that it was called with, to its end. */
export function formsOf(node: FunctionNode, children: typeof forEachChild): readonly Form[] {
  const forms: Form[] = [];
  let isPlain = node.name.parts === undefined;
  let shifted = 0;
  const see = (child: SyntaxNode): void => {
    if (child.type === 'Function') isPlain = false;
    const before = child.type === 'Command' ? wordsBefore(child) : undefined;
    if (before !== undefined && !changesWords.has(before[0]?.text ?? '')) forms.push({ before, shifted });
    else if (child.type === 'Command' && (!isPlainName(child) || changesWords.has(child.name?.value ?? '')))
      isPlain = false;
    children(child, see);
  };
  const { body } = node;
  if (body.type !== 'BraceGroup') children(node, see);
  else
    for (const statement of body.body.commands) {
      const dropped = shiftOf(statement);
      if (dropped === undefined) see(statement);
      else shifted += dropped;
    }
  return isPlain ? forms : [];
}

/** Those of a script, with those around it. */
export function runnersIn(script: SyntaxNode, children: typeof forEachChild, around: Runners = new Map()): Runners {
  const found = new Map<string, readonly Form[]>(around);
  const see = (child: SyntaxNode): void => {
    if (child.type === 'Function') {
      const name = child.name.value;
      const forms = formsOf(child, children);
      if (forms.length > 0) found.set(name, [...(found.get(name) ?? []), ...forms]);
    }
    children(child, see);
  };
  children(script, see);
  return found;
}

/** What the function runs where it is called with these words, each time; undefined for what cannot be known. */
export function calledWords(forms: readonly Form[], given: readonly Word[]): readonly (readonly Word[] | undefined)[] {
  return forms.map(({ before, shifted }) => {
    const dropped = given.slice(0, shifted);
    if (dropped.length < shifted || dropped.some(({ splits }) => splits)) return undefined;
    const words = [...before, ...given.slice(shifted)];
    // `run set -- rm a`: what it runs next would be other words.
    return words[0]?.values?.some((value) => changesWords.has(value)) === true ? undefined : words;
  });
}
