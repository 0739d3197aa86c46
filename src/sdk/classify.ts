/** What a command's words say, before anybody decides about it: `ctx classify`. Nothing is run. */
export { type CommandClass, classNames } from '../shell/classes.js';
export { type Classification, type CommandForm, classify } from '../shell/classify.js';
export type { Reading } from '../shell/reading.js';
