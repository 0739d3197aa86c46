#ifndef CTX_JAIL_RELAY_H
#define CTX_JAIL_RELAY_H

/* Streams of a command that the owner carries: what is read at one end is written at the other. */
#include "plan.h"
#include "relay-bytes.h"

#include <stdbool.h>
#include <sys/types.h>

/* `processes`: a descriptor of the host's /proc. `terminal`: the command gets one of its own. */
void relays_open(int processes, bool terminal, struct relay relays[RELAYS]);
void relays_give(struct relay relays[RELAYS], uid_t uid, gid_t gid);
/* A command of another user than its caller gets its pipes. */
void give_streams(const struct plan *jail, const struct plan *command, struct relay relays[RELAYS]);
void relays_take(struct relay relays[RELAYS]);
void relays_keep(struct relay relays[RELAYS]);
/*
 * Copies what is there and waits for no more; the process that still holds the other side may go on writing. False where
 * a reader has not taken all of it yet: to be called again when it may have. `moves` counts on from 0.
 */
bool relays_flush(struct relay relays[RELAYS], unsigned *moves);
void relays_close(struct relay relays[RELAYS]);

#endif
