/**
 * How deep a text of JSON nests, without recursion and before anything is made of it: what is deeper than anybody
 * writes would exhaust the stack of everything that walks it, and takes seconds to parse. Pure.
 */

const quote = 0x22;
const backslash = 0x5c;
const [listStart, listEnd, objectStart, objectEnd] = [0x5b, 0x5d, 0x7b, 0x7d];

/** A text that may well be JSON, and that nobody reads. */
export class JsonDepthError extends SyntaxError {
  constructor(levels: number) {
    super(`it is nested more than ${levels} levels deep`);
  }
}

/** Of what is not JSON it says something, and never fails. */
export function isDeeperThan(text: string, levels: number): boolean {
  // Each level takes two characters.
  if (text.length <= 2 * levels) return false;
  let depth = 0;
  let isText = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isText) {
      if (code === backslash) at += 1;
      else if (code === quote) isText = false;
    } else if (code === quote) isText = true;
    else if (code === listStart || code === objectStart) {
      depth += 1;
      if (depth > levels) return true;
    } else if (code === listEnd || code === objectEnd) depth -= 1;
  }
  return false;
}
