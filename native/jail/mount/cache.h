/* Caches of the person's tools that a command may write without changing them (cache.c). */
#ifndef CTX_JAIL_CACHE_H
#define CTX_JAIL_CACHE_H

#include "plan.h"

struct jail_context;

/* In the owner, in the base directory, before init is started. */
void lock_caches(const struct plan *plan);

/* In the owner, once they are mounted: others may clone them. */
void share_caches(const struct plan *plan);

/* In init. */
void mount_cache(struct jail_context *jail, const struct operation *cache);

#endif
