/** Closed sets of words that callers choose from. Light: the command line reads it at every start. */
export { statuses } from '../audit/record.js';
export { scopes } from '../proxy/approval/approval.js';
export { commandClasses } from '../shell/classes.js';
