/** A time that somebody else set, as text: a file may have one that no Date can be. Pure. */

/** The most that a Date can be, either way: about the years -271,821 and 275,760. */
const furthest = 8.64e15;

/** In ISO 8601, UTC. What is beyond every Date is shown as the last one. */
export function timeText(milliseconds: number): string {
  return new Date(Math.max(-furthest, Math.min(furthest, milliseconds))).toISOString();
}
