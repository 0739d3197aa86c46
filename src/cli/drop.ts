/** `ctx drop`: as if the commands had never run. */
import { forgetFork } from '../proxy/fork-verbs.js';
import { counted } from './change-text.js';
import { currentDirectory } from './current-directory.js';
import { painter, printJson } from './output.js';
import type { Run } from './verb.js';

export const run: Run = async (call, host) => {
  const { dropped } = await forgetFork(await host(), {
    cwd: currentDirectory(),
    wait: call.flag('wait'),
    fork: call.value('fork'),
  });
  if (call.flag('json')) printJson({ version: 1, dropped });
  else process.stdout.write(`${painter(process.stdout)('green', 'dropped')} ${counted(dropped, 'change')}\n`);
  return 0;
};
