/** `ctx blame FILE`: the command that changed it last, whom it ran for, and when. */
import { existsSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { type Blame, blame } from '../audit/blame.js';
import { find } from '../audit/query.js';
import { directoryReader } from '../audit/reader.js';
import { contains } from '../authority/absolute-path.js';
import { ErrnoError, ExitCode } from '../base/errno.js';
import { visible, visibleCommand } from '../base/visible-text.js';
import { placeOf } from '../proxy/host.js';
import { currentDirectory } from './current-directory.js';
import { painter, printJson } from './output.js';
import type { Run } from './verb.js';

/** Its directory may be in the fork only: then the nearest that is here says which workspace it belongs to. */
function nearest(path: string): string {
  let at = dirname(path);
  while (!existsSync(at) && at !== '/') at = dirname(at);
  return at;
}

/** True where the file here is newer than what ctx wrote: somebody else changed it since. */
function changedSince(path: string, { applied, state }: Blame): boolean {
  if (state !== 'applied' || applied === undefined || !existsSync(path)) return false;
  return statSync(path).mtimeMs > Date.parse(applied.body.ts) + 1;
}

/** Enough of it to compare by eye; `ctx audit show` has all. */
function stateText(state: unknown): string {
  return typeof state === 'string' ? state.slice(0, 16) : 'unknown';
}

export const run: Run = async (call, hostOf) => {
  const host = await hostOf();
  const asked = resolve(currentDirectory(), call.words[0] ?? '');
  const near = nearest(asked);
  const place = placeOf(host, near);
  const path = join(place.directory, asked.slice(near.length));
  if (!contains(place.origin, path) || path === place.origin) {
    throw new ErrnoError('EINVAL', { operation: 'ctx blame', path: asked, reason: 'expected a file of a workspace' });
  }
  const relative = path.slice(place.origin.length + 1);
  const found = blame(find(directoryReader(host.audit.record), {}), place.origin, relative);
  if (found === undefined) {
    throw new ErrnoError('ENOENT', {
      operation: 'ctx blame',
      path: relative,
      reason: 'no command in a jail changed it, as far as the record says',
      remedy: `ctx audit query --path ${basename(relative)} shows what names it`,
    });
  }
  const { state, change, command, applied, live } = found;
  const { body, chain } = command;
  const argv = body.facts?.['argv'];
  const authority = String(body.facts?.['authority'] ?? '');
  const since = changedSince(path, found);
  if (call.flag('json')) {
    printJson({
      version: 1,
      path: relative,
      origin: place.origin,
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
      changedSince: since,
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
  process.stdout.write(`${paint('bold', visible(relative))} ${change} by\n`);
  for (const [name, value] of rows) process.stdout.write(`  ${paint('dim', name.padEnd(9))}  ${value}\n`);
  if (live !== undefined) {
    const where = `${live.chain}:${live.body.seq}`;
    process.stdout.write(`  ${paint('yellow', `since then a command ran on the directory itself: ${where}`)}\n`);
  }
  if (since) process.stdout.write(`  ${paint('yellow', 'changed since, by nobody the record knows')}\n`);
  return ExitCode.ok;
};
