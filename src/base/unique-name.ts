/**
 * A name that no other process of this host gives to anything, now or later: for things no one has to guess at. By the
 * clocks, since loading `node:crypto` for it would cost milliseconds of every command.
 */
export function uniqueName(): string {
  const { pid, hrtime } = process;
  return [pid, Date.now(), hrtime.bigint()].map((number) => number.toString(36)).join('-');
}

/** The process that gave the name; undefined where it is none of these. Earlier builds named by the number of the process alone. */
export function makerOf(name: string): number | undefined {
  const [, number, alone] = /^(?:([0-9a-z]{1,7})-[0-9a-z]+-[0-9a-z]+|([1-9][0-9]{0,9}))$/.exec(name) ?? [];
  if (alone !== undefined) return Number(alone);
  return number === undefined ? undefined : Number.parseInt(number, 36);
}
