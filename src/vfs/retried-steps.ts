/**
 * To open a file or make it takes two steps, and whoever else uses the tree may make it or remove it in between: then both are done
 * again, so that a file which is there is opened, and one that is not is made.
 */
import { hasCode } from '../base/errno.js';
import type { Steps } from './answer.js';

/** Of steps that others get in between of each time. */
const mostTries = 16;

export function* againWhenOvertaken<T>(steps: () => Steps<T>): Steps<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return yield* steps();
    } catch (error) {
      const isOvertaken = hasCode(error, 'EEXIST') || hasCode(error, 'ESTALE');
      if (!isOvertaken || tries === mostTries) throw error;
    }
  }
}
