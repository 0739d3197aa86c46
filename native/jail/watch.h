/* The owner's wait: for its commands, their streams and refused calls, its own signals, and for whoever asks for more.
 */
#ifndef CTX_JAIL_WATCH_H
#define CTX_JAIL_WATCH_H

#include "start.h"

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

enum { MOST_COMMANDS = 256 };

struct jail {
  const struct plan *plan;
  pid_t init;
  const struct ties *ties;
  mode_t mask; /* of whoever started us, for the commands */
  int signals;
  int stops; /* see stop_signals */
  bool kept; /* it goes on after a command, until nobody asks any more */
  uint32_t count;
  struct command *commands[MOST_COMMANDS];
};

int forwarded_signals(void);
/* Readable while one waits to stop us. */
int stop_signals(void);

/* Returns when the one command has ended; a kept jail's when it shall end. */
void watch(struct jail *jail);

/* How a command ended, as the kernel tells. */
struct ending {
  int status;
  struct rusage used;
};

struct ending collect(const struct command *command);
void report_end(const struct command *command, const struct ending *ending);

#endif
