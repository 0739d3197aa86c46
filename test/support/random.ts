/** The run's seed and a generator from it, for tests that choose moments and shapes rather than values. */

/** Of every short run: `npm test` makes the same choices each time, so that a failure there is of what was changed. */
export const fixedSeed = 20_240_229;

/** `npm run soak` draws one and passes it here. */
export const testSeed = Number(process.env['CTX_TEST_SEED'] ?? fixedSeed) >>> 0;

const soakMinutes = Number(process.env['CTX_SOAK_MINUTES'] ?? Number.POSITIVE_INFINITY);

/** CTX_SOAK_MINUTES=N: long runs end after N minutes of their process, and say how far they came. */
export const hasSoakTime = () => performance.now() < soakMinutes * 60_000;

/** For a process that a long run starts. */
export const soakEnvironment: Readonly<Record<string, string>> = Number.isFinite(soakMinutes)
  ? { CTX_SOAK_MINUTES: String(soakMinutes) }
  : {};

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
