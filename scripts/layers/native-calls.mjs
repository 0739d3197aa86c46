/** Which files of a C program call functions of which others, and the circles of that. Pure. */

/** A function that other files can call: its name stands at the beginning of a line, behind its type. */
const definition = /^(?!static\b|return\b|typedef\b|struct \w+ \{|else\b)[A-Za-z_][\w *]*?\b(\w+)\([^;{}]*\) \{$/gm;

const program = (path) => path.slice(0, path.indexOf('/'));
const withoutTexts = (source) => source.replace(/\/\*[\s\S]*?\*\/|\/\/.*|"(?:[^"\\\n]|\\.)*"/g, ' ');

/** `files`: path below `native/` -> source. Returns path -> the paths whose functions it calls. */
export function callsBetween(files) {
  const sources = [...files].filter(([path]) => path.endsWith('.c')).map(([path, text]) => [path, withoutTexts(text)]);
  const homes = new Map();
  for (const [path, text] of sources) {
    for (const [, name] of text.matchAll(definition)) homes.set(`${program(path)} ${name}`, path);
  }
  return new Map(
    sources.map(([path, text]) => {
      const called = [...text.matchAll(/\b(\w+)\b(?=\()/g)].map(([, name]) => homes.get(`${program(path)} ${name}`));
      return [path, new Set(called.filter((home) => home !== undefined && home !== path))];
    }),
  );
}

/** Groups of files each of which leads to every other, by size and name. */
export function callCircles(calls) {
  const reached = new Map([...calls.keys()].map((path) => [path, reachable(calls, path)]));
  const circles = new Map();
  for (const path of calls.keys()) {
    const members = [...reached.get(path)].filter((other) => reached.get(other)?.has(path)).sort();
    if (members.length > 1) circles.set(members.join(' '), members);
  }
  return [...circles.values()].sort((left, right) => left[0].localeCompare(right[0]));
}

function reachable(calls, from) {
  const found = new Set();
  const open = [from];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    for (const next of calls.get(path) ?? []) {
      if (found.has(next)) continue;
      found.add(next);
      open.push(next);
    }
  }
  return found;
}
