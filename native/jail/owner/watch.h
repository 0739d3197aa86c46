/*
 * The owner's wait: for its commands, their streams and refused calls, its own signals, and for anyone who asks for
 * more.
 */
#ifndef CTX_JAIL_WATCH_H
#define CTX_JAIL_WATCH_H

#include "process/start.h"

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

struct jail_context;

/*
 * First of all: one that comes for the whole job while the plan is on its way waits, and is passed on once the command
 * runs. It would end this process, and nobody could say how the command ended.
 */
void hold_signals(void);
int forwarded_signals(void);
/* Readable while one waits to stop us. */
int stop_signals(void);

/* Returns when the command that the jail was made for has ended; a kept jail's when it shall end. */
void watch(struct jail_context *jail);

/* How a command ended, as the kernel tells. */
struct ending {
  int status;
  struct rusage used;
};

struct ending collect(const struct command *command);
void report_end(const struct command *command, const struct ending *ending);

#endif
