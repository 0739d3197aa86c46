/** `ctx status`: where a command here would work, and what waits for the person. */
import { visible } from '../../base/visible-text.js';
import { countChanges, unlistedNotes } from '../../sdk/changes.js';
import { forkHere } from '../input/fork-here.js';
import { counted, sizeText } from '../text/change-text.js';
import { painter, print, printJson } from '../text/output.js';
import type { Run } from '../verb.js';

export const run: Run = async (call, host, _hook, { stdout }) => {
  const status = await (await forkHere(call, host)).status();
  const count = countChanges(status.changes);
  if (call.flag('json')) {
    printJson({ version: 1, ...status, changes: count });
    return 0;
  }
  const paint = painter(stdout);
  const lines = [
    `${paint('bold', visible(status.origin))}`,
    `  fork      ${status.fork} of vault ${status.vault}, on ${counted(status.layers, 'layer')}`,
    `  pending   ${count === 0 ? 'nothing' : `${counted(count, 'change')}: ctx diff, ctx apply, ctx drop`}`,
    ...unlistedNotes(status.changes).map((note) => paint('yellow', `            ${visible(note)}`)),
    ...(status.temporary.files === 0
      ? []
      : [
          `  /tmp      ${counted(status.temporary.files, 'file')}, ${sizeText(status.temporary.bytes)}: kept until ctx drop`,
        ]),
    ...(status.freeing === 0
      ? []
      : [`  freeing   ${counted(status.freeing, 'directory', 'directories')} thrown away: ctx gc waits for it`]),
    ...status.running.map(
      ({ pid, command, since }) => `  running   ${visible(command)} (process ${pid}, since ${since})`,
    ),
    ...(status.running.length === 0 ? [] : [paint('dim', '            what it is writing may still be incomplete')]),
    ...(status.waiting === 0
      ? []
      : [`  waiting   ${counted(status.waiting, 'edit')} of yours: not picked up by the running commands yet`]),
    ...status.clashes.map((path) => paint('red', `  conflict  both you and the fork changed ${visible(path)}`)),
  ];
  print(`${lines.join('\n')}\n`);
  return 0;
};
