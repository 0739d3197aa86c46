import { testSeed } from '../support/random.js';

/** One seed for a whole test run, printed by `npm test`, and twenty times the runs when soaking. */
export function seeded(runs: number): { readonly seed: number; readonly numRuns: number } {
  return {
    seed: testSeed,
    numRuns: process.env['CTX_SOAK'] === '1' ? runs * 20 : runs,
  };
}
