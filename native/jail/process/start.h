/* The processes of a jail: how init and each command come to be. */
#ifndef CTX_JAIL_START_H
#define CTX_JAIL_START_H

#include "calls/calls.h"
#include "owner/relay.h"

#include <stdbool.h>
#include <sys/types.h>

struct jail_context;

/* What ties owner, init and the first command together. */
struct ties {
  pid_t init;
  int all_are_there; /* the owner writes one byte when every process that shall be in the new root exists */
  int init_is_ready; /* init writes which root it entered when everything is mounted, then a byte when it has given up
                        what it may do */
  int ask_init;      /* ends with the owner, and init with it; a byte asks whether anybody is left */
  int init_answers;
};

void start_init(struct jail_context *jail);

/* In the owner of a kept jail: false where init has ended, and said why. */
bool wait_for_init(const struct ties *ties);

/* Whether init has any descendants; true where it does not say. */
bool is_anybody_left(const struct ties *ties);

/* One command inside, as its owner knows it. */
struct command {
  uint32_t id;
  pid_t pid;
  int process;         /* a pidfd: readable when it has ended */
  struct calls *calls; /* by its filter; null where it has none, or no one is left who could call */
  struct refusals refusals;
  struct renamed renamed;
  struct relay *relays; /* RELAYS of them */
  long long ended;      /* when it was first seen to have, in milliseconds, while its end cannot be known yet; else 0 */
  unsigned flushed;     /* moves of its last output, since it ended */
  uint64_t most_threads; /* that it may have; 0 where the plan does not say */
  uint32_t crowd;        /* the most that were seen */
};

/*
 * Starts the plan's command. Where the jail is not ready, init is still mounting: then the process waits for it. False
 * where the command did not start; the report says why.
 */
bool start_command(struct jail_context *jail, const struct plan *plan, struct command *command);

#endif
