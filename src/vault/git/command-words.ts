/**
 * Words of a command line that may be paths, as a shell would take them and generously: quoted ones with their spaces, parts of a word
 * between expansions, and command lines within a word. Too many cost nothing: a path that names nothing leads nowhere. Pure.
 */

/** As a shell has them, without quotes; an operator ends a word. Unlike one it takes a quote that does not end for one that does. */
function shellWords(text: string): readonly string[] {
  const words: string[] = [];
  let word = '';
  let quote = '';
  const end = () => {
    if (word !== '') words.push(word);
    word = '';
  };
  for (let at = 0; at < text.length; at += 1) {
    const letter = text.charAt(at);
    if (letter === '\\' && quote !== "'") {
      at += 1;
      word += text.charAt(at);
    } else if (letter === quote) quote = '';
    else if (quote !== '') word += letter;
    else if (letter === '"' || letter === "'") quote = letter;
    else if (/[\s;|&<>]/.test(letter)) end();
    else word += letter;
  }
  end();
  return words;
}

const separators = /[\s'"`;|&()<>=,:*?[\]{}!%$\\]+/;
/** What ends a part of a word; a space does not. A variable's name belongs to no path, but for the home's, which is known. */
const expansions = /\$(?!HOME\b)[A-Za-z_]\w*|['"`;|&()<>=,:*?[\]{}!%$\\]+/;
/** Command lines in command lines: `sh -c "sh -c 'x'"`. */
const deepest = 4;

export function commandWords(text: string, depth = 0): ReadonlySet<string> {
  const found = new Set(text.split(separators));
  for (const part of text.split(expansions)) found.add(part.trim());
  for (const word of shellWords(text)) {
    found.add(word);
    if (word === text || depth === deepest) continue;
    for (const inner of commandWords(word, depth + 1)) found.add(inner);
  }
  found.delete('');
  return found;
}
