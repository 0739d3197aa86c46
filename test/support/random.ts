/** The run's seed and a generator from it, for tests that choose moments and shapes rather than values. */

export const testSeed = Number(process.env['CTX_TEST_SEED'] ?? 20_240_229) >>> 0;

/** Mulberry32: small, and the same everywhere. */
export function randomFrom(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** For long random sequences of real commands: the same in every short run, so that a failure there is of what was changed. */
export const soakSeed = process.env['CTX_SOAK'] === '1' ? testSeed : 1;
