/**
 * A name that no other process of this host gives to anything, now or later: for things no one has to guess at. By the
 * clocks, since loading `node:crypto` for it would cost milliseconds of every command.
 */
export function uniqueName(): string {
  const { pid, hrtime } = process;
  return [pid, Date.now(), hrtime.bigint()].map((number) => number.toString(36)).join('-');
}
