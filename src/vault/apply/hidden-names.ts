/**
 * New files with a hidden name: by such names programs find what they obey, and new ones come up faster than a list of them could.
 * So the list is of what is known to be harmless; whatever else is new to the person is held back. Pure.
 */
import type { Change } from '../tree/tree.js';

interface Harmless {
  readonly names: RegExp;
  /** Why nothing runs, is redirected or hidden by it. */
  readonly why: string;
}

const exactly = (why: string, ...names: readonly string[]): Harmless => ({
  names: new RegExp(`^(?:${names.join('|')})$`, 's'),
  why,
});

/** What `sensitive-names` says of a path comes first: a directory here may hold files that are obeyed. */
export const harmless: readonly Harmless[] = [
  exactly(
    'a place holder, or data of a file manager',
    '\\.gitkeep',
    '\\.keep',
    '\\.empty',
    '\\.DS_Store',
    '\\.directory',
  ),
  exactly('it names files that a tool passes over, in the open', '\\.[a-z-]*ignore'),
  exactly('git: names of drivers that only the person’s own configuration can give a program', '\\.gitattributes'),
  exactly('git: names and commits to be shown otherwise, in the open', '\\.mailmap', '\\.git-blame-ignore-revs'),
  exactly(
    'widths, line ends and the like',
    '\\.editorconfig',
    '\\.clang-format',
    '\\.?rustfmt\\.toml',
    '\\.scalafmt\\.conf',
  ),
  exactly(
    'which of the installed versions',
    '\\.nvmrc',
    '\\.(node|python|ruby|java|go|swift|terraform|php|perl)-version',
  ),
  exactly('an example that is copied by hand', '\\.env\\.(example|sample|template|dist|defaults)'),
  exactly(
    'rules by name, without programs',
    '\\.browserslistrc',
    '\\.jshintrc',
    '\\.shellcheckrc',
    '\\.yamllint(\\.ya?ml)?',
  ),
  exactly(
    'rules by name, without programs',
    '\\.hadolint\\.ya?ml',
    '\\.markdownlint\\.(json|jsonc|ya?ml)',
    '\\.swiftformat',
  ),
  exactly('judged by its text where it is read', '\\.prettierrc(\\.(json|ya?ml))?'),
  exactly('names of contributors, digests of providers', '\\.all-contributorsrc', '\\.terraform\\.lock\\.hcl'),
  exactly('what a web server gives away', '\\.well-known', '\\.nojekyll'),
  exactly('notes for people', '\\.changeset'),
  exactly('of all that is in it, what is obeyed has names of its own', '\\.github', '\\.yarn', '\\.gradle', '\\.venv'),
  exactly(
    'left by a tool that the person starts, for its next run',
    '\\.cache',
    '\\.(pytest|mypy|ruff|sass|jekyll|parcel|ccls|babel)[_-]cache',
    '\\.(next|nuxt|turbo|svelte-kit|angular|nyc_output|tox|nox|eggs|hypothesis|ipynb_checkpoints|vite|docusaurus|astro|expo)',
    '\\.(stack-work|build|deps|libs|dart_tool|eslintcache|stylelintcache|tsbuildinfo|coverage(\\.[\\w.-]+)?)',
    '\\.[\\w.+-]+\\.(d|cmd|tsbuildinfo)',
  ),
];

/** What is installed or built there is read by what installed or built it. */
const made = /^(?:node_modules|vendor|site-packages|__pycache__|target|build|dist|out|obj|venv|env)$/;

/** `isThere`: whether the person has something at this path. */
export function hiddenReason({ kind, type, path }: Change, isThere: (path: string) => boolean): string | undefined {
  if (kind !== 'added' || type === 'directory' || !/(^|\/)\./.test(path)) return undefined;
  const parts = path.split('/');
  for (const [at, part] of parts.entries()) {
    if (made.test(part)) return undefined;
    if (!part.startsWith('.') || part === '..' || /^\.git$/i.test(part)) continue;
    if (harmless.some(({ names }) => names.test(part))) continue;
    if (at + 1 < parts.length && isThere(parts.slice(0, at + 1).join('/'))) continue;
    const shown = at + 1 < parts.length ? 'it is in a new hidden directory' : 'it is a new hidden file';
    return `${shown}, which a program may obey: it is not known to be harmless`;
  }
  return undefined;
}
