/**
 * Which paths are products, built and not written: those that git ignores, and without git those whose names products usually
 * have. A hint for the order of times only (docs/times.md): nothing in a file says which of both it is.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { gitConfigurationBytes } from '../../base/limits.js';
import { readSmallFile } from '../../base/small-file.js';

interface IgnoreRule {
  /** Of a path relative to the directory of the rules. */
  matches(path: string): boolean;
  readonly negated: boolean;
  readonly directoriesOnly: boolean;
}

/** Beyond this many wildcards a pattern takes too long to match, and is no usual one. */
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

/** A name, or an ending of names, as most rules are: without an expression, which costs a list of many paths seconds. */
function plainMatch(pattern: string): IgnoreRule['matches'] | undefined {
  const ending = pattern.startsWith('*') ? pattern.slice(1) : undefined;
  if (/[*?[\\/]/.test(ending ?? pattern)) return undefined;
  if (ending !== undefined) return (path) => path.endsWith(ending);
  return (path) => path.endsWith(pattern) && (path.length === pattern.length || path.at(-pattern.length - 1) === '/');
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
    if (plain !== undefined) return [{ matches: plain, negated, directoriesOnly }];
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

/** `rulesIn` gives the rules of a directory, '' being the top. The last rule that matches decides, the deepest file of them first. */
export function ignoredBy(rulesIn: (directory: string) => readonly IgnoreRule[]): (path: string) => boolean {
  const directories = new Map<string, boolean>([['', false]]);
  const decide = (path: string, isDirectory: boolean): boolean => {
    for (let at = path.lastIndexOf('/'); ; at = path.lastIndexOf('/', at - 1)) {
      const rest = path.slice(at + 1);
      const rules = rulesIn(at < 0 ? '' : path.slice(0, at));
      const rule = rules.findLast((each) => (isDirectory || !each.directoriesOnly) && each.matches(rest));
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
