/**
 * Paths of the workspace that the person's own git obeys: asked of git itself, of every repository and root, with the person's
 * configuration in all its scopes and included files, and with nothing of the fork's in reach.
 */
import { lstatSync, readdirSync, readlinkSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { canonicalAncestor } from '../../base/canonical-path.js';
import { gitConfigurationFiles, gitSettingsMilliseconds, gitTextBytes } from '../../base/limits/store.js';
import { makeDirectory } from '../../base/make-directory.js';
import { decodePath, encodePath } from '../../base/path-bytes.js';
import { readSmallFile } from '../../base/small-file.js';
import { visible } from '../../base/visible-text.js';
import { addParents, belowAny } from '../tree/clashing.js';
import type { Setting } from './git-configuration.js';
import { isPathless, obeyedBy } from './git-obeyed-values.js';
import { isPipe, isThere } from './git-places.js';
import type { Git } from './git-program.js';

export interface ObeyedRequest {
  readonly git: Git | undefined;
  /** Their directories. */
  readonly repositories: readonly string[];
  readonly roots: readonly string[];
  /** An empty directory of ours. */
  readonly scratch: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export interface ObeyedPaths {
  /** Why a change at an absolute path may be of something that is obeyed; a link may also stand above it. */
  whyObeyed(path: string, isLink: boolean): string | undefined;
}

interface Listed extends Setting {
  /** The file that says it; undefined for the command line or the environment. */
  readonly file?: string | undefined;
}

/** Variables by which the person's shell tells git where to look. */
const told = /^(?:HOME|XDG_CONFIG_HOME|GIT_CONFIG_(?:GLOBAL|SYSTEM|NOSYSTEM|COUNT|PARAMETERS|KEY_\d+|VALUE_\d+))$/;
/** Variables that name programs or files to git. */
const naming =
  /^(?:EDITOR|VISUAL|PAGER|SSH_ASKPASS|GIT_(?:EDITOR|SEQUENCE_EDITOR|PAGER|SSH|SSH_COMMAND|ASKPASS|PROXY_COMMAND|EXTERNAL_DIFF|TEMPLATE_DIR|EXEC_PATH|CONFIG_GLOBAL|CONFIG_SYSTEM|CONFIG))$/;

/** `link` is the name by which git was told of `directory`. */
function fileOf(named: string, link: string, directory: string): string {
  try {
    return realpathSync.native(posix.isAbsolute(named) ? named : `${link}/${named}`);
  } catch {
    return posix.resolve(directory, named.startsWith(`${link}/`) ? named.slice(link.length + 1) : named);
  }
}

function parse(output: Buffer, link: string, directory: string): readonly Listed[] {
  const fields = output.toString('utf8').split('\0');
  const found: Listed[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [origin = '', item = ''] = [fields[at], fields[at + 1]];
    const end = item.indexOf('\n');
    const file = origin.startsWith('file:') ? fileOf(origin.slice('file:'.length), link, directory) : undefined;
    const setting = end < 0 ? { key: item, value: 'true' } : { key: item.slice(0, end), value: item.slice(end + 1) };
    found.push({ ...setting, file });
  }
  return found;
}

/** Where it leads, also where nothing is there yet: the fork could make that. */
function resolved(path: string): string {
  try {
    return canonicalAncestor(path);
  } catch {
    return path;
  }
}

/** A repository whose own file sets nothing that could lead anywhere: what git says of it is what it says of none. */
function isPlain(directory: string): boolean {
  if (isThere(posix.join(directory, 'config.worktree')) || isThere(posix.join(directory, 'commondir'))) return false;
  try {
    let section = '';
    return readSmallFile(posix.join(directory, 'config'), gitTextBytes)
      .split('\n')
      .every((line) => {
        const head = /^[ \t]*\[([A-Za-z0-9-]+)(?:[ \t]+"([^"\\]*)")?\][ \t]*$/.exec(line);
        const setting = /^[ \t]*([A-Za-z][A-Za-z0-9-]*)[ \t]*=[ \t]*[^\\"]*$/.exec(line);
        if (head !== null) section = `${head[1]?.toLowerCase()}${head[2] === undefined ? '' : `.${head[2]}`}`;
        else if (setting !== null) return isPathless(`${section}.${setting[1]?.toLowerCase()}`);
        return head !== null || /^[ \t]*$/.test(line);
      });
  } catch {
    return false;
  }
}

/** What git reads of a repository before it lists anything. */
const readFirst = ['HEAD', 'commondir', 'config', 'config.worktree'];

/** More hops than the kernel goes. */
const mostHops = 40;

function realDirectory(path: string): string {
  try {
    return decodePath(realpathSync.native(encodePath(path), { encoding: 'buffer' }));
  } catch {
    return resolved(path); // not there yet
  }
}

/** Where each hop of a link leads: whatever stands there in its place is obeyed instead. */
function hopsOf(path: string): readonly string[] {
  const found: string[] = [];
  for (let at = path; found.length < mostHops; ) {
    const place = posix.join(realDirectory(posix.dirname(at)), posix.basename(at));
    if (at !== path) found.push(place);
    try {
      if (lstatSync(encodePath(place), { throwIfNoEntry: false })?.isSymbolicLink() !== true) return found;
      const target = decodePath(readlinkSync(encodePath(place), { encoding: 'buffer' }));
      at = posix.isAbsolute(target) ? target : `${posix.dirname(place)}/${target}`;
    } catch {
      return found; // not ours to see
    }
  }
  return found;
}

/** The links among a repository's hooks: the person has git run what they lead to. */
function linkedHooks(directory: string): readonly string[] {
  const hooks = posix.join(directory, 'hooks');
  try {
    const names = readdirSync(encodePath(hooks), { encoding: 'buffer' });
    return names.flatMap((name) => hopsOf(posix.join(hooks, decodePath(name))));
  } catch {
    return [];
  }
}

const isIn = (path: string, top: string) => path !== top && path.startsWith(top === '/' ? '/' : `${top}/`);

export async function obeyedPaths(request: ObeyedRequest): Promise<ObeyedPaths> {
  const { git, repositories, roots, scratch, environment } = request;
  const home = environment['HOME'] ?? '/';
  const below = new Set<string>();
  const files = new Set<string>();
  const known = new Set<string>();
  const keep = (into: Set<string>, path: string) => {
    const isHere = roots.some((root) => isIn(path, root));
    if (isHere) into.add(path);
    // Links of the person's lead there, too. A word that names nothing leads nowhere.
    if (known.has(path) || !(isHere || isThere(path))) return;
    known.add(path);
    for (const real of [resolved(path), ...hopsOf(path)]) if (roots.some((root) => isIn(real, root))) into.add(real);
  };
  const programs = (environment['PATH'] ?? '')
    .split(':')
    .filter((each) => roots.some((root) => each === root || isIn(each, root)));
  const take = (setting: Setting, directories: readonly string[]) => {
    const found = obeyedBy(setting, { directories, home, programs });
    for (const path of found.below) keep(below, path);
    for (const path of found.files) keep(files, path);
  };
  const own = Object.entries(environment).filter((each): each is [string, string] => each[1] !== undefined);
  const shell = Object.fromEntries(own.filter(([name]) => told.test(name)));
  let links = 0;
  /** Where it is not known what is obeyed: there everything may be. */
  const unknown = new Map<string, string>();
  const fail = (tops: readonly string[], reason: string) => {
    for (const top of tops)
      unknown.set(top, `your git configuration may name it, and could not be read: ${visible(reason)}`);
  };
  const config = environment['XDG_CONFIG_HOME'] ?? posix.join(home, '.config');
  const ownFiles = ['/etc/gitconfig', posix.join(home, '.gitconfig'), posix.join(config, 'git', 'config')];
  type Words = (link: string) => readonly string[];
  const list = async (directory: string, tops: readonly string[], words: Words = () => [], file?: string) => {
    if (git === undefined) {
      fail(tops, 'there is no git here');
      return [];
    }
    const read = [...readFirst.map((name) => posix.join(directory, name)), ...(file === undefined ? ownFiles : [file])];
    const pipe = read.find(isPipe);
    if (pipe !== undefined) {
      fail(tops, `${pipe} is a pipe`);
      return [];
    }
    // A plain name for whatever the repository is called.
    links += 1;
    const link = join(scratch, `of-${links}`);
    symlinkSync(encodePath(directory), link);
    const all = ['config', ...words(link), '--list', '--show-origin', '-z', '--includes'];
    const { code, stdout, reason } = await git.run({
      words: all,
      environment: { ...shell, GIT_DIR: link },
      cwd: link,
      milliseconds: gitSettingsMilliseconds,
    });
    if (code === 0) return parse(stdout, link, directory);
    fail(tops, reason === '' ? 'git ended without an error message' : reason);
    return [];
  };
  const seen = new Set<string>();
  const takeAll = async (listed: readonly Listed[], top: readonly string[], tops: readonly string[]): Promise<void> => {
    for (const setting of listed) {
      const from = setting.file === undefined ? [] : [posix.dirname(resolved(setting.file))];
      if (setting.file !== undefined) keep(below, setting.file);
      take(setting, [...top, ...from]);
      // What is included under a condition that does not hold now may hold at the next branch.
      if (!/^includeif\.[\s\S]*\.path$/.test(setting.key)) continue;
      const base = setting.file === undefined ? '/' : posix.dirname(setting.file);
      const path = posix.resolve(base, setting.value.replace(/^~\//, `${home}/`));
      if (seen.has(path) || !isThere(path)) continue;
      seen.add(path);
      if (seen.size > gitConfigurationFiles) {
        fail(tops, `it includes more than ${gitConfigurationFiles} files under conditions`);
        return;
      }
      // By the directory, so that what it includes in turn is found from there.
      const words: Words = (link) => ['--file', posix.join(link, posix.basename(path))];
      await takeAll(await list(posix.dirname(path), tops, words, path), top, tops);
    }
  };
  const none = join(scratch, 'none');
  for (const name of ['', 'objects', 'refs']) makeDirectory(join(none, name));
  writeFileSync(join(none, 'HEAD'), 'ref: refs/heads/none\n');
  const isConfigured = ownFiles.some(isThere) || Object.keys(shell).some((name) => name.startsWith('GIT_'));
  const everywhere = git === undefined && !isConfigured ? [] : await list(none, roots);
  await takeAll(everywhere, roots, roots);
  const depends = everywhere.some(({ key }) => key.startsWith('includeif.'));
  for (const directory of repositories) {
    for (const path of linkedHooks(directory)) keep(below, path);
    keep(below, posix.join(directory, 'hooks'));
    if (!depends && isPlain(directory)) continue;
    const tops = posix.basename(directory) === '.git' ? [posix.dirname(directory)] : roots;
    const listed = await list(directory, tops);
    const trees = listed
      .filter(({ key }) => key === 'core.worktree')
      .map(({ value }) => posix.resolve(directory, value));
    await takeAll(listed, [posix.dirname(directory), directory, ...trees, ...roots], tops);
  }
  for (const [name, value] of own) if (naming.test(name)) take({ key: name, value }, roots);
  for (const name of ['attributes', 'ignore', 'config']) keep(below, posix.join(config, 'git', name));
  keep(below, posix.join(home, '.gitconfig'));

  const isBelow = belowAny(below);
  const above = new Set<string>();
  for (const path of [...below, ...files]) addParents(path, above);
  const isNamed = (path: string, isLink: boolean) =>
    below.has(path) || files.has(path) || isBelow(path) || (isLink && above.has(path));
  return {
    whyObeyed: (path, isLink) => {
      if (isNamed(path, isLink)) return 'your git configuration names it, or the directory it is in';
      if (unknown.size === 0) return undefined;
      return [...unknown].find(([top]) => isIn(path, top) || (isLink && isIn(top, path)))?.[1];
    },
  };
}
