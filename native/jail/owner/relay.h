#ifndef CTX_JAIL_RELAY_H
#define CTX_JAIL_RELAY_H

/* Streams of a command that the owner carries: what is read at one end is written at the other. */
#include "plan.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { RELAYS = 3, RELAY_BYTES = 64 << 10 };

/* One of the three streams, copied where it cannot be passed on. `from` is -1 where nothing is, or is left, to copy. */
struct relay {
  int from, to, command_end;
  bool both_ours; /* else one of them is a stream of this process itself, and stays open */
  size_t start, stop;
  int error; /* what its reader answered, where that was neither a write nor the end of a reader */
  char bytes[RELAY_BYTES];
};

/* Copies nothing. Its bytes are left alone: writing 64 KiB costs more than all the rest. */
void relay_clear(struct relay *relay);
/* `terminal`: the command gets one of its own. */
void relays_open(bool terminal, struct relay relays[RELAYS]);
void relays_give(struct relay relays[RELAYS], uid_t uid, gid_t gid);
/* A command of another user than its caller gets its pipes. */
void give_streams(const struct plan *jail, const struct plan *command, struct relay relays[RELAYS]);
void relays_take(struct relay relays[RELAYS]);
void relays_keep(struct relay relays[RELAYS]);
struct pollfd relay_wants(const struct relay *relay);
void relay_move(struct relay relays[RELAYS], int index);
void relays_drain(struct relay relays[RELAYS]);
/* Copies what is there and waits for no more; the process that still holds the other side may go on writing. */
void relays_flush(struct relay relays[RELAYS]);
void relays_close(struct relay relays[RELAYS]);

#endif
