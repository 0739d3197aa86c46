/** Where the output of a command goes, and what it reads: each redirection, and the standard input that they leave. */
import type { Redirection, SyntaxNode } from 'unbash';
import { networked, readOnly } from './classes.js';
import { redirectionClasses } from './host-paths.js';
import { allClasses, type Reading, unreadable } from './reading.js';
import { type ShellInput, type Surroundings, unknownInput } from './surroundings.js';
import { knownValue, textFrom, wordFrom } from './word.js';

/** Of the script that they are in. */
interface Within {
  read(node: SyntaxNode): readonly Reading[];
  text(node: Redirection): string;
}

function isStandardInput({ descriptor }: Redirection): boolean {
  return descriptor === undefined || (descriptor.type === 'FileDescriptor' && descriptor.value === 0);
}

function inputOf(text: string | undefined): ShellInput {
  return text === undefined ? unknownInput : { kind: 'text', text };
}

export function readRedirections(
  redirections: readonly Redirection[],
  around: Surroundings,
  { read, text }: Within,
): { readings: Reading[]; input: ShellInput } {
  const readings: Reading[] = [];
  let input = around.input;
  for (const redirection of redirections) {
    if (redirection.type === 'HereDoc') {
      const { body, delimiter, closing } = redirection;
      if (closing === undefined) readings.push(unreadable(body.text, 'a here-document without its end'));
      readings.push(...read(body));
      const parts = delimiter?.quoted === true ? undefined : body.parts;
      const known = parts === undefined ? body.text : textFrom(parts, body.text, around.variables);
      if (isStandardInput(redirection)) input = inputOf(known);
      continue;
    }
    if (redirection.descriptor !== undefined) readings.push(...read(redirection.descriptor));
    const { target } = redirection;
    if (target === undefined) {
      readings.push(unreadable(text(redirection), 'a redirection to nowhere'));
      continue;
    }
    const inner = read(target);
    readings.push(...inner);
    const word = wordFrom(target, around.variables);
    if (redirection.type === 'HereString') {
      if (isStandardInput(redirection)) input = inputOf(knownValue(word));
      continue;
    }
    const { operator } = redirection;
    // `0>&3` reads, too.
    const reads = redirection.descriptor === undefined ? operator.startsWith('<') : isStandardInput(redirection);
    const duplicates = operator.endsWith('&') && /^(?:\d+-?|-)$/.test(knownValue(word) ?? '');
    const substitutes = target.parts?.every((part) => part.type === 'ProcessSubstitution') === true;
    if (!duplicates && !substitutes) {
      const { classes, why } = redirectionClasses(word, operator !== '<' && operator !== '<&');
      if (classes !== readOnly) {
        readings.push({ text: text(redirection), words: [], classes, readable: true, why, parts: [] });
      }
      if ((classes & networked) !== 0) {
        input = { kind: 'stream', networked: true };
        continue;
      }
    }
    if (!reads) continue;
    if (substitutes) {
      const spoken = inner.some((reading) => (allClasses(reading) & networked) !== 0);
      input = { kind: 'stream', networked: spoken };
    } else if (!duplicates) input = { kind: 'file' };
    else if (knownValue(word) !== '0') input = { kind: 'stream', networked: false };
  }
  return { readings, input };
}
