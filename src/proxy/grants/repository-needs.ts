/**
 * What a repository needs and keeps elsewhere: objects that it borrows (`alternates`) and hooks (`core.hooksPath`). Its own files name
 * them, and those may have come with it from a stranger: they are not shown because of that. Git inside would run no hook, or find
 * no object, without a reason that anybody sees: so it is said, with what shows them.
 */
import { posix } from 'node:path';
import { contains } from '../../authority/absolute-path.js';
import { gitKey, gitPath, parseGitSettings } from '../../authority/git-settings.js';
import { canonicalPath } from '../../base/canonical-path.js';
import { gitConfigurationBytes } from '../../base/limits/store.js';
import { smallFileAt } from '../../base/small-file.js';
import { shellWord, visible } from '../../base/visible-text.js';

/** More than any repository has. */
const mostAlternates = 16;

const textOf = (path: string) => smallFileAt(path, gitConfigurationBytes) ?? '';

function alternatesOf(repository: string): readonly string[] {
  const objects = posix.join(repository, 'objects');
  const lines = textOf(posix.join(objects, 'info/alternates')).split('\n');
  const named = lines.filter((line) => line !== '' && !line.startsWith('#')).slice(0, mostAlternates);
  return named.map((line) => posix.resolve(objects, line));
}

function hooksOf(repository: string, home: string): readonly string[] {
  const settings = parseGitSettings(textOf(posix.join(repository, 'config'))) ?? [];
  const value = settings.findLast((setting) => gitKey(setting) === 'core.hookspath')?.value;
  const path = value === undefined ? undefined : gitPath(value, home);
  return path === undefined ? [] : [path];
}

/** Warnings about what is there, and neither in the workspace nor in `shown`. */
export function repositoryNeeds(origin: string, home: string, shown: readonly string[]): readonly string[] {
  const repository = posix.join(origin, '.git');
  const hidden = (paths: readonly string[]) =>
    paths.flatMap((path) => {
      const found = canonicalPath(path);
      return found === undefined || [origin, ...shown].some((directory) => contains(directory, found)) ? [] : [found];
    });
  const shows = (path: string) => `add --read ${shellWord(path)} to show it`;
  return [
    ...hidden(alternatesOf(repository)).map(
      (path) => `this repository borrows objects from ${visible(path)}, which git inside cannot read: ${shows(path)}`,
    ),
    ...hidden(hooksOf(repository, home)).map(
      (path) => `git inside runs no hooks of this repository: they are in ${visible(path)}; ${shows(path)}`,
    ),
  ];
}
