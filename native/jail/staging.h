/*
 * The overlays of a kept jail, taken down and put back while the jail goes on: so a checkpoint freezes a delta that is
 * mounted nowhere. The host's files are gone from the jail's own mount namespace; a second one, the staging namespace,
 * still has those that the overlays are made of, and nothing else. A mount is made there and moved over.
 */
#ifndef CTX_JAIL_STAGING_H
#define CTX_JAIL_STAGING_H

#include "plan.h"

#include <stdbool.h>

/* Once the namespaces are made, before init mounts anything. */
void keep_staging(const struct plan *jail);

/* Once init is ready and before any command: afterwards a path could have been bent. */
void keep_overlays(const struct plan *jail, const struct plan *overlays);

/* Nothing may run inside. */
void release_kept_overlays(void);

/* And whatever the jail's plan has inside them. False where that failed: then it is said why, and nothing of it is
 * mounted. */
bool mount_overlays_again(const struct plan *jail, const struct plan *overlays);

/* No command may start before: it would write into the root. */
bool are_overlays_mounted(void);

#endif
