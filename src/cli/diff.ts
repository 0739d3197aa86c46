/** `ctx diff`: the fork against the directory. */
import { changedPaths, diffOfFork } from '../proxy/fork-diff.js';
import { diffText } from '../vault/diff-text.js';
import { changeLines } from './change-text.js';
import { currentDirectory } from './current-directory.js';
import { painter, printJson } from './output.js';
import type { Run } from './verb.js';

export const run: Run = async (call, host) => {
  const request = {
    cwd: currentDirectory(),
    wait: call.flag('wait'),
    fork: call.value('fork'),
    since: call.value('since'),
    paths: call.words,
  };
  const paint = painter(process.stdout);
  if (call.flag('json') || call.flag('names')) {
    const status = await changedPaths(await host(), request);
    if (call.flag('json')) printJson({ version: 1, ...status });
    else for (const line of changeLines(status.changes, paint)) process.stdout.write(`${line}\n`);
    return 0;
  }
  const { texts, left } = await diffOfFork(await host(), request);
  const style = { paint, escaped: process.stdout.isTTY === true };
  for (const text of texts) process.stdout.write(diffText(text, style));
  if (left > 0) process.stderr.write(`and ${left} more files: ctx diff --names lists them, ctx diff PATH shows them\n`);
  return 0;
};
