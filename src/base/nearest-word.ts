/** The word that somebody meant who mistyped it. Pure. */

/** How many letters have to be put in, left out, changed or exchanged with their neighbour to make one word of the other. */
function distance(one: string, other: string): number {
  let older: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let row = 1; row <= one.length; row += 1) {
    const next = [row];
    for (let at = 1; at <= other.length; at += 1) {
      const isSame = one[row - 1] === other[at - 1];
      const isExchanged = row > 1 && at > 1 && one[row - 1] === other[at - 2] && one[row - 2] === other[at - 1];
      next[at] = Math.min(
        (last[at] ?? 0) + 1,
        (next[at - 1] ?? 0) + 1,
        (last[at - 1] ?? 0) + (isSame ? 0 : 1),
        isExchanged ? (older[at - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    older = last;
    last = next;
  }
  return last[other.length] ?? 0;
}

/** The one of `known` that `given` is nearest to, where it is near: a mistake in every three letters, two at most. */
export function nearestWord(given: string, known: readonly string[]): string | undefined {
  if (given.length > 40) return undefined;
  const most = Math.min(2, Math.floor(given.length / 3));
  let nearest: string | undefined;
  let least = most + 1;
  for (const word of known) {
    const far = distance(given, word);
    if (far < least) [nearest, least] = [word, far];
  }
  return nearest;
}
