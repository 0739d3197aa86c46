/** A parsed script: every command of it, wherever it is, with what it is given and where its output goes. */
import type {
  ArithmeticCommand,
  Assignment,
  Command,
  Function as FunctionNode,
  forEachChild,
  ParameterExpansionPart,
  ParsedScript,
  Redirection,
  SyntaxNode,
  Word as SyntaxWord,
  TestCommand,
  TestExpression,
} from 'unbash';
import { classesOf, networked } from './classes.js';
import { dividesInSh, expansionsThatEndEarlier, hasOverlooked } from './parser-gaps.js';
import { isWithin, type Stretches } from './reach.js';
import { assignedIn, assignmentReading, hiddenCode, poisoned, promptCode } from './read-builtin.js';
import { readRedirections } from './read-redirections.js';
import { allClasses, everyReading, holding, type Reading, unreadable } from './reading.js';
import { endsWithOwnWords, formsOf, isOwnWords } from './runners.js';
import { type Reader, type ShellInput, type Surroundings, unknownInput } from './surroundings.js';
import { fieldsFrom, knownValue, plainWord, unknownWord, type Word, wordFrom } from './word.js';
import { isLookedUpByZsh } from './zsh.js';

export interface ScriptVisit {
  readonly reader: Reader;
  readonly children: typeof forEachChild;
  readonly source: string;
  /** Where functions of the text are in force; in a text within it, whose places are its own, none is known to be. */
  readonly functions: Stretches;
}

const evaluates = /^-(?:eq|ne|lt|le|gt|ge|v)$/;

export class ScriptReading {
  readonly #reader: Reader;
  readonly #children: typeof forEachChild;
  readonly #source: string;
  readonly #functions: Stretches;

  constructor({ reader, children, source, functions }: ScriptVisit) {
    this.#reader = reader;
    this.#children = children;
    this.#source = source;
    this.#functions = functions;
  }

  script(script: ParsedScript, around: Surroundings): Reading {
    const inner =
      script.source === undefined
        ? this
        : new ScriptReading({ ...this.#visit(), source: script.source, functions: new Map() });
    const parts = script.commands.flatMap((statement) => inner.#node(statement.command, around));
    const [error] = script.errors ?? [];
    if (error !== undefined)
      return unreadable(this.#text(script), `it is not a complete shell text: ${error.message}`, parts);
    return holding(this.#text(script), 'shell text', parts);
  }

  #visit(): ScriptVisit {
    return {
      reader: this.#reader,
      children: this.#children,
      source: this.#source,
      functions: this.#functions,
    };
  }

  #text({ pos, end }: { readonly pos: number; readonly end: number }): string {
    return this.#source.slice(pos, end);
  }

  /** Everything that runs in a node of any kind. */
  #node(node: SyntaxNode, around: Surroundings): readonly Reading[] {
    switch (node.type) {
      case 'Command':
        return [this.#command(node, around)];
      case 'Pipeline':
        return this.#pipeline(node.commands, around);
      case 'Statement':
        return this.#node(node.command, around);
      case 'Redirected': {
        const { readings, input } = this.#redirected(node.redirects, around);
        return [...readings, ...this.#node(node.command, { ...around, input })];
      }
      case 'CommandExpansion':
      case 'ProcessSubstitution':
      case 'ArithmeticCommandExpansion': {
        if (node.script === undefined) return [unreadable(node.text, 'a substitution that cannot be read')];
        // What is written to `>(bash)` is run.
        const isWritten = node.type === 'ProcessSubstitution' && node.operator === '>';
        const input = isWritten ? unknownInput : around.input;
        const read = this.script(node.script, { ...around, input, quotesAreLetters: false });
        return [{ ...read, text: node.text, why: read.readable ? 'a substitution' : read.why }];
      }
      case 'ExtendedGlob':
        if (around.grammar !== 'zsh') return this.#inside(node, around);
        return [unreadable(node.text, 'zsh may run what is in the brackets of a pattern: use bash')];
      case 'Word': {
        if (around.grammar === 'zsh' && isLookedUpByZsh(node.text))
          return [unreadable(node.text, 'zsh looks up a program for it: use bash')];
        if (!hasOverlooked(node)) return this.#inside(node, around);
        return [unreadable(node.text, 'a substitution beside an index that cannot be read')];
      }
      case 'DoubleQuoted':
        return [
          ...this.#inside(node, around),
          ...expansionsThatEndEarlier(node).map(({ text }) => unreadable(text, 'shells do not agree where this ends')),
        ];
      case 'SingleQuoted':
        return this.#letters(node, around);
      case 'AnsiCQuoted':
        if (around.grammar !== 'sh') return this.#letters(node, around);
        return [unreadable(node.text, `sh may read ${node.text} as a dollar and a word: use bash`)];
      case 'TestCommand':
        return [
          ...this.#test(node.expression, around),
          ...this.#inside(node, around),
          ...this.#asCommands(node, around),
        ];
      case 'ArithmeticCommand':
        return [...this.#evaluated(node, around), ...this.#asCommands(node, around)];
      case 'ArithmeticFor': {
        const counted = [node.initialize, node.test, node.update];
        return [...counted.flatMap((each) => this.#calculated(each, around)), ...this.#node(node.body, around)];
      }
      case 'ArithmeticWord':
        return node.parts === undefined
          ? hiddenCode(plainWord(node.value), this.#reader, around)
          : this.#inside(node, around);
      case 'ArithmeticExpansion':
      case 'Slice':
      case 'HereDocBody':
        return this.#evaluated(node, around);
      case 'Replace': {
        // A slash within a substitution is taken for the end of the pattern: `${x/$(rm a/b)/c}`.
        const operand = `${node.pattern.text}/${node.replacement.text}`;
        if (!/[$`]|[<>]\(/.test(operand)) return this.#inside(node, around);
        return [this.#reader.text(`: ${operand}`, { ...around, quotesAreLetters: true })];
      }
      case 'ParameterExpansion': {
        const operation = node.operation === undefined ? [] : this.#node(node.operation, around);
        const set = this.#default(node, around);
        return [...this.#prompt(node, around), ...this.#calculated(node.index, around), ...operation, ...set];
      }
      case 'Assignment':
        if (around.grammar === 'sh' && dividesInSh(node.index))
          return [unreadable(node.text, 'sh may not know arrays: use bash')];
        return [...this.#calculated(node.index, around), ...this.#node(node.value, around)];
      case 'FileDescriptorVariable':
        return poisoned(node.name);
      case 'Coproc':
        return [...poisoned(node.name?.value ?? ''), ...this.#inside(node, { ...around, input: unknownInput })];
      case 'ArrayValue':
        return node.elements.flatMap((each) =>
          this.#node(each, {
            ...around,
            quotesAreLetters: each.text.startsWith('[') || around.quotesAreLetters === true,
          }),
        );
      case 'Function':
        // What it reads is decided where it is called.
        return this.#inside(node, { ...around, input: unknownInput, inRunner: this.#isRunner(node, around) });
      case 'For':
        return [...poisoned(node.name.value), ...this.#inside(node, around)];
      case 'Select':
        return [
          ...poisoned(node.name.value),
          { ...holding(this.#text(node), 'select asks a person', this.#inside(node, around)), classes: classesOf('i') },
        ];
      default:
        return this.#inside(node, around);
    }
  }

  #isRunner(node: FunctionNode, { runners }: Surroundings): boolean {
    return runners?.has(node.name.value) === true && formsOf(node, this.#children).length > 0;
  }

  #inside(node: SyntaxNode, around: Surroundings): readonly Reading[] {
    const found: Reading[] = [];
    this.#children(node, (child) => {
      found.push(...this.#node(child, around));
    });
    return found;
  }

  /** As arithmetic, or as what is between double quotes. */
  #evaluated(node: SyntaxNode, around: Surroundings): readonly Reading[] {
    const assigned = node.type === 'HereDocBody' ? [] : assignedIn(this.#text(node));
    return [...assigned, ...this.#inside(node, { ...around, quotesAreLetters: true })];
  }

  /** An index, or a part of a loop that counts. */
  #calculated(node: SyntaxNode | undefined, around: Surroundings): readonly Reading[] {
    if (node === undefined) return [];
    return [...assignedIn(this.#text(node)), ...this.#node(node, { ...around, quotesAreLetters: true })];
  }

  /** `${X:=a}` sets it. */
  #default({ parameter, operation, text }: ParameterExpansionPart, around: Surroundings): readonly Reading[] {
    if (operation?.type !== 'Default' || !operation.operator.includes('=')) return [];
    const value = wordFrom(operation.operand, around.variables);
    const reading = assignmentReading({ name: parameter, value }, { reader: this.#reader, around, text });
    return reading === undefined ? [] : [reading];
  }

  #letters({ value }: { readonly value: string }, around: Surroundings): readonly Reading[] {
    return around.quotesAreLetters === true ? hiddenCode(plainWord(value), this.#reader, around) : [];
  }

  /** `${x@P}` runs the substitutions in the value; of `${!x@P}` it is the value of another variable. */
  #prompt(node: ParameterExpansionPart, around: Surroundings): readonly Reading[] {
    if (node.operation?.type !== 'Transform' || node.operation.operand.value !== 'P') return [];
    const values = node.prefix === undefined ? around.variables.get(node.parameter) : undefined;
    if (values === undefined) return [unreadable(node.text, 'a computed text is run as a prompt')];
    return values.flatMap((value) => promptCode(plainWord(value), this.#reader, around));
  }

  /** To a shell without them `[[ a || rm b ]]` runs `rm b ]]`, and `((rm -f b))` is a subshell. */
  #asCommands(node: TestCommand | ArithmeticCommand, around: Surroundings): readonly Reading[] {
    if (around.grammar !== 'sh') return [];
    const text = this.#text(node);
    const commands = node.type === 'TestCommand' ? `: ${text.slice(2)}` : text.slice(2, -2);
    const read = this.#reader.text(commands, around);
    if (!read.readable) return [unreadable(text, `sh may not know ${text.slice(0, 2)}: use bash`, [read])];
    // `[[ a && $B ]]` ends with the first, which is no program.
    return /\|\||\n/.test(text) ? read.parts : read.parts.filter(({ readable }) => readable);
  }

  /** Numbers and names in a test are evaluated. */
  #test(expression: TestExpression, around: Surroundings): readonly Reading[] {
    const hidden = (node: SyntaxWord) => {
      const word = wordFrom(node, around.variables);
      return [...hiddenCode(word, this.#reader, around), ...(word.values ?? []).flatMap(assignedIn)];
    };
    switch (expression.type) {
      case 'TestBinary':
        return evaluates.test(expression.operator) ? [...hidden(expression.left), ...hidden(expression.right)] : [];
      case 'TestUnary':
        return evaluates.test(expression.operator) ? hidden(expression.operand) : [];
      case 'TestLogical':
        return expression.operands.flatMap((operand) => this.#test(operand, around));
      case 'TestNot':
        return this.#test(expression.operand, around);
      default:
        return this.#test(expression.expression, around);
    }
  }

  #pipeline(commands: readonly SyntaxNode[], around: Surroundings): readonly Reading[] {
    const readings: Reading[] = [];
    let input = around.input;
    let spoken = false;
    for (const command of commands) {
      const found = this.#node(command, { ...around, input });
      readings.push(...found);
      spoken = spoken || found.some((reading) => (allClasses(reading) & networked) !== 0);
      input = this.#printed(command, around) ?? { kind: 'stream', networked: spoken };
    }
    return readings;
  }

  /** The text that `echo` or a plain `printf` prints, where it is known. */
  #printed(node: SyntaxNode, around: Surroundings): ShellInput | undefined {
    if (node.type !== 'Command' || node.redirects.length > 0 || node.args.some((word) => word.type !== 'Word'))
      return undefined;
    const words = node.args.map((word) => knownValue(wordFrom(word as SyntaxWord, around.variables)));
    if (words.includes(undefined)) return undefined;
    const [first = ''] = words;
    const isEcho = node.name?.value === 'echo' && !first.startsWith('-') && !words.some((word) => word?.includes('\\'));
    if (isEcho) return { kind: 'text', text: words.join(' ') };
    if (node.name?.value !== 'printf' || words.length !== 1 || first.startsWith('-')) return undefined;
    const plain = first.replaceAll('\\n', '\n');
    return /[%\\]/.test(plain) ? undefined : { kind: 'text', text: plain };
  }

  #assignment(assignment: Assignment, around: Surroundings, before: string): readonly Reading[] {
    const value =
      assignment.value.type === 'Word' ? wordFrom(assignment.value, around.variables) : unknownWord(assignment.text);
    const inner = this.#node(assignment, around);
    // `IFS= read` is how lines are read whole.
    if (assignment.name === 'IFS' && (before === 'read' || before === 'mapfile')) return inner;
    // An index is evaluated wherever the variable is used as a number.
    const indexed = /\[.*(?:\$\(|`)/s.test(knownValue(value) ?? '') ? hiddenCode(value, this.#reader, around) : [];
    const place = { reader: this.#reader, around, text: assignment.text };
    const own = assignmentReading({ name: assignment.name, value }, place);
    return [...inner, ...indexed, ...(own === undefined ? [] : [own])];
  }

  #argument(argument: SyntaxWord | Assignment, around: Surroundings): readonly Word[] {
    if (argument.type === 'Word') return fieldsFrom(argument, around.variables);
    const index = argument.index === undefined ? undefined : wordFrom(argument.index, around.variables);
    const place = index === undefined ? '' : knownValue(index);
    if (place === undefined)
      return [{ ...unknownWord(argument.text, `${argument.name}[${index?.start}`), splits: false }];
    const start = `${argument.name}${index === undefined ? '' : `[${place}]`}=`;
    const value = argument.value.type === 'Word' ? wordFrom(argument.value, around.variables) : undefined;
    const known = knownValue(value);
    if (known !== undefined) return [{ ...plainWord(start + known), text: argument.text }];
    return [{ ...unknownWord(argument.text, start + (value?.start ?? '')), splits: false }];
  }

  #command(command: Command, around: Surroundings): Reading {
    const text = this.#text(command);
    const name = command.name?.value ?? '';
    const { readings, input } = this.#redirected(command.redirects, around);
    const parts: Reading[] = [...readings];
    for (const prefix of command.prefix) {
      if (prefix.type === 'Assignment') parts.push(...this.#assignment(prefix, around, name));
    }
    if (command.name !== undefined) parts.push(...this.#node(command.name, around));
    for (const argument of command.args) parts.push(...this.#node(argument, around));
    parts.push(...this.#behindBackground(command, around));
    if (command.name === undefined) return holding(text, 'no command of its own', parts);
    if (around.inRunner === true && isOwnWords(command))
      return holding(text, 'what the function is called with, read where it is called', parts);
    parts.push(...this.#alias(command.name, command.end, around));
    const words = [
      ...fieldsFrom(command.name, around.variables, true),
      ...command.args.flatMap((word) => this.#argument(word, around)),
    ];
    const named = (words[0]?.values ?? []).flatMap((value) => value.trim().split(/[ \t\n]+/, 1));
    const functions = new Set(named.filter((each) => isWithin(this.#functions.get(each), command.pos)));
    const own = this.#reader.command(words, { ...around, input, functions });
    const isRead = around.inRunner !== true || [...everyReading(own)].every(({ readable }) => readable);
    if (!isRead && endsWithOwnWords(command))
      return holding(text, 'what it runs of the function’s words is read where that is called', parts);
    return { ...own, text, parts: [...own.parts, ...parts] };
  }

  /** To a `sh` without `&>` that is `&` and `>`: what follows the file is another command. */
  #behindBackground({ redirects, args }: Command, around: Surroundings): readonly Reading[] {
    const at = redirects.find((each) => each.type === 'Redirect' && each.operator.startsWith('&>'))?.end;
    const behind = at === undefined ? [] : args.filter(({ pos }) => pos >= at);
    if (around.grammar !== 'sh' || behind.length === 0) return [];
    const [first] = behind;
    if (first?.type === 'Assignment' || /^\w+=/.test(first?.text ?? ''))
      return [unreadable(first?.text ?? '', 'sh may not know &>: use > FILE 2>&1')];
    return [
      this.#reader.command(
        behind.flatMap((each) => this.#argument(each, around)),
        around,
      ),
    ];
  }

  /** What an alias stands for goes on with the words behind it: `alias a=command` and then `a rm b`. */
  #alias(word: SyntaxWord, end: number, around: Surroundings): readonly Reading[] {
    const name = word.text.replaceAll('\\\n', '');
    if (around.expanded.has(name)) return [];
    const inner = { ...around, expanded: new Set([...around.expanded, name]) };
    const rest = this.#source.slice(word.end, end);
    const [next = ''] = /^\s*[^\s;&|<>()'"\\$`]+/.exec(rest) ?? [];
    return [...(this.#reader.aliases.get(name) ?? [])].flatMap((text) => {
      // Behind a blank at its end the next word is looked up, too.
      const more = /[ \t]$/.test(text) ? [...(this.#reader.aliases.get(next.trim()) ?? [])] : [];
      const rests = [rest, ...more.map((each) => ` ${each}${rest.slice(next.length)}`)];
      return rests.map((each) => this.#reader.text(`${text}${each}`, inner));
    });
  }

  #redirected(redirections: readonly Redirection[], around: Surroundings) {
    const within = {
      read: (node: SyntaxNode) => this.#node(node, around),
      text: (node: Redirection) => this.#text(node),
    };
    return readRedirections(redirections, around, within);
  }
}
