/** Caches that a command found read-only, since another one writes them, in one line. Pure. */
import type { HeldCache } from '../../jail/report.js';

export function heldCachesText(held: readonly HeldCache[]): readonly string[] {
  const [first] = held;
  if (first === undefined) return [];
  const holder = held.find((each) => each.holder !== undefined)?.holder;
  const who = holder === undefined ? 'another command' : `process ${holder.pid} in ${holder.directory}`;
  return [
    `read-only here, since ${who} uses them for writing (ctx ps): ${held.map(({ path }) => path).join(', ')}; ` +
      'to write them, run it again when that has ended, or without --cache share',
  ];
}
