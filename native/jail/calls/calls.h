/* What the processes under one command's filter ask of its owner: most of it is refused, and counted. */
#ifndef CTX_JAIL_CALLS_H
#define CTX_JAIL_CALLS_H

#include "calls/copy-for-rename.h"
#include "plan.h"
#include "process/restrict.h"

#include <stdbool.h>
#include <stddef.h>

struct jail_context;

/* What directories that were renamed cost a command. */
struct renamed {
  struct copied_for_rename sum;
  long long milliseconds;
};

/*
 * Lives as long as any process under the filter; `refusals` and `renamed` are null once the command itself has ended.
 */
struct calls {
  int listener;
  const struct plan *plan; /* the command's */
  char *bytes;             /* that the plan is in, where it is kept here */
  struct refusals *refusals;
  struct renamed *renamed;
};

/* Null where there is no memory; takes the listener. `plan` must live as long as it. */
struct calls *calls_of(int listener, const struct plan *plan, struct refusals *refusals, struct renamed *renamed);
/* Copies the plan, which is in `bytes`. */
bool calls_keep_plan(struct calls *calls, const char *bytes, size_t size);

/* When the listener is readable. */
void take_call(struct jail_context *jail, struct calls *calls);
void calls_free(struct jail_context *jail, struct calls *calls);

/* The command has ended; what it left running goes on being answered, until the last of it ends. */
void calls_leave(struct jail_context *jail, struct calls *calls);
/* When `left_calls` is readable. */
void take_left_calls(struct jail_context *jail);

#endif
