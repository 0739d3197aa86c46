/** What commands and forks change, as reports list it. */
export type { CommandChange } from '../vault/forks/changes.js';
export { isRepositoryData } from '../vault/forks/repository-data.js';
export { countChanges, unlistedNotes } from '../vault/tree/too-deep.js';
export type { Change, Problem, Progress } from '../vault/tree/tree.js';
