/** `ctx diff`: the fork against the directory. */
import { changeLines } from './change-text.js';
import { forkHere } from './fork-here.js';
import { painter, printJson } from './output.js';
import { pagerFor, showText } from './pager.js';
import type { Run } from './verb.js';

export const run: Run = async (call, host) => {
  const asked = { since: call.value('since'), paths: call.words };
  const paint = painter(process.stdout);
  const pager = call.flag('no-pager') ? undefined : pagerFor(process.stdout, process.env);
  if (call.flag('json') || call.flag('names')) {
    const status = await (await forkHere(call, host)).status(asked);
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
  const style = { paint, escaped: process.stdout.isTTY === true };
  const { text, left } = await (await forkHere(call, host)).diff({ ...asked, style });
  await showText(text, pager);
  if (left > 0) process.stderr.write(`and ${left} more files: ctx diff --names lists them, ctx diff PATH shows them\n`);
  return 0;
};
