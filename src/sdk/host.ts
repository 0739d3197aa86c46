/** The machine and the person, as everything of the SDK takes them. The composition root makes one; to callers it is a token. */
export type { Host } from '../proxy/host.js';
