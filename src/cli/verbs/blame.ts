/** `ctx blame FILE`: the command that changed it last, whom it ran for, and when. */
import { resolve } from 'node:path';
import { ExitCode } from '../../base/errno.js';
import { visible, visibleCommand } from '../../base/visible-text.js';
import { currentDirectory } from '../../sdk/current-directory.js';
import { AuditRecord } from '../../sdk/operator/record.js';
import { painter, print, printJson } from '../text/output.js';
import type { Run } from '../verb.js';

/** Enough of it to compare by eye; `ctx audit show` has all. */
function stateText(state: unknown): string {
  return typeof state === 'string' ? state.slice(0, 16) : 'unknown';
}

export const run: Run = async (call, hostOf) => {
  const record = new AuditRecord(await hostOf());
  const found = await record.blame(resolve(currentDirectory(), call.words[0] ?? ''));
  const { path, origin, state, change, command, applied, live, changedSince } = found;
  const { body, chain } = command;
  const argv = body.facts?.['argv'];
  const authority = String(body.facts?.['authority'] ?? '');
  if (call.flag('json')) {
    printJson({
      version: 1,
      path,
      origin,
      state,
      change,
      record: { chain, seq: body.seq, head: command.head },
      argv: argv ?? null,
      agent: body.agent,
      session: body.session,
      authority,
      stateBefore: body.facts?.['stateBefore'] ?? null,
      stateAfter: body.facts?.['stateAfter'] ?? null,
      ts: body.ts,
      applied: applied === undefined ? null : { chain: applied.chain, seq: applied.body.seq, ts: applied.body.ts },
      changedSince,
      liveSince: live === undefined ? null : { chain: live.chain, seq: live.body.seq, ts: live.body.ts },
    });
    return ExitCode.ok;
  }
  const paint = painter(process.stdout);
  const rows: readonly (readonly [string, string])[] = [
    ['command', Array.isArray(argv) ? visibleCommand(argv.map(String)) : visible(body.object)],
    ['agent', body.agent ?? '-'],
    ['time', body.ts],
    ['authority', authority],
    ['fork', `${stateText(body.facts?.['stateBefore'])} -> ${stateText(body.facts?.['stateAfter'])}`],
    ['record', `${chain}:${body.seq}`],
    ['state', state === 'pending' ? 'pending in the fork' : `applied ${applied?.body.ts ?? ''}`],
  ];
  print(`${paint('bold', visible(path))} ${change} by\n`);
  for (const [name, value] of rows) print(`  ${paint('dim', name.padEnd(9))}  ${value}\n`);
  if (live !== undefined) {
    const where = `${live.chain}:${live.body.seq}`;
    print(`  ${paint('yellow', `since then a command ran on the directory itself: ${where}`)}\n`);
  }
  if (changedSince) print(`  ${paint('yellow', 'changed since then, not by a recorded command')}\n`);
  return ExitCode.ok;
};
