/*
 * The owner's part of hard links in an overlay that an unprivileged user mounted. A file that is linked is copied up,
 * and since such an overlay keeps no file handles (they need a capability on the host), the new name shows the copy's
 * inode number, and the old name the one it had. git compares both after linking a repository's files (clone, submodule
 * add), and ends.
 *
 * So git's links of one file under one name are answered with EXDEV, as between two file systems: git copies then. All
 * other links go on.
 */
#ifndef CTX_JAIL_LINKS_H
#define CTX_JAIL_LINKS_H

#include "calls/calls.h"

#include <linux/seccomp.h>

/* False where it is another call. */
bool link_asked(struct jail_context *jail, const struct calls *calls, const struct seccomp_notif *call);

#endif
