/** `ctx diff`: the fork against the directory. */

import { visible } from '../base/visible-text.js';
import { lookAtFork } from '../proxy/fork-verbs.js';
import { changeLines } from './change-text.js';
import { painter, printJson } from './output.js';
import type { Run } from './verb.js';

export const run: Run = async (call, host) => {
  const status = await lookAtFork(await host(), { cwd: process.cwd(), wait: call.flag('wait') });
  const lines = call.flag('names')
    ? status.changes.map(({ path }) => visible(path))
    : changeLines(status.changes, painter(process.stdout));
  if (call.flag('json')) printJson({ version: 1, ...status });
  else for (const line of lines) process.stdout.write(`${line}\n`);
  return 0;
};
