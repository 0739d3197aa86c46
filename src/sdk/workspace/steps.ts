/** Steps of an apply, counted and as people read them; and what no apply writes. */
export { isControl } from '../../vault/apply/apply-plan.js';
export { countSteps, stepText } from '../../vault/tree/steps.js';
