/** `ctx drop`: as if the commands had never run. */

import { forkHere } from '../input/fork-here.js';
import { counted } from '../text/change-text.js';
import { painter, print, printJson } from '../text/output.js';
import type { Run } from '../verb.js';

export const run: Run = async (call, host) => {
  const { dropped, more } = await (await forkHere(call, host)).drop();
  if (call.flag('json')) printJson({ version: 1, dropped, ...(more === undefined ? {} : { more }) });
  else
    print(
      `${painter(process.stdout)('green', 'dropped')} ${more === true ? 'at least ' : ''}${counted(dropped, 'change')}\n`,
    );
  return 0;
};
