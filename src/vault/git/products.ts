/**
 * Which paths are products, built and not written: those that git ignores, and without git those whose names products usually
 * have. A hint for the order of times only (docs/times.md): nothing in a file says which of both it is.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { gitConfigurationBytes } from '../../base/limits/store.js';
import { readSmallFile } from '../../base/small-file.js';

interface IgnoreRule {
  /** Of a path relative to the directory of the rules. */
  matches(path: string): boolean;
  /** Where it is one: all that it matches has this as its last name, or ends with this dot and what follows. */
  readonly name?: string | undefined;
  readonly extension?: string | undefined;
  readonly negated: boolean;
  readonly directoriesOnly: boolean;
}

/** Beyond this many wildcards a pattern takes too long to match, and is not an usual one. */
const mostWildcards = 6;

function expression(pattern: string): string {
  return pattern.replace(/\*\*\/|\/\*\*$|\*+|\?|\[!?[^\]/]+\]|\\?[^*?[\\]|[\\[]/g, (part) => {
    if (part === '**/') return '(?:.*/)?';
    if (part === '/**') return '/.*';
    if (part.startsWith('*')) return '[^/]*';
    if (part === '?') return '[^/]';
    if (part.startsWith('[') && part.length > 1)
      return `[${part.slice(1, -1).replace(/^!/, '^').replace(/\\/g, '\\\\')}]`;
    return part.replace(/^\\(?=.)/, '').replace(/[\\^$.|+(){}[\]/*?]/g, '\\$&');
  });
}

type Match = Pick<IgnoreRule, 'matches' | 'name' | 'extension'>;

/** A name, or an ending of names, as most rules are: without an expression, which costs a list of many paths seconds. */
function plainMatch(pattern: string): Match | undefined {
  const ending = pattern.startsWith('*') ? pattern.slice(1) : undefined;
  if (/[*?[\\/]/.test(ending ?? pattern)) return undefined;
  if (ending !== undefined) {
    const extension = /^\.[^.]+$/.test(ending) ? ending : undefined;
    return { matches: (path) => path.endsWith(ending), extension };
  }
  const matches = (path: string) =>
    path.endsWith(pattern) && (path.length === pattern.length || path.at(-pattern.length - 1) === '/');
  return { matches, name: pattern };
}

/** The rules of one file of them, in its order; each matches paths relative to the directory of the file. */
export function ignoreRules(text: string): readonly IgnoreRule[] {
  return text.split(/\r?\n/).flatMap((line) => {
    const trimmed = line.replace(/(?<!\\)[ \t]+$/, '');
    if (trimmed === '' || trimmed.startsWith('#')) return [];
    const negated = trimmed.startsWith('!');
    const whole = negated ? trimmed.slice(1) : trimmed;
    const directoriesOnly = whole.endsWith('/');
    const pattern = directoriesOnly ? whole.slice(0, -1) : whole;
    if ((pattern.match(/[*?]/g) ?? []).length > mostWildcards) return [];
    const plain = plainMatch(pattern);
    if (plain !== undefined) return [{ ...plain, negated, directoriesOnly }];
    const anchored = pattern.includes('/');
    const body = expression(pattern.replace(/^\//, ''));
    try {
      const whole = new RegExp(`^${anchored ? '' : '(?:.*/)?'}${body}$`, 's');
      return [{ matches: (path) => whole.test(path), negated, directoriesOnly }];
    } catch {
      return [];
    }
  });
}

/** Rules by what they match, each with its place in their order: a long list of paths is compared with few of them. */
interface RuleIndex {
  readonly names: ReadonlyMap<string, readonly number[]>;
  readonly extensions: ReadonlyMap<string, readonly number[]>;
  readonly others: readonly number[];
}

function indexOf(rules: readonly IgnoreRule[]): RuleIndex {
  const names = new Map<string, number[]>();
  const extensions = new Map<string, number[]>();
  const others: number[] = [];
  const add = (map: Map<string, number[]>, key: string, at: number) => map.set(key, [...(map.get(key) ?? []), at]);
  for (const [at, { name, extension }] of rules.entries()) {
    if (name !== undefined) add(names, name, at);
    else if (extension !== undefined) add(extensions, extension, at);
    else others.push(at);
  }
  return { names, extensions, others };
}

/** The last rule that matches; `indexes` keeps what was made of each list. */
function lastMatch(
  rules: readonly IgnoreRule[],
  indexes: WeakMap<readonly IgnoreRule[], RuleIndex>,
  path: string,
  isDirectory: boolean,
): IgnoreRule | undefined {
  if (rules.length === 0) return undefined;
  let index = indexes.get(rules);
  if (index === undefined) {
    index = indexOf(rules);
    indexes.set(rules, index);
  }
  const name = path.slice(path.lastIndexOf('/') + 1);
  const dot = name.lastIndexOf('.');
  let last = -1;
  const consider = (places: readonly number[] = []) => {
    for (const at of places) {
      const rule = rules[at];
      if (at > last && rule !== undefined && (isDirectory || !rule.directoriesOnly) && rule.matches(path)) last = at;
    }
  };
  consider(index.names.get(name));
  if (dot >= 0) consider(index.extensions.get(name.slice(dot)));
  consider(index.others);
  return rules[last];
}

/** `rulesIn` gives the rules of a directory, '' being the top. The last rule that matches decides, the deepest file of them first. */
export function ignoredBy(rulesIn: (directory: string) => readonly IgnoreRule[]): (path: string) => boolean {
  const directories = new Map<string, boolean>([['', false]]);
  const indexes = new WeakMap<readonly IgnoreRule[], RuleIndex>();
  const decide = (path: string, isDirectory: boolean): boolean => {
    for (let at = path.lastIndexOf('/'); ; at = path.lastIndexOf('/', at - 1)) {
      const rest = path.slice(at + 1);
      const rules = rulesIn(at < 0 ? '' : path.slice(0, at));
      const rule = lastMatch(rules, indexes, rest, isDirectory);
      if (rule !== undefined) return !rule.negated;
      if (at <= 0) return false;
    }
  };
  const isIgnoredDirectory = (path: string): boolean => {
    let known = directories.get(path);
    if (known === undefined) {
      known = isIgnoredDirectory(path.slice(0, Math.max(0, path.lastIndexOf('/')))) || decide(path, true);
      directories.set(path, known);
    }
    return known;
  };
  return (path) => isIgnoredDirectory(path.slice(0, Math.max(0, path.lastIndexOf('/')))) || decide(path, false);
}

function rulesOf(path: string): readonly IgnoreRule[] {
  try {
    return ignoreRules(readSmallFile(path, gitConfigurationBytes));
  } catch {
    return []; // Not there, or nothing that git would read.
  }
}

/** Names that are built in most projects: where there is no repository nothing says which those of this directory are. */
const usualProducts = `
*.o
*.obj
*.lo
*.la
*.a
*.lib
*.so
*.so.*
*.dylib
*.dll
*.exe
*.out
*.gch
*.pch
*.gcda
*.gcno
*.ko
*.cmi
*.cmo
*.cmx
*.hi
*.beam
*.elc
*.class
*.jar
*.war
*.pyc
*.pyo
*.rlib
*.rmeta
*.tsbuildinfo
__pycache__/
node_modules/
target/
build/
_build/
cmake-build-*/
CMakeFiles/
dist/
obj/
.gradle/
.tox/
.venv/
venv/
.next/
.cache/
*.egg-info/
`;

/** Whether a path below the directory is a product. */
export function productsIn(root: string): (path: string) => boolean {
  if (!existsSync(join(root, '.git'))) {
    const usual = ignoreRules(usualProducts);
    return ignoredBy((directory) => (directory === '' ? usual : []));
  }
  const known = new Map<string, readonly IgnoreRule[]>();
  return ignoredBy((directory) => {
    let rules = known.get(directory);
    if (rules === undefined) {
      const excluded = directory === '' ? rulesOf(join(root, '.git/info/exclude')) : [];
      rules = [...excluded, ...rulesOf(join(root, directory, '.gitignore'))];
      known.set(directory, rules);
    }
    return rules;
  });
}
