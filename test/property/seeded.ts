import { testSeed } from '../support/random.js';

/** One seed for a whole test run, printed by `npm test`, and many more runs when soaking: by itself twenty times as many. */
export function seeded(runs: number, soakRuns = runs * 20): { readonly seed: number; readonly numRuns: number } {
  return { seed: testSeed, numRuns: process.env['CTX_SOAK'] === '1' ? soakRuns : runs };
}
