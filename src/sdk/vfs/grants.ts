/** What a guest of a tree may be granted, and what limits it: the guard's own words. */
export type { Grants, Refusal } from '../../guard/guard.js';
export type { Quota, QuotaEvent } from '../../guard/quota.js';
