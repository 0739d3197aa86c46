/** What installed packages bring, and which of their files have a name that says something elsewhere, and nothing there. Pure. */
import type { Change } from '../tree/tree.js';

/** Up to the directory of the package that a path is in: `node_modules/a`, `node_modules/@scope/a`, `vendor/owner/a`. */
const inPackage = /^(.*\/)?(node_modules\/(@[^/]+\/)?(?!\.)[^/@]+|vendor\/(?!\.)[^/]+\/[^/]+)(?=\/)/s;

/** Of an installed package: read at the top of a project, or of a repository, and nowhere else. */
const unread = new RegExp(
  `^(${[
    '(package|composer)\\.json',
    'binding\\.gyp',
    '\\.npmrc|\\.yarnrc(\\.ya?ml)?',
    '\\.(travis|appveyor|drone|cirrus)\\.ya?ml|appveyor\\.ya?ml|azure-pipelines\\.ya?ml|\\.gitlab-ci\\.ya?ml',
    '\\.github/(workflows|actions)/.*|\\.circleci/.*',
    // Linters pass over what is installed.
    '\\.(eslintrc|prettierrc|stylelintrc)\\.[cm]?[jt]s|(eslint|prettier|stylelint)\\.config\\.[cm]?[jt]s',
    '\\.(huskyrc|lintstagedrc|commitlintrc)(\\..*)?|\\.?lefthook\\.ya?ml|\\.pre-commit-config\\.ya?ml',
  ].join('|')})$`,
  'is',
);

export function packageOf(path: string): string | undefined {
  // Most paths are in none: a search for the word costs less than the expression.
  if (!path.includes('node_modules/') && !path.includes('vendor/')) return undefined;
  return inPackage.exec(path)?.[0];
}

/**
 * Whether nothing runs or obeys it unasked for its name: npm runs the scripts of an installed package when it is installed, composer
 * those of the project alone. The person's own configuration may still lead to it.
 */
export function isUnread({ path, type }: Change): boolean {
  const unit = type === 'file' ? packageOf(path) : undefined;
  if (unit === undefined) return false;
  const name = path.slice(unit.length + 1);
  // Composer's own are in `vendor`; much else is, too.
  if (!/(^|\/)node_modules\/[^/]/.test(unit)) return /^composer\.json$/i.test(name);
  // A package may bring the manifests of its parts and of its samples: they are no more than its own.
  return unread.test(name) || /\/package\.json$/i.test(path);
}
