/** What a guest of a tree may be granted, and what limits it: the guard's own words. */
export type { VfsGrants, VfsRefusal } from '../../guard/guard.js';
export type { QuotaEvent, VfsQuota } from '../../guard/quota.js';
