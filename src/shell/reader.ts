/** Reads commands and texts within each other, and stops where they are too many or too deep. */
import type { forEachChild, parse } from 'unbash';
import { shellCommands, shellNesting, shellOpenings, shellTextCharacters } from '../base/limits/decisions.js';
import { hiddenCode } from './read-builtin.js';
import { readCommand } from './read-command.js';
import { ScriptReading } from './read-script.js';
import { everyReading, holding, type Reading, unreadable } from './reading.js';
import { runnersIn } from './runners.js';
import { type Aliases, type Reader, type Surroundings, unknownInput } from './surroundings.js';
import { indexesIn, namesIn } from './variables.js';
import { plainWord, type Word } from './word.js';
import { differsInZsh } from './zsh.js';

export interface Parser {
  readonly parse: typeof parse;
  readonly forEachChild: typeof forEachChild;
}

/** Thrown where shell text has to be parsed and there is no parser yet; the caller loads it and asks again. */
export class ParserNeeded extends Error {}

/** Words and nothing else: no quote, no expansion, no operator, no keyword, no assignment. */
const plainText = /^[A-Za-z0-9_./][A-Za-z0-9_./:,@%+-]*(?: [A-Za-z0-9_./:,@%+=-]+)*$/;
const keywords = /^(?:if|then|else|elif|fi|for|while|until|do|done|case|esac|select|function|in|time|coproc)$/;

export function plainWordsOf(text: string): readonly string[] | undefined {
  if (!plainText.test(text)) return undefined;
  const words = text.split(' ');
  return words.some((word) => keywords.test(word)) ? undefined : words;
}

/** Something of the text is taken for a number, or for the name of a variable: then the substitutions in its index are run. */
const calculates =
  /\(\(|\$\[|\s-(?:eq|ne|lt|le|gt|ge|v|[a-zA-Z]*i)|\$\{[^}]*[:[!]|\]=|\b(?:let|read|unset|wait|declare|typeset|local|export)/;

/** From there on all that follows reads something else. */
const givesInput = /\bexec\b[^;&|\n]*</;

export class ShellReader implements Reader {
  readonly #parser: Parser | undefined;
  readonly aliases: Aliases;
  readonly #found = new Map<string, Set<string>>();
  /** One was found that is not among those it reads by: what it reads is not all that there is. */
  isShort = false;
  #commands = 0;
  #characters = 0;

  constructor(parser: Parser | undefined, aliases: Aliases = new Map()) {
    this.#parser = parser;
    this.aliases = aliases;
  }

  /** Those that it read by, and those that it found. */
  get found(): Aliases {
    const names = new Set([...this.aliases.keys(), ...this.#found.keys()]);
    const of = (name: string) => new Set([...(this.aliases.get(name) ?? []), ...(this.#found.get(name) ?? [])]);
    return new Map([...names].map((name) => [name, of(name)]));
  }

  findAlias(name: string, text: string): void {
    if (this.aliases.get(name)?.has(text) !== true) this.isShort = true;
    const known = this.#found.get(name) ?? new Set();
    this.#found.set(name, known.add(text));
  }

  command(words: readonly Word[], around: Surroundings): Reading {
    this.#commands += 1;
    const text = () => words.map((word) => word.text).join(' ');
    if (this.#commands > shellCommands) return unreadable(text(), `more than ${shellCommands} commands`);
    if (around.depth > shellNesting) return unreadable(text(), `more than ${shellNesting} commands within each other`);
    return readCommand(words, { ...around, depth: around.depth + 1 }, this);
  }

  text(text: string, around: Surroundings): Reading {
    this.#characters += text.length;
    if (this.#characters > shellTextCharacters)
      return unreadable('', `more than ${shellTextCharacters} characters of shell text`);
    if (around.depth > shellNesting) return unreadable(text, `more than ${shellNesting} texts within each other`);
    if (text.includes('\0')) return unreadable(text, 'a NUL, which no shell takes');
    if (around.grammar === 'zsh' && differsInZsh(text)) return unreadable(text, 'zsh reads it otherwise: use bash');
    const plain = plainWordsOf(text);
    const deeper = { ...around, depth: around.depth + 1, functions: new Set<string>(), inRunner: false };
    if (plain !== undefined && !this.aliases.has(plain[0] ?? '')) {
      const read = this.command(plain.map(plainWord), { ...deeper, variables: new Map() });
      return holding(text, 'shell text', [read]);
    }
    const read = this.#parsed(text, deeper);
    if (!text.includes('\r')) return read;
    // Shells take it for a letter; people, and whatever handed the text on, may take it for the end of a line.
    const lines = this.#parsed(text.replaceAll('\r', '\n'), deeper);
    return holding(text, 'shell text with carriage returns, read both ways', [read, lines]);
  }

  #parsed(text: string, around: Surroundings): Reading {
    if (this.#parser === undefined) throw new ParserNeeded('shell text');
    const { parse, forEachChild } = this.#parser;
    const opened = text.match(/[$<>(]\(|\{[^\s"']/g)?.length ?? 0;
    if (opened > shellOpenings) return unreadable(text, `more than ${shellOpenings} substitutions`);
    try {
      return this.#scriptOf(parse(text), text, forEachChild, around);
    } catch (error) {
      // The parser bounds how deep commands nest, but not arithmetic: there it can run out of stack.
      if (error instanceof RangeError) return unreadable(text, 'more within each other than can be read');
      throw error;
    }
  }

  #scriptOf(
    script: ReturnType<typeof parse>,
    text: string,
    children: typeof forEachChild,
    around: Surroundings,
  ): Reading {
    const { variables, functions } = namesIn(script, children, around, this.aliases.size > 0);
    const isOwn = around.ownShell === true && around.grammar !== 'zsh';
    const runners = isOwn ? runnersIn(script, children, around.runners) : around.runners;
    const inner = {
      ...around,
      variables,
      runners,
      ownShell: false,
      ...(givesInput.test(text) ? { input: unknownInput } : {}),
    };
    const read = new ScriptReading({ reader: this, children, source: text, functions }).script(script, inner);
    const found = calculates.test(text) ? indexesIn(script, children, variables) : [];
    if (found.length === 0) return read;
    const known = new Set([...everyReading(read)].map((each) => each.text));
    const hidden = found.filter((each) => !known.has(`: ${each}`));
    if (hidden.length === 0) return read;
    return holding(text, 'shell text that calculates', [
      read,
      ...hidden.flatMap((each) => hiddenCode(plainWord(each), this, inner)),
    ]);
  }
}
