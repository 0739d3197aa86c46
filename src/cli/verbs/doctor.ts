/** `ctx doctor`: can this host hold a jail, and what to do where it cannot. */
import { ExitCode } from '../../base/errno.js';
import { examine } from '../../sdk/operator/doctor.js';
import { painter, print, printJson } from '../text/output.js';
import type { Run } from '../verb.js';

const marks = { ok: ['green', '✓'], missing: ['red', '✗'], optional: ['yellow', '–'] } as const;

export const run: Run = async (call, host) => {
  const { ready, checks } = await examine(await host());
  if (call.flag('json')) {
    printJson({ version: 1, ready, checks });
    return ready ? ExitCode.ok : ExitCode.unavailable;
  }
  const paint = painter(process.stdout);
  const width = Math.max(...checks.map(({ name }) => name.length));
  for (const { name, state, found, remedy } of checks) {
    const [colour, mark] = marks[state];
    print(`${paint(colour, mark)} ${name.padEnd(width)}  ${found}\n`);
    if (remedy !== undefined) print(`  ${' '.repeat(width)}  ${paint('dim', remedy)}\n`);
  }
  print(ready ? 'This host can run ctx exec.\n' : 'This host cannot run ctx exec yet: see the remedies above.\n');
  return ready ? ExitCode.ok : ExitCode.unavailable;
};
