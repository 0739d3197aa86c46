/**
 * Blanks out comments, strings, templates and regular expressions of TypeScript source, keeping every offset and line.
 *
 * Quotes stay, so that a string's text is found in the original between the same offsets. Code inside `${...}` stays.
 */

const wordsBeforeExpression =
  /(?:^|[^\w$.])(?:return|typeof|case|in|of|do|else|void|delete|throw|new|instanceof|await|yield)$/;

export function maskSource(source) {
  const out = [...source.split('')];
  const blank = (from, to) => {
    for (let at = from; at < to; at += 1) if (out[at] !== '\n') out[at] = ' ';
  };
  /** Depths of braces at which a template's `${` was opened. */
  const templates = [];
  let depth = 0;
  let at = 0;
  while (at < source.length) {
    const character = source[at];
    const pair = source.slice(at, at + 2);
    let end = at + 1;
    if (pair === '//') {
      end = indexOrEnd(source, '\n', at);
      blank(at, end);
    } else if (pair === '/*') {
      end = indexOrEnd(source, '*/', at + 2) + 2;
      blank(at, Math.min(end, source.length));
    } else if (character === "'" || character === '"') {
      end = endOfString(source, at);
      blank(at + 1, end - 1);
    } else if (character === '`' || (character === '}' && templates.at(-1) === depth)) {
      if (character === '}') templates.pop();
      end = endOfTemplatePart(source, at + 1);
      if (source[end - 1] === '{') {
        templates.push(depth);
        blank(at + 1, end - 2);
      } else blank(at + 1, end - 1);
      if (character === '}') out[at] = ' ';
      if (source[end - 1] === '{') blank(end - 2, end);
    } else if (character === '/' && startsExpression(out, at)) {
      end = endOfRegularExpression(source, at);
      blank(at, end);
    } else if (character === '{') depth += 1;
    else if (character === '}') depth -= 1;
    at = end;
  }
  return out.join('');
}

function indexOrEnd(source, text, from) {
  const found = source.indexOf(text, from);
  return found === -1 ? source.length : found;
}

function endOfString(source, start) {
  for (let at = start + 1; at < source.length; at += 1) {
    if (source[at] === '\\') at += 1;
    else if (source[at] === source[start] || source[at] === '\n') return at + 1;
  }
  return source.length;
}

/** After the closing backtick or after the next `${`. */
function endOfTemplatePart(source, start) {
  for (let at = start; at < source.length; at += 1) {
    if (source[at] === '\\') at += 1;
    else if (source[at] === '`') return at + 1;
    else if (source[at] === '$' && source[at + 1] === '{') return at + 2;
  }
  return source.length;
}

function endOfRegularExpression(source, start) {
  let inClass = false;
  for (let at = start + 1; at < source.length; at += 1) {
    const character = source[at];
    if (character === '\\') at += 1;
    else if (character === '\n') return at;
    else if (character === '[') inClass = true;
    else if (character === ']') inClass = false;
    else if (character === '/' && !inClass) return at + 1;
  }
  return source.length;
}

/** Whether a slash at this place begins a regular expression rather than divides; comments before it are blank already. */
function startsExpression(out, at) {
  let before = at - 1;
  while (before >= 0 && /\s/.test(out[before])) before -= 1;
  if (before < 0) return true;
  if (/[\w$]/.test(out[before]))
    return wordsBeforeExpression.test(out.slice(Math.max(0, before - 12), before + 1).join(''));
  return !/[)\]}'"`]/.test(out[before]);
}
