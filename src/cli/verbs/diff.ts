/** `ctx diff`: the fork against the directory. */
import { encodePath } from '../../base/path-bytes.js';
import type { ForkStatus } from '../../sdk/workspace/fork.js';
import { forkHere } from '../input/fork-here.js';
import { changeLines, counted, incompleteText } from '../text/change-text.js';
import { painter, printError, printExact, printJson } from '../text/output.js';
import { pagerFor, showText } from '../text/pager.js';
import type { Run } from '../verb.js';

function sayIncomplete({ running }: Pick<ForkStatus, 'running'>): void {
  if (running.length > 0) printError(`${incompleteText(running)}\n`);
}

export const run: Run = async (call, host) => {
  const asked = { since: call.value('since'), paths: call.words };
  const paint = painter(process.stdout);
  const pager = call.flag('no-pager') ? undefined : pagerFor(process.stdout, process.env);
  if (call.flag('json') || call.flag('names')) {
    const status = await (await forkHere(call, host)).status(asked);
    if (call.flag('json')) {
      printJson({ version: 1, ...status });
      return 0;
    }
    const lines = changeLines(status.changes, paint).map((line) => `${line}\n`);
    await showText(lines.join(''), pager);
    sayIncomplete(status);
    return 0;
  }
  const style = { paint, escaped: process.stdout.isTTY === true };
  // A byte that is no UTF-8 goes out as it is.
  const exactly = (text: string) => printExact(style.escaped ? text : encodePath(text));
  const full = call.flag('full');
  const fork = await forkHere(call, host);
  const streamed = full ? { onText: exactly } : {};
  const { text, left, repository, running } = await fork.diff({ ...asked, style, full, ...streamed });
  if (pager === undefined) exactly(text);
  else await showText(text, pager);
  sayIncomplete({ running });
  if (left > 0) {
    printError(
      `and ${counted(left, 'more change')}: ctx diff --names lists them, ctx diff --full or ctx diff PATH shows them\n`,
    );
  }
  if (repository > 0) printError(`and ${counted(repository, 'path')} of git's own: ctx diff .git shows them\n`);
  return 0;
};
