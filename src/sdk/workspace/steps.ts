/** Steps of an apply, counted and as people read them. */
export { countSteps, stepText } from '../../vault/tree/steps.js';
