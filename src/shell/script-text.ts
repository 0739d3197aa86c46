/** Whether a script of sed or awk only prints. Pure; what is not known for sure does more. */

/** `[...]` from its first character: in it, what would end an expression is a character, and so is a backslash. */
const bracket = /^\[\^?\]?(?:\[:[a-z]+:\]|\[(?![.:=])|[^[\]\n])*\]/;

/** The rest after a section that `delimiter` ends. Only expressions have brackets; a line does not end in the middle of one. */
function afterSection(text: string, delimiter: string, isExpression: boolean): string | undefined {
  // What has a meaning of its own in an expression would end brackets, or begin them.
  if (/[[\]^\\\n]/.test(delimiter)) return undefined;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '\\') at += 1;
    else if (character === '\n') return undefined;
    else if (character === delimiter) return text.slice(at + 1);
    else if (character === '[' && isExpression) {
      const [whole] = bracket.exec(text.slice(at)) ?? [];
      if (whole === undefined || delimiter === ':') return undefined;
      at += whole.length - 1;
    }
  }
  return undefined;
}

function afterAddresses(given: string): string | undefined {
  let text = given;
  for (;;) {
    text = text.replace(/^[\s;{}\d,$~+!]+/, '');
    if (text.startsWith('/') || (text.startsWith('\\') && text.length > 1)) {
      const custom = text.startsWith('\\');
      const rest = afterSection(text.slice(custom ? 2 : 1), custom ? (text[1] ?? '/') : '/', true);
      if (rest === undefined) return undefined;
      text = rest.replace(/^[IM]+/, '');
    } else return text;
  }
}

/** One command of sed taken off the front; undefined where it writes, runs or is not known. */
function afterCommand(text: string): string | undefined {
  const [command = ''] = text;
  const rest = text.slice(1);
  if ('pdDPgGhHxnN=zF'.includes(command)) return rest;
  if ('qQlL'.includes(command)) return rest.replace(/\s*\d*/, '');
  // A label ends at a blank, too; what follows there is taken for a command by one sed and for its name by another.
  if (':btT'.includes(command)) return /^[ \t]*[^\s;}]*[ \t]*(?![^\n;}])([\s\S]*)$/.exec(rest)?.[1];
  // Only added text goes on after a backslash at the end of its line.
  if ('#rR'.includes(command)) return rest.replace(/[^\n]*/, '');
  if ('aic'.includes(command)) return rest.replace(/(?:[^\n\\]|\\[\s\S])*/, '');
  if (command !== 's' && command !== 'y') return undefined;
  const delimiter = rest[0];
  const first = delimiter === undefined ? undefined : afterSection(rest.slice(1), delimiter, command === 's');
  const second = first === undefined || delimiter === undefined ? undefined : afterSection(first, delimiter, false);
  if (second === undefined || command === 'y') return second;
  const flags = /[gpiImM0-9]*/.exec(second)?.[0] ?? '';
  const end = second.slice(flags.length);
  return end === '' || /^[\s;}#]/.test(end) ? end : undefined;
}

export function sedOnlyPrints(script: string): boolean {
  let text: string | undefined = script;
  while (text !== undefined) {
    text = afterAddresses(text);
    if (text === undefined) return false;
    if (text === '') return true;
    text = afterCommand(text);
  }
  return false;
}

/** Where a program of awk is longer than what is looked through, it is taken for one that writes. */
const mostSteps = 1_000_000;

/**
 * Whether what `print` prints may go to a file: a `>` before the statement has ended. An end counts where no string, expression, comment
 * or continued line can be open there.
 */
function printsToFile(program: string): boolean {
  const last = program.lastIndexOf('>');
  let steps = 0;
  for (const { index, 0: word } of program.matchAll(/\bprintf?\b/g)) {
    let inString = false;
    let goesOn = false;
    for (let at = index + word.length; at <= last; at += 1) {
      const character = program[at] ?? '';
      steps += 1;
      if (character === '>' || '\\/#'.includes(character) || steps > mostSteps) return true;
      if (character === '"') inString = !inString;
      if (!inString && (character === ';' || character === '}' || (character === '\n' && !goesOn))) break;
      if (/\S/.test(character)) goesOn = ',&|(?:'.includes(character);
    }
  }
  return false;
}

/** Strings and expressions between slashes may hold anything. `@name()` calls what a variable names. */
export function awkOnlyPrints(program: string): boolean {
  if (/\b(?:system|close|getline|fflush)\b|@\s*[A-Za-z_]/.test(program)) return false;
  return !program.replaceAll('||', '').includes('|') && !printsToFile(program);
}
