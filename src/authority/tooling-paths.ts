/**
 * Paths that tools read in a person's home, as templates, so that nothing here depends on a host. Each is chosen so
 * that no private key, token or password lies in it: caches and single configuration files, never `~/.config`,
 * `~/.cargo`, `~/.m2` as a whole, never `.npmrc`, `.netrc` or `settings.xml`.
 *
 * `$NAME` and `${NAME}` come from a closed set of variables. An unset or empty one drops the path: a literal `/pkg/mod`
 * would be somebody else's directory. What a variable holds is never expanded again.
 */
import { isExactText } from '../base/path-bytes.js';
import { isNormalPath } from './absolute-path.js';
import { sortedUnique } from './frozen.js';
import { quoted, refuse } from './syntax.js';

const pathVariables = Object.freeze([
  'HOME',
  'USER',
  'GOPATH',
  'GOROOT',
  'CARGO_HOME',
  'RUSTUP_HOME',
  'XDG_CACHE_HOME',
  'XDG_CONFIG_HOME',
] as const);
export type PathVariable = (typeof pathVariables)[number];
export type PathEnvironment = { readonly [Name in PathVariable]?: string | undefined };

export const defaultToolingPaths: readonly string[] = Object.freeze([
  '$HOME/.gitconfig',
  '$HOME/.config/git/attributes',
  '$HOME/.config/git/config',
  '$HOME/.config/git/ignore',
  '$XDG_CONFIG_HOME/git/attributes',
  '$XDG_CONFIG_HOME/git/config',
  '$XDG_CONFIG_HOME/git/ignore',
  '$HOME/.editorconfig',
  '$GOROOT',
  '$RUSTUP_HOME/settings.toml',
  '$RUSTUP_HOME/toolchains',
  '$HOME/.rustup/settings.toml',
  '$HOME/.rustup/toolchains',
  // Interpreters that a project's own environment leads to, whatever PATH says.
  '$HOME/.local/share/mise/installs',
  '$HOME/.local/share/uv/python',
  '$HOME/.pyenv/versions',
]);

/**
 * Caches that tools fill: shown as the person has them, and written beside, in the fork. Each by itself, since tools keep their tokens around
 * them: `~/.cargo/credentials.toml`, `~/.m2/settings.xml`, `~/.gradle/gradle.properties`, `~/.cache/huggingface/token`.
 */
export const cachePaths: readonly string[] = Object.freeze([
  '$CARGO_HOME/git',
  '$CARGO_HOME/registry',
  '$GOPATH/pkg/mod',
  '$HOME/.bun/install/cache',
  '$HOME/.cache/Cypress',
  '$HOME/.cache/composer',
  '$HOME/.cache/coursier',
  '$HOME/.cache/deno',
  '$HOME/.cache/go-build',
  '$HOME/.cache/ms-playwright',
  '$HOME/.cache/node/corepack',
  '$HOME/.cache/pip',
  '$HOME/.cache/pnpm',
  '$HOME/.cache/puppeteer',
  '$HOME/.cache/uv',
  '$HOME/.cache/yarn',
  '$HOME/.cargo/git',
  '$HOME/.cargo/registry',
  '$HOME/.gradle/caches',
  '$HOME/.gradle/wrapper/dists',
  '$HOME/.ivy2/cache',
  '$HOME/.local/share/pnpm/store',
  '$HOME/.m2/repository',
  '$HOME/.npm/_cacache',
  '$HOME/.nuget/packages',
  '$HOME/.yarn/berry/cache',
  '$HOME/go/pkg/mod',
  '$XDG_CACHE_HOME/go-build',
  '$XDG_CACHE_HOME/pip',
  '$XDG_CACHE_HOME/uv',
]);

/** The members of the closed set and nothing else of what a process inherited, with the home that counts. */
export function pathEnvironment(
  variables: Readonly<Record<string, string | undefined>>,
  home = variables['HOME'],
): PathEnvironment {
  const members = pathVariables.flatMap((name) => {
    const value = name === 'HOME' ? home : variables[name];
    return value === undefined ? [] : [[name, value]];
  });
  return Object.freeze(Object.fromEntries(members));
}

export interface DroppedTemplate {
  readonly template: string;
  readonly reason: string;
}

export interface ExpandedPaths {
  readonly paths: readonly string[];
  /** Not errors: a host without Go has no GOPATH. */
  readonly dropped: readonly DroppedTemplate[];
}

const reference = /\$(?:\{([^}]*)\}|([A-Za-z_][A-Za-z0-9_]*)|)/g;

function isPathVariable(name: string): name is PathVariable {
  return pathVariables.some((known) => known === name);
}

type UnknownName = (match: string, template: string) => string;

function replaced(
  template: string,
  environment: PathEnvironment,
  unknown: UnknownName,
): { readonly text: string; readonly missing: string | undefined } {
  let missing: string | undefined;
  const text = template.replace(reference, (match, braced: string | undefined, plain: string | undefined) => {
    const name = braced ?? plain ?? '';
    if (!isPathVariable(name)) return unknown(match, template);
    const value = environment[name] ?? '';
    if (value === '' || !isExactText(value)) missing ??= `${name} is not ${value === '' ? 'set' : 'UTF-8'}`;
    return value;
  });
  return { text, missing };
}

function refuseUnknown(_match: string, template: string): string {
  return refuse('expand path', `expected a variable of ${pathVariables.join(', ')} in ${quoted(template)}`);
}

/** A path on a command line: variables of the closed set are replaced, any other `$` is part of a name. */
export function expandGivenPath(given: string, environment: PathEnvironment): string | DroppedTemplate {
  const { text, missing } = replaced(given, environment, (match) => match);
  return missing === undefined ? text : Object.freeze({ template: given, reason: missing });
}

/** A path in a file of the operator's. EINVAL for a variable that is not of the closed set. */
export function expandPath(template: string, environment: PathEnvironment): string | DroppedTemplate {
  const { text, missing } = replaced(template, environment, refuseUnknown);
  if (missing !== undefined) return Object.freeze({ template, reason: missing });
  // A final or doubled slash in a variable is tidied; a `..` could lead anywhere and is not.
  const tidy = text.replace(/\/+/g, '/').replace(/(.)\/$/, '$1');
  if (isNormalPath(tidy)) return tidy;
  return Object.freeze({ template, reason: `${quoted(text)} is not a normal absolute path` });
}

export function expandPaths(templates: readonly string[], environment: PathEnvironment): ExpandedPaths {
  const results = templates.map((template) => expandPath(template, environment));
  return Object.freeze({
    paths: sortedUnique(results.filter((result) => typeof result === 'string')),
    dropped: Object.freeze(results.filter((result) => typeof result !== 'string')),
  });
}
