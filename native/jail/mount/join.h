/*
 * An overlay that another jail has mounted, in this one too: a clone of that mount, never a second one of the same
 * upper directory, which would be undefined. The plan names the processes that have it, owners of their jails; the
 * first that still does gives the clone, without being asked. It is found by its upper directory and not by its path
 * alone.
 *
 * Where jails have user namespaces of their own, only a process outside all of them may enter another one. So clones
 * are taken before there are namespaces, and a kept jail leaves a process behind that takes them later.
 */
#ifndef CTX_JAIL_JOIN_H
#define CTX_JAIL_JOIN_H

#include "plan.h"

#include <stdbool.h>

struct jail_context;

/* Whether an overlay is to be cloned. */
bool is_shared(const struct operation *overlay);

/* Before any namespace: all of the plan's, kept in `taken` of each operation. ESRCH where no one has one any more. */
void take_shared_overlays(struct jail_context *jail, const struct plan *plan);

/* Once init, which mounts them, has been started. */
void close_taken(const struct plan *plan);

/* In a kept jail, before any namespace: the process that takes clones later; and its end. */
void leave_taker_outside(struct jail_context *jail);
void end_taker(struct jail_context *jail);

/* By way of that process. */
int take_by_taker(struct jail_context *jail, const struct operation *overlay);

#endif
