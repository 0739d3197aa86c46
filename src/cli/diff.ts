/** `ctx diff`: the fork against the directory. */
import { relative, resolve } from 'node:path';
import { filesDiffedAtOnce } from '../base/limits.js';
import { type ForkStatus, lookAtFork, readFork } from '../proxy/fork-verbs.js';
import type { Change } from '../vault/tree.js';
import { changeLines } from './change-text.js';
import { currentDirectory } from './current-directory.js';
import { diffText } from './diff-text.js';
import { painter, printJson } from './output.js';
import { isRepositoryData } from './repository-data.js';
import type { Run } from './verb.js';

/** The changes at or below the paths given, which are meant as the person's shell sees them. */
function chosen({ changes, origin }: ForkStatus, words: readonly string[]): readonly Change[] {
  if (words.length === 0) return changes;
  const roots = words.map((word) => relative(origin, resolve(word)));
  return changes.filter(({ path }) =>
    roots.some((root) => root === '' || path === root || path.startsWith(`${root}/`)),
  );
}

/** What can be read as text. Git's bookkeeping is not for reading; whoever names it gets it. */
function readable(status: ForkStatus, words: readonly string[]): readonly Change[] {
  return chosen(status, words).filter(
    (change) => change.type !== 'directory' && (words.length > 0 || !isRepositoryData(change)),
  );
}

export const run: Run = async (call, host) => {
  const request = {
    cwd: currentDirectory(),
    wait: call.flag('wait'),
    fork: call.value('fork'),
    since: call.value('since'),
  };
  const paint = painter(process.stdout);
  if (call.flag('json') || call.flag('names')) {
    const status = await lookAtFork(await host(), request);
    const changes = chosen(status, call.words);
    if (call.flag('json')) printJson({ version: 1, ...status, changes });
    else for (const line of changeLines(changes, paint)) process.stdout.write(`${line}\n`);
    return 0;
  }
  const { status, texts } = await readFork(await host(), request, (found) =>
    readable(found, call.words).slice(0, filesDiffedAtOnce),
  );
  const style = { paint, escaped: process.stdout.isTTY === true };
  for (const text of texts) process.stdout.write(diffText(text, style));
  const left = readable(status, call.words).length - texts.length;
  if (left > 0) process.stderr.write(`and ${left} more files: ctx diff --names lists them, ctx diff PATH shows them\n`);
  return 0;
};
