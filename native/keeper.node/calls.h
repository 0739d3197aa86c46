/* The calls of a keeper: those that have not asked yet, the one that asks now, and those that run. */
#ifndef CTX_KEEPER_CALLS_H
#define CTX_KEEPER_CALLS_H

#include "keeper-wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum next { NEXT_REQUEST, NEXT_NOTHING, NEXT_STOP };

struct asking {
  int connection;
  int descriptors[SENT_DESCRIPTORS];
  pid_t peer;
};

/* Takes packets of the directory's socket from now on. An errno, or 0. */
int calls_listen(int directory, const char *name);

/* No further call is taken. */
void calls_close(void);

/*
 * Waits until a call asks, for so long at the most, or until no caller is left, or for SIGTERM. Meanwhile the ends of
 * calls and callers are seen to.
 */
enum next calls_next(int milliseconds, struct asking *asking);

/* The asking call is run by `process`, or by no one (0). */
void calls_settle(struct asking *asking, pid_t process);

int calls_running(void);

/* Those of them whose caller is there still: of the others only the end is left, which the kernel sees to. */
int calls_followed(void);

/* In a process that runs one call: nothing of the others is its own. */
void calls_forget(void);

#endif
