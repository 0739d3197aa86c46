/**
 * What a script can put into its variables, gathered before it is read. Not in order and not by branch: a variable has every value
 * that any assignment gives it. Where one of them is computed, or could come from elsewhere, it can hold anything: so it can where
 * it is used before it is sure to be assigned. Where the script takes it back it may be empty.
 */
import type { forEachChild, SyntaxNode, Word as SyntaxWord } from 'unbash';
import { shellWordValues } from '../base/limits/decisions.js';
import { reachOf, type Stretches } from './reach.js';
import type { Surroundings } from './surroundings.js';
import { fieldsFrom, type Variables, wordFrom } from './word.js';
import { setByZsh } from './zsh.js';

export interface Names {
  readonly variables: Variables;
  readonly functions: Stretches;
}

/** They set variables out of sight. */
const setsUnseen = new Set(['source', '.', 'eval', 'read', 'mapfile', 'readarray', 'getopts', 'printf']);
const declares = new Set(['export', 'declare', 'typeset', 'local', 'readonly']);
/** They run what is not of this script, or is computed: it may take functions back. */
const runsUnseen = new Set(['source', '.', 'eval', 'mapfile', 'readarray']);
/** The shell sets them itself, whatever the script does. */
const setByShell =
  /^(?:_|RANDOM|SRANDOM|SECONDS|LINENO|EPOCH.*|PWD|OLDPWD|DIRSTACK|REPLY|MAPFILE|OPT(?:ARG|IND)|COPROC.*|PIPESTATUS|FUNCNAME|GROUPS|HIST.*|BASH.*|COMP_.*|READLINE_.*|SHLVL|E?UID|PPID)$/;
/** What is given to it becomes something else: a number, or other letters. */
const converts = /^[-+][a-zA-Z]*[luciLRZ]/;
/** Names that a text says otherwise than to ask for their value. */
const setsName = /(?<![$\w])(?<!\$\{)([A-Za-z_]\w*)|\$\{([A-Za-z_]\w*):?=/g;
/** In a function they make a variable of its own, which is empty. */
const hidesOuter = new Set(['declare', 'typeset', 'local']);

/** In a text, what sets or takes back more than it assigns. */
const setsMore =
  /\b(?:alias|declare|typeset|export|readonly|local|read|mapfile|readarray|eval|source|getopts|unset|printf|set|shift|let)\b|(?:^|[\s;&|'"])\.\s/;

interface Given {
  /** Undefined where it is computed. */
  readonly word: SyntaxWord | undefined;
  /** In the list of a loop a word may become several: each is a value. */
  readonly inList: boolean;
}

type CommandNode = SyntaxNode & { readonly type: 'Command' };

type Assignments = Map<string, Given[]>;

function add(assignments: Assignments, name: string, given: Partial<Given> = {}): void {
  const whole = { word: undefined, inList: false, ...given };
  const known = assignments.get(name);
  if (known === undefined) assignments.set(name, [whole]);
  else known.push(whole);
}

/** One for each word that it becomes. */
function valuesOf({ word, inList }: Given, variables: Variables): readonly (readonly string[] | undefined)[] {
  if (word === undefined) return [undefined];
  return (inList ? fieldsFrom(word, variables) : [wordFrom(word, variables)]).map(({ values }) => values);
}

/** The command that runs here, and its words: `builtin`, `command` and their options are no part of it. */
function commandOf(node: CommandNode): {
  readonly name: string;
  readonly words: CommandNode['args'];
  readonly isWrapped: boolean;
} {
  const words = [...node.args];
  let name = node.name?.value ?? '';
  let isWrapped = false;
  while (name === 'builtin' || name === 'command') {
    while (words[0]?.type === 'Word' && /^-[p-]?$/.test(words[0].value)) words.shift();
    const [first] = words;
    if (first?.type !== 'Word' || first.value.startsWith('-')) break;
    words.shift();
    name = first.value;
    isWrapped = true;
  }
  return { name, words, isWrapped };
}

/** A computed word given to a declaration can set any variable, and so can a name for another one. */
function hidesAssignment(node: CommandNode): boolean {
  const { name, words, isWrapped } = commandOf(node);
  // Attached to its name only where it is first; a computed word may be before it.
  const values = words.map((word) => (word.type === 'Word' ? word.value : ''));
  if (name === 'printf') {
    // `printf $OPTION NAME FORMAT`, or all of it in one.
    const [first] = words;
    const start = first?.type === 'Word' ? first.parts?.[0] : undefined;
    const isComputed =
      start?.type.endsWith('Expansion') === true ||
      (start?.type === 'DoubleQuoted' && words.length > 2 && start.parts[0]?.type.endsWith('Expansion') === true);
    return isComputed || values.includes('-v') || values[0]?.startsWith('-v') === true;
  }
  if (setsUnseen.has(name)) return true;
  if (!declares.has(name)) return false;
  // Behind `command`, and behind `'export'`, its words are not parsed as assignments.
  return words.some(
    (word) => word.type === 'Word' && (word.parts !== undefined || isWrapped || /^-[a-zA-Z]*n|=/.test(word.value)),
  );
}

/** `set -- a`, `shift`: what the script was given is not what it has. `set -eo pipefail` is. */
function setsPositional(node: CommandNode): boolean {
  const { name, words } = commandOf(node);
  if (name === 'shift') return true;
  if (name !== 'set') return false;
  const values = words.map((word) => (word.type === 'Word' && word.parts === undefined ? word.value : '--'));
  return values.some((value, at) => !/^[-+][a-zA-Z]+$/.test(value) && !/^[-+][a-zA-Z]*o$/.test(values[at - 1] ?? ''));
}

/** What is gathered of a whole script. */
class Found {
  readonly assignments: Assignments = new Map();
  /** Variables and functions that it takes back. */
  readonly unsets = new Set<string>();
  /** Something sets variables out of sight. */
  unseen = false;
  /** Functions may be taken back out of sight. */
  takesBack = false;
  /** What the script was given may be something else. */
  positional = false;
  /** Words of commands whose name is computed: it could set any of these. */
  readonly #touched = new Set<string>();
  /** A command is named by what a variable holds: `X='unset -f rm'; $X`. */
  #isNamed = false;
  /** Parsed as assignments, and of no variable. */
  readonly #aliases = new Set<unknown>();

  #command(node: CommandNode): void {
    const { name, words } = commandOf(node);
    if (name === 'alias') for (const word of words) this.#aliases.add(word);
    if (runsUnseen.has(name)) this.takesBack = true;
    if (hidesAssignment(node)) this.unseen = true;
    if (setsPositional(node)) this.positional = true;
    const isComputed = node.name?.parts?.some(({ type }) => !/Literal|Quoted/.test(type)) === true;
    if (isComputed) this.#isNamed = true;
    const isConverted = declares.has(name) && words.some((word) => word.type === 'Word' && converts.test(word.value));
    for (const word of words) {
      if (isConverted) add(this.assignments, word.type === 'Word' ? word.value : word.name);
      if (word.type !== 'Word') continue;
      if (word.parts !== undefined && (isComputed || name === 'unset')) this.takesBack = true;
      const known = /^\w+/.exec(word.value)?.[0] ?? '';
      if (isComputed) {
        this.#touched.add(known).add(word.value);
        if (word.parts !== undefined) this.#later(word.value);
      }
      if (name === 'unset' && word.parts !== undefined) this.unseen = true;
      if (name === 'unset' || (hidesOuter.has(name) && known === word.value)) this.unsets.add(known);
    }
    const [action] = words.filter((word) => word.type !== 'Word' || word.value !== '--');
    if (name === 'trap' && action !== undefined) this.#later(action.text);
  }

  /** A text that runs in between, whenever a signal comes. */
  #later(text: string): void {
    const plain = text.replaceAll('\\\n', '');
    for (const [, first, second] of plain.matchAll(setsName)) add(this.assignments, first ?? second ?? '');
    if (setsMore.test(plain)) this.#anything();
  }

  #anything(): void {
    this.unseen = true;
    this.takesBack = true;
    this.positional = true;
  }

  readonly see = (child: SyntaxNode): void => {
    if (child.type === 'Command') this.#command(child);
    else if (child.type === 'Assignment') {
      const plain = child.value.type === 'Word' && child.index === undefined && child.append !== true;
      const word = plain ? (child.value as SyntaxWord) : undefined;
      if (!this.#aliases.has(child)) add(this.assignments, child.name, { word });
    } else if (child.type === 'For') {
      for (const word of child.wordlist ?? [undefined]) add(this.assignments, child.name.value, { word, inList: true });
    } else if (child.type === 'Select') add(this.assignments, child.name.value);
    else if (child.type === 'Coproc' && child.name !== undefined) add(this.assignments, child.name.value);
    // A function has words of its own.
    else if (child.type === 'Function') this.positional = true;
    else if (child.type === 'ParameterExpansion' && child.operation?.type === 'Default') {
      if (child.operation.operator.includes('=')) add(this.assignments, child.parameter);
    }
  };

  /** `given`: what variables held before. */
  end(given: Variables): this {
    const held = [...this.assignments.values()].flatMap((all) => all.map(({ word }) => word?.text ?? ''));
    const values = [...held, ...[...given.values()].flatMap((all) => all ?? [])];
    if (this.#isNamed && values.some((text) => /\s/.test(text) && setsMore.test(text))) this.#anything();
    for (const name of this.#touched) {
      if (this.assignments.has(name)) add(this.assignments, name);
      this.unsets.add(name);
    }
    for (const name of this.assignments.keys()) if (setByShell.test(name)) add(this.assignments, name);
    return this;
  }
}

function gather(node: SyntaxNode, visit: typeof forEachChild, given: Variables): Found {
  const found = new Found();
  const each = (child: SyntaxNode): void => {
    found.see(child);
    visit(child, each);
  };
  visit(node, each);
  return found.end(given);
}

/** `X=a; Y=$X` needs a round for each step; what does not settle is not known. */
const rounds = 4;

/** `hasAliases`: behind a name that is one anything may be set and taken back. */
export function namesIn(
  script: SyntaxNode,
  visit: typeof forEachChild,
  around: Surroundings,
  hasAliases: boolean,
): Names {
  const { assignments, unsets, unseen, takesBack, positional } = gather(script, visit, around.variables);
  const reach = reachOf(script, visit, { unsets, grammar: around.grammar });
  const functions: Stretches = takesBack || hasAliases ? new Map() : reach.functions;
  if (unseen || hasAliases) return { variables: new Map(), functions };
  const all = [...around.variables];
  const given: Variables = new Map(positional ? all.filter(([name]) => !/^[1-9]/.test(name)) : all);
  let variables: Variables = given;
  for (let round = 0; round < rounds; round += 1) {
    const next = new Map<string, readonly string[] | undefined>(given);
    let settled = true;
    for (const [name, all] of assignments) {
      const values = reach.loose.has(name) ? [undefined] : all.flatMap((each) => valuesOf(each, variables));
      if (unsets.has(name)) values.push(['']);
      const known = values.includes(undefined) ? undefined : [...new Set(values.flatMap((value) => value ?? []))];
      // Zsh divides no value that is not quoted.
      const isOdd =
        around.grammar === 'zsh' && (setByZsh.test(name) || known?.some((value) => /\s/.test(value)) === true);
      const kept = known !== undefined && known.length <= shellWordValues && !isOdd ? known : undefined;
      if (String(variables.get(name)) !== String(kept)) settled = false;
      next.set(name, kept);
    }
    variables = next;
    if (settled) break;
  }
  return { variables, functions };
}

/** `a[$(rm b)]`, which runs where it is taken for a number or for a name. */
const index = /\w\[[^\]]*(?:\$\([^)]*\)|`[^`]*`)/;

export function hasIndex(value: string): boolean {
  return index.test(value);
}

/** Texts of a script that are no code where they are written, and are where they are calculated with: `f 'a[$(rm b)]'`. */
export function indexesIn(script: SyntaxNode, visit: typeof forEachChild, variables: Variables): readonly string[] {
  const found = new Set<string>();
  const see = (node: SyntaxNode): void => {
    const isText = node.type === 'SingleQuoted' || node.type === 'AnsiCQuoted';
    const values = node.type === 'Word' ? wordFrom(node, variables).values : isText ? [node.value] : [];
    // Without parts it is quoted as a whole.
    if (node.type === 'HereDocBody' && node.parts === undefined && hasIndex(node.text)) found.add(node.text);
    for (const value of values ?? []) if (hasIndex(value)) found.add(value);
    visit(node, see);
  };
  visit(script, see);
  return [...found];
}
