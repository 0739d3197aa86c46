/** A seventh sample: faults drawn at random in the TypeScript that acts (`--drawn`), of those that were not noticed at first. */
export const chosenSeventh = [];
