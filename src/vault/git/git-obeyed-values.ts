/**
 * Paths that a setting of git's may lead to. Read generously: any value may be a path or a command line, of whatever directory git
 * or the command starts in; only of keys that are known to be neither nothing is taken. Pure.
 */
import { posix } from 'node:path';
import { commandWords } from './command-words.js';
import type { Setting } from './git-configuration.js';

/** Names, refs, switches, numbers and addresses. */
const pathless =
  /^(?:core\.(?:worktree|repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol|safecrlf|quotepath|abbrev|compression|untrackedcache|commentchar|whitespace|preloadindex|sparsecheckout|sparsecheckoutcone|longpaths|protecthfs|protectntfs|sharedrepository|trustctime|checkstat)|user\.(?:name|email|useconfigonly)|branch\.[\s\S]*|remote\.[\s\S]*\.(?:url|pushurl|fetch|push|tagopt|prune|prunetags|mirror|skipdefaultupdate|promisor|partialclonefilter)|url\.[\s\S]*|init\.defaultbranch|color\.[\s\S]*|column\.[\s\S]*|push\.[\s\S]*|pull\.[\s\S]*|fetch\.[\s\S]*|gc\.[\s\S]*|advice\.[\s\S]*|rerere\.[\s\S]*|merge\.(?:conflictstyle|ff|renames|log|stat|tool|directoryrenames)|rebase\.(?:autostash|autosquash|updaterefs|stat|abbreviatecommands)|diff\.(?:algorithm|renames|colormoved|mnemonicprefix|tool|context|submodule|noprefix)|log\.[\s\S]*|status\.[\s\S]*|submodule\.[\s\S]*\.(?:url|active|branch|update|ignore)|extensions\.(?:objectformat|worktreeconfig|partialclone)|pack\.[\s\S]*|index\.[\s\S]*|feature\.[\s\S]*|http\.(?!cookiefile|sslcert|sslkey|sslcainfo|sslcapath)[^.]*|tag\.sort|help\.autocorrect|commit\.(?:gpgsign|verbose|cleanup)|credential\.(?:username|usehttppath)|safe\.directory|maintenance\.[\s\S]*|lfs\.repositoryformatversion|lfs\.[\s\S]*\.(?:access|locksverify))$/;

export const isPathless = (key: string) => pathless.test(key);

export interface Bases {
  /** Where a command or a relative path may start: the top of the working tree, the repository, the file that says so. */
  readonly directories: readonly string[];
  readonly home: string;
  /** Directories of programs that are the workspace's. */
  readonly programs: readonly string[];
}

export interface Obeyed {
  /** Files, and directories with all that is in them. */
  readonly below: readonly string[];
  /** Files alone: a word without a slash is more often no path than the name of a directory. */
  readonly files: readonly string[];
}

const hookNames =
  'applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive post-update reference-transaction push-to-checkout pre-auto-gc post-rewrite sendemail-validate fsmonitor-watchman p4-changelist p4-prepare-changelist p4-post-changelist p4-pre-submit post-index-change'.split(
    ' ',
  );

function expand(word: string, home: string): string {
  if (word === '~') return home;
  return word.startsWith('~/') ? posix.join(home, word.slice(2)) : word.replace(/^HOME\//, `${home}/`);
}

/** What one value may lead to, wherever that is; the caller knows what lies in the workspace. */
export function obeyedBy({ key, value }: Setting, { directories, home, programs }: Bases): Obeyed {
  if (isPathless(key) || value === '' || /^(?:true|false|yes|no|on|off|\d+[kmg]?)$/i.test(value))
    return { below: [], files: [] };
  const below: string[] = [];
  const files: string[] = [];
  const add = (text: string, isWhole: boolean) => {
    const path = expand(text, home);
    // What a command puts together itself is known by its end: "$(git rev-parse --show-toplevel)/tools/x".
    const relative = path.replace(/^\/+/, '');
    const found = [
      ...directories.map((each) => posix.resolve(each, relative)),
      ...(path.startsWith('/') ? [path] : []),
    ];
    (path.includes('/') || isWhole ? below : files).push(...found);
    if (!path.includes('/')) files.push(...programs.map((each) => posix.join(each, path)));
  };
  const whole = value.trim();
  const isPath = /(?:path|file|dir|template)$/.test(key);
  add(whole, isPath);
  for (const word of commandWords(value)) if (!/^[.-]+$/.test(word) && word !== whole) add(word, false);
  if (key === 'core.hookspath') {
    files.push(
      ...directories.flatMap((each) => hookNames.map((name) => posix.resolve(each, expand(whole, home), name))),
    );
  }
  return { below, files };
}
