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
