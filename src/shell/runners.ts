/**
 * Functions that run what they are called with: `run() { echo "$*"; "$@"; }`. What that is, each call says, so it is read
 * there, in every text that can call them; the body itself is no computed command.
 */
import type { Command, Function as FunctionNode, forEachChild, SyntaxNode } from 'unbash';

/** As one word each, just as they were given. */
const ownWords = /^"\$(?:@|\{@\})"$/;

/** With these the words may be others by then, or come from elsewhere. */
const changesWords = new Set(['shift', 'set', 'eval', 'source', '.', 'trap', 'alias', 'builtin', 'command', 'exec']);

/** A command that is the words of its function, and nothing more. */
export function isOwnWords({ name, args, prefix }: Command): boolean {
  return ownWords.test(name?.text ?? '') && args.length === 0 && prefix.length === 0;
}

function isPlainName({ name }: Command): boolean {
  return name === undefined || name.parts === undefined;
}

/** Its own words are the ones that it was called with, to its end. */
export function runsItsWords(node: FunctionNode, children: typeof forEachChild): boolean {
  let runs = false;
  let isPlain = node.name.parts === undefined;
  const see = (child: SyntaxNode): void => {
    if (child.type === 'Function') isPlain = false;
    if (child.type === 'Command' && isOwnWords(child)) runs = true;
    else if (child.type === 'Command' && (!isPlainName(child) || changesWords.has(child.name?.value ?? '')))
      isPlain = false;
    children(child, see);
  };
  children(node, see);
  return runs && isPlain;
}

/** Those of a script, by name. */
export function runnersIn(script: SyntaxNode, children: typeof forEachChild): ReadonlySet<string> {
  const found = new Set<string>();
  const see = (child: SyntaxNode): void => {
    if (child.type === 'Function' && runsItsWords(child, children)) found.add(child.name.value);
    children(child, see);
  };
  children(script, see);
  return found;
}
