/** Steps of a plan and of its report. Pure. */
import type { Step } from './tree-jobs.js';

/** Steps, those that are not listed included. */
export const countSteps = (steps: readonly Step[]): number =>
  steps.reduce((count, { tree, unlisted = 0 }) => count + (tree?.entries ?? 0) + unlisted, steps.length);

/** For people. */
export const stepText = ({ path, unlisted }: Step): string =>
  unlisted === undefined ? path : `${path}/ (${unlisted} entries)`;
