/*
 * The overlays of a kept jail, taken down and put back while the jail goes on: so a checkpoint freezes a delta that is
 * mounted nowhere. The host's files are gone from the jail's own mount namespace; a second one, the staging namespace,
 * still has those that the overlays are made of, and nothing else. A mount is made there and moved over.
 */
#ifndef CTX_JAIL_STAGING_H
#define CTX_JAIL_STAGING_H

#include "plan.h"

#include <stdbool.h>

struct jail_context;

struct staging {
  int own, jail; /* both mount namespaces; -1 where the jail is not kept */
  int base;      /* the store, as it is there */
  int *kept;     /* roots of the overlays that are mounted, so that they are found again without a path */
  uint32_t count;
};

/* Once the namespaces are made, before init mounts anything. */
void keep_staging(struct jail_context *jail);

/* Once init is ready and before any command: afterwards a path could have been bent. */
void keep_overlays(struct jail_context *jail, const struct plan *overlays);

/* Nothing may run inside. */
void release_kept_overlays(struct jail_context *jail);

/*
 * And whatever the jail's plan has inside them. False where that failed: then it is said why, and nothing of it is
 * mounted.
 */
bool mount_overlays_again(struct jail_context *jail, const struct plan *overlays);

/* No command may start before: it would write into the root. */
bool are_overlays_mounted(struct jail_context *jail);

#endif
