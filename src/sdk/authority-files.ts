/** The files that grant: what `ctx policy check` and `ctx mount check` read, by the parsers that everything else uses. */
export { type Mount, parseMounts } from '../authority/mount.js';
export { type Policy, parsePolicy } from '../authority/policy.js';
