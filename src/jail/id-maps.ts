/** The ids of root's jails: how far they are shifted, and how two of them change places. Pure. */

/** How far root's jails are shifted: above every range that systems hand out, below 2^31. */
export const identityShift = 0x70000000;
export const shiftedCount = 0x0ffe0000;

/**
 * For a user namespace in which `outside` has the number `inside`, and the process that has that has the other's. All
 * are shifted.
 */
export function numberedIds(inside: number, outside: number, shift: number): string {
  const [low, high] = [Math.min(inside, outside), Math.max(inside, outside)];
  const extents: readonly (readonly [number, number, number])[] =
    low === high
      ? [[0, 0, shiftedCount]]
      : [
          [0, 0, low],
          [low, high, 1],
          [low + 1, low + 1, high - low - 1],
          [high, low, 1],
          [high + 1, high + 1, shiftedCount - high - 1],
        ];
  return extents
    .filter(([, , count]) => count > 0)
    .map(([first, to, count]) => `${first} ${to + shift} ${count}`)
    .join('\n');
}

/** Two shifted ids for each other, the rest as they are: root's too, who makes the places to mount on. */
export function exchangedIds(one: number, other: number, shift: number): string {
  const [low, high] = [Math.min(one, other) + shift, Math.max(one, other) + shift];
  const end = shift + shiftedCount;
  const extents: readonly (readonly [number, number, number])[] =
    low === high
      ? [[0, 0, end]]
      : [
          [0, 0, low],
          [low, high, 1],
          [low + 1, low + 1, high - low - 1],
          [high, low, 1],
          [high + 1, high + 1, end - high - 1],
        ];
  return extents
    .filter(([, , count]) => count > 0)
    .map((extent) => extent.join(' '))
    .join('\n');
}
