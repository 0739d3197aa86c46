/*
 * Files that have no name any more and are still held: deleted while they were open, or made without a name. They take
 * room that no walk of the tree finds, so whoever limits it is told by the owner, which alone may look into every
 * process inside.
 *
 * Looked at in slices, since how many descriptors there are is a command's to choose. What cannot be measured is said
 * to be there: files that are only mapped, and descriptors that are under way in a socket.
 */
#ifndef CTX_JAIL_HELD_H
#define CTX_JAIL_HELD_H

#include "plan.h"

/* Looking begins anew for a command with OP_HELD, and ends where one has none. Reports "held BYTES FILES HIDDEN" are
 * about `id`. */
void held_watch(const struct plan *command, uint32_t id);

/* The command that it was told to has ended: another that still runs hears of it from here on. */
void held_follow(uint32_t ended, uint32_t other);

/* How long to wait at most for the next look; -1 where nothing is looked at. */
int held_patience(void);

/* One slice, where it is time for one. */
void held_look(void);

#endif
