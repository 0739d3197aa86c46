/**
 * What a script can put into its variables, gathered before it is read. Not in order and not by branch: a variable has every value
 * that any assignment gives it. Where one of them is computed, or could come from elsewhere, it can hold anything: so it can where
 * it is used before it is sure to be assigned.
 */
import type { Assignment, forEachChild, SyntaxNode, Word as SyntaxWord } from 'unbash';
import { shellWordValues } from '../base/limits/decisions.js';
import { fieldsFrom, type Variables, wordFrom } from './word.js';

export interface Names {
  readonly variables: Variables;
  readonly functions: ReadonlySet<string>;
}

/** They set variables out of sight. */
const setsUnseen = new Set(['source', '.', 'eval', 'read', 'mapfile', 'readarray', 'getopts', 'printf']);
const declares = new Set(['export', 'declare', 'typeset', 'local', 'readonly']);

interface Given {
  /** Undefined where it is computed. */
  readonly word: SyntaxWord | undefined;
  /** In the list of a loop a word may become several: each is a value. */
  readonly inList: boolean;
}

type Assignments = Map<string, Given[]>;

function add(assignments: Assignments, name: string, word: SyntaxWord | undefined, inList = false): void {
  const known = assignments.get(name);
  if (known === undefined) assignments.set(name, [{ word, inList }]);
  else known.push({ word, inList });
}

/** One for each word that it becomes. */
function valuesOf({ word, inList }: Given, variables: Variables): readonly (readonly string[] | undefined)[] {
  if (word === undefined) return [undefined];
  return (inList ? fieldsFrom(word, variables) : [wordFrom(word, variables)]).map(({ values }) => values);
}

/** A computed word given to a declaration can set any variable. */
function hidesAssignment(node: SyntaxNode & { readonly type: 'Command' }): boolean {
  const name = node.name?.value ?? '';
  if (setsUnseen.has(name))
    return name !== 'printf' || node.args.some((word) => word.type === 'Word' && word.value === '-v');
  return declares.has(name) && node.args.some((word) => word.type === 'Word' && word.parts !== undefined);
}

function gather(
  node: SyntaxNode,
  visit: typeof forEachChild,
  assignments: Assignments,
  functions: Set<string>,
): boolean {
  let unseen = false;
  /** Parsed as assignments, and of no variable. */
  const aliases = new Set<unknown>();
  const each = (child: SyntaxNode): void => {
    if (child.type === 'Command' && child.name?.value === 'alias') for (const word of child.args) aliases.add(word);
    if (child.type === 'Assignment') {
      const plain = child.value.type === 'Word' && child.index === undefined && child.append !== true;
      if (!aliases.has(child)) add(assignments, child.name, plain ? (child.value as SyntaxWord) : undefined);
    } else if (child.type === 'For') {
      for (const word of child.wordlist ?? [undefined]) add(assignments, child.name.value, word, true);
    } else if (child.type === 'Select') add(assignments, child.name.value, undefined);
    else if (child.type === 'Function') functions.add(child.name.value);
    else if (child.type === 'Command' && hidesAssignment(child)) unseen = true;
    else if (child.type === 'ParameterExpansion' && child.operation?.type === 'Default') {
      if (child.operation.operator.includes('=')) add(assignments, child.parameter, undefined);
    }
    visit(child, each);
  };
  visit(node, each);
  return unseen;
}

/** A word that is there for sure. */
const isPlain = (word: SyntaxWord | Assignment | undefined) => word?.type === 'Word' && word.parts === undefined;

/**
 * Names that are used where no assignment was made for sure before: there they may hold what they held outside, which is not known.
 * `set`: those that were assigned by then, in their order.
 */
function usedBefore(node: SyntaxNode, visit: typeof forEachChild, set: Set<string>, used: Set<string>): void {
  const go = (child: SyntaxNode) => usedBefore(child, visit, set, used);
  /** What it sets is set in it alone. Taken back and not copied: a text may have thousands. */
  const goApart = (child: SyntaxNode) => {
    const { size } = set;
    go(child);
    if (set.size > size) for (const name of [...set].slice(size)) set.delete(name);
  };
  /** What is run in a process of its own, or perhaps not at all, sets nothing for what follows. */
  const apart = () => visit(node, goApart);
  const use = (name: string) => {
    if (!set.has(name)) used.add(name);
  };
  switch (node.type) {
    case 'Script':
    case 'CompoundList':
      for (const statement of node.commands) go(statement);
      return;
    case 'Statement':
      if (node.background === true) goApart(node.command);
      else go(node.command);
      return;
    case 'AndOr': {
      const [first, ...rest] = node.commands;
      if (first !== undefined) go(first);
      const { size } = set;
      // Each of `a && X=1 && b $X` comes after the one before it.
      const isChain = node.operators.every((operator) => operator === '&&');
      for (const each of rest) isChain ? go(each) : goApart(each);
      if (set.size > size) for (const name of [...set].slice(size)) set.delete(name);
      return;
    }
    case 'Command': {
      const assigns = node.name === undefined || declares.has(node.name.value);
      visit(node, (child) => {
        go(child);
        if (assigns && child.type === 'Assignment' && child.index === undefined && child.append !== true)
          set.add(child.name);
      });
      return;
    }
    case 'For': {
      for (const word of node.wordlist ?? []) go(word);
      const { value: name } = node.name;
      const isNew = !set.has(name);
      set.add(name);
      goApart(node.body);
      if (isNew && node.wordlist?.some(isPlain) !== true) set.delete(name);
      return;
    }
    case 'Assignment':
      if (node.append === true) use(node.name);
      apart();
      return;
    case 'SimpleExpansion':
      use(node.text.slice(1));
      return;
    case 'ParameterExpansion':
      // What `${X:-a}` gives is not known anyway; `${X@P}` is run.
      if (node.operation === undefined || node.operation.type === 'Transform') use(node.parameter);
      apart();
      return;
    default:
      apart();
  }
}

/** `X=a; Y=$X` needs a round for each step; what does not settle is not known. */
const rounds = 4;

export function namesIn(script: SyntaxNode, visit: typeof forEachChild, given: Variables): Names {
  const assignments: Assignments = new Map();
  const functions = new Set<string>();
  if (gather(script, visit, assignments, functions)) return { variables: new Map(), functions };
  const used = new Set<string>();
  usedBefore(script, visit, new Set(), used);
  let variables: Variables = given;
  for (let round = 0; round < rounds; round += 1) {
    const next = new Map<string, readonly string[] | undefined>(given);
    let settled = true;
    for (const [name, given] of assignments) {
      const values = used.has(name) ? [undefined] : given.flatMap((each) => valuesOf(each, variables));
      const known = values.includes(undefined) ? undefined : [...new Set(values.flatMap((value) => value ?? []))];
      const kept = known !== undefined && known.length <= shellWordValues ? known : undefined;
      if (String(variables.get(name)) !== String(kept)) settled = false;
      next.set(name, kept);
    }
    variables = next;
    if (settled) break;
  }
  return { variables, functions };
}
