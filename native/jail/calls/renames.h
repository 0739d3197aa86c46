/*
 * The owner's part of renaming directories (copy-for-rename.h says why there is one). Every call of the rename family is told
 * to it. It lets all but directories on an overlay go on at once; for those it starts a process inside, one at a time,
 * and lets the call go on when that has ended. What it reads of the caller decides nothing but that: the kernel carries
 * the call out, with the caller's rights.
 */
#ifndef CTX_JAIL_RENAMES_H
#define CTX_JAIL_RENAMES_H

#include "calls/calls.h"

#include <linux/seccomp.h>
#include <sys/types.h>

struct renames {
  struct waiting *first, *last;
  /* The process inside that is at work for the first of those; 0 where there is none. */
  pid_t pid;
  int answer; /* readable when it has ended; else -1 */
  long long began;
};

/* False where it is another call. */
bool rename_asked(struct jail_context *jail, struct calls *calls, const struct seccomp_notif *call);

/* When `answer` is readable. */
void renames_go_on(struct jail_context *jail);

/*
 * Whether one is under way whose caller is gone or killed: such a program does not wait for it. What stopped the
 * process that is at work has no say: it is let go on.
 */
bool renames_outlive_caller(struct jail_context *jail);

/* Lets one that is under way come to its end, unless the process that started this jail ends first. */
void renames_finish(struct jail_context *jail);

/* Before it is freed. */
void renames_forget(struct jail_context *jail, const struct calls *calls);

#endif
