/** `ctx ps`: what of ours goes on running, what it costs, and how to end it. */
import { pastable, visible } from '../../base/visible-text.js';
import { type Living, listLiving } from '../../sdk/operator/living.js';
import { counted, sizeText } from '../text/change-text.js';
import { painter, print, printJson } from '../text/output.js';
import type { Run } from '../verb.js';

function where({ origin, fork }: Living): string {
  if (origin === null) return 'the store';
  return `${visible(origin)}, ${fork === null ? 'the directory itself' : `fork ${fork}`}`;
}

export const run: Run = async (call, host) => {
  const living = await listLiving(await host({ looks: true }));
  if (call.flag('json')) {
    printJson({ version: 1, running: living });
    return 0;
  }
  const paint = painter(process.stdout);
  for (const each of living) {
    const { kind, pid, since, what, processes, bytes, end } = each;
    print(`${paint('bold', `${pid}`)}  ${kind}  ${where(each)}: ${visible(what)}\n`);
    print(
      `  since ${since}, ${counted(processes, 'process', 'processes')}, ${sizeText(bytes)}; end it: ${pastable(end)}\n`,
    );
  }
  if (living.length === 0) print('nothing of ctx is running\n');
  return 0;
};
