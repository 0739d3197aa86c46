/** What commands and forks change, as reports list it. */
export type { CommandChange } from '../vault/changes.js';
export { isRepositoryData } from '../vault/repository-data.js';
export { countChanges, unlistedNotes } from '../vault/too-deep.js';
export type { Change, Problem, Progress } from '../vault/tree.js';
