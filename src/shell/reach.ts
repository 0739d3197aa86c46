/**
 * From where on a variable or a function of a script is surely what the script sets it to: behind what sets it, to the
 * end of the list of commands that holds it. Before that, beside it (a branch that may not be taken, a subshell, a job)
 * the variable is what it was outside, and the function may be a program. Pure.
 */
import type { Assignment, forEachChild, ParsedScript, PipelineNode, Statement, SyntaxNode } from 'unbash';
import type { Grammar } from './surroundings.js';

interface Stretch {
  readonly from: number;
  readonly to: number;
}

export type Stretches = ReadonlyMap<string, readonly Stretch[]>;

export interface Reach {
  readonly functions: Stretches;
  /** Variables that are used where they are not sure to be set: there they hold what they held outside, which is not known. */
  readonly loose: ReadonlySet<string>;
}

type Kind = 'variables' | 'functions';
type Sets = Readonly<Record<Kind, ReadonlySet<string>>>;

const nothing: Sets = { variables: new Set(), functions: new Set() };
const variable = (...names: readonly string[]): Sets => ({ ...nothing, variables: new Set(names) });
const declares = new Set(['export', 'declare', 'typeset', 'local', 'readonly']);

function union(all: readonly Sets[]): Sets {
  const of = (kind: Kind) => new Set(all.flatMap((each) => [...each[kind]]));
  return { variables: of('variables'), functions: of('functions') };
}

const isWhole = ({ index, append }: Assignment) => index === undefined && append !== true;

/** What each of these branches sets; nothing where there is none. */
function inEach([first = nothing, ...others]: readonly Sets[]): Sets {
  const of = (kind: Kind) => new Set([...first[kind]].filter((name) => others.every((each) => each[kind].has(name))));
  return { variables: of('variables'), functions: of('functions') };
}

const setByAll = (list: { readonly commands: readonly Statement[] } | undefined): Sets =>
  union((list?.commands ?? []).map(({ background, command }) => (background === true ? nothing : setBy(command))));

/** What is set once this has run, whatever its answer. */
function setBy(node: PipelineNode | Statement['command']): Sets {
  switch (node.type) {
    case 'Command': {
      const of = node.name === undefined ? node.prefix : declares.has(node.name.value) ? node.args : [];
      return variable(...of.flatMap((each) => (each.type === 'Assignment' && isWhole(each) ? [each.name] : [])));
    }
    case 'For':
      return node.wordlist?.some(({ parts }) => parts === undefined) === true ? variable(node.name.value) : nothing;
    case 'Function':
      return { ...nothing, functions: new Set([node.name.value]) };
    case 'BraceGroup':
      return setByAll(node.body);
    case 'AndOr':
      return node.commands[0] === undefined ? nothing : setBy(node.commands[0]);
    case 'If': {
      const last = node.else === undefined ? nothing : setByAll(node.else);
      const branches = inEach([setByAll(node.then), ...node.elif.map((each) => setByAll(each.then)), last]);
      return union([setByAll(node.clause), branches]);
    }
    case 'Case': {
      const isSure = node.items.at(-1)?.pattern.some(({ value }) => value === '*') === true;
      return isSure ? inEach(node.items.map(({ body }) => setByAll(body))) : nothing;
    }
    default:
      return nothing;
  }
}

class Walk {
  readonly #visit: typeof forEachChild;
  readonly sets: Record<Kind, Map<string, Stretch[]>> = { variables: new Map(), functions: new Map() };
  readonly uses: (readonly [name: string, at: number])[] = [];
  /** Defined by a word that not every shell knows. */
  readonly byKeyword = new Set<string>();

  constructor(visit: typeof forEachChild) {
    this.#visit = visit;
  }

  node(node: SyntaxNode, hasPlaces = true): void {
    // A text of its own: its places are not those of the whole.
    const inner = hasPlaces && !(node.type === 'Script' && (node as ParsedScript).source !== undefined);
    if (node.type === 'SimpleExpansion') this.uses.push([node.text.slice(1), inner ? node.pos : -1]);
    // What `${X:-a}` gives is not known anyway; `${X@P}` is run.
    const isPlain = node.type === 'ParameterExpansion' && (node.operation?.type ?? 'Transform') === 'Transform';
    if (isPlain) this.uses.push([node.parameter, inner ? node.pos : -1]);
    if (node.type === 'Assignment' && node.append === true) this.uses.push([node.name, inner ? node.pos : -1]);
    if (inner) this.#stretches(node);
    this.#visit(node, (child) => this.node(child, inner));
  }

  #add(sets: Sets, from: number, to: number): void {
    for (const kind of ['variables', 'functions'] as const) {
      for (const name of sets[kind]) {
        const known = this.sets[kind].get(name) ?? [];
        const last = known.at(-1);
        // Of two to one end the longer one holds.
        if (last?.to === to) known[known.length - 1] = { from: Math.min(last.from, from), to };
        else known.push({ from, to });
        this.sets[kind].set(name, known);
      }
    }
  }

  #stretches(node: SyntaxNode): void {
    if (node.type === 'Script' || node.type === 'CompoundList') {
      for (const { background, command, end } of node.commands) {
        if (background !== true) this.#add(setBy(command), end, node.end);
      }
    } else if (node.type === 'AndOr') {
      // What follows the first `||` may come without what was between.
      const or = node.operators.indexOf('||');
      const sure = or < 0 ? node.end : (node.commands[or]?.end ?? node.end);
      for (const [at, command] of node.commands.entries()) {
        if (at === 0) this.#add(setBy(command), command.end, node.end);
        else if (command.end < sure) this.#add(setBy(command), command.end, sure);
      }
    } else if (node.type === 'For') {
      this.#add(variable(node.name.value), node.body.pos, node.body.end);
    } else if (node.type === 'Function') {
      if (node.name.pos > node.pos) this.byKeyword.add(node.name.value);
      this.#add({ ...nothing, functions: new Set([node.name.value]) }, node.body.pos, node.body.end);
    }
  }
}

export function isWithin(stretches: readonly Stretch[] | undefined, at: number): boolean {
  return stretches?.some(({ from, to }) => from <= at && at <= to) === true;
}

export interface Place {
  /** Names that the script takes back somewhere: none of these functions is sure to be there. */
  readonly unsets: ReadonlySet<string>;
  readonly grammar: Grammar;
}

export function reachOf(script: SyntaxNode, visit: typeof forEachChild, { unsets, grammar }: Place): Reach {
  const walk = new Walk(visit);
  walk.node(script);
  const { variables, functions } = walk.sets;
  const unknown = grammar === 'sh' ? walk.byKeyword : new Set<string>();
  const loose = walk.uses.filter(([name, at]) => !isWithin(variables.get(name), at));
  return {
    functions: new Map([...functions].filter(([name]) => !unsets.has(name) && !unknown.has(name))),
    loose: new Set(loose.map(([name]) => name)),
  };
}
