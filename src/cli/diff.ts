/** `ctx diff`: the fork against the directory. */
import { changedPaths, diffOfFork } from '../proxy/fork-diff.js';
import { diffText } from '../vault/diff-text.js';
import { changeLines } from './change-text.js';
import { currentDirectory } from './current-directory.js';
import { painter, printJson } from './output.js';
import { pagerFor, showText } from './pager.js';
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
  const pager = call.flag('no-pager') ? undefined : pagerFor(process.stdout, process.env);
  if (call.flag('json') || call.flag('names')) {
    const status = await changedPaths(await host(), request);
    if (call.flag('json')) printJson({ version: 1, ...status });
    else
      await showText(
        changeLines(status.changes, paint)
          .map((line) => `${line}\n`)
          .join(''),
        pager,
      );
    return 0;
  }
  const { texts, left } = await diffOfFork(await host(), request);
  const style = { paint, escaped: process.stdout.isTTY === true };
  await showText(texts.map((text) => diffText(text, style)).join(''), pager);
  if (left > 0) process.stderr.write(`and ${left} more files: ctx diff --names lists them, ctx diff PATH shows them\n`);
  return 0;
};
