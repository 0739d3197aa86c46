/*
 * The owner's part of renaming directories (flatten.h says why there is one). Every call of the rename family is told
 * to it. It lets all but directories on an overlay go on at once; for those it starts a process inside, one at a time,
 * and lets the call go on when that has ended. What it reads of the caller decides nothing but that: the kernel carries
 * the call out, with the caller's rights.
 */
#ifndef CTX_JAIL_RENAMES_H
#define CTX_JAIL_RENAMES_H

#include "calls.h"

#include <linux/seccomp.h>

/* False where it is another call. */
bool rename_asked(struct calls *calls, const struct seccomp_notif *call);

/* Readable when it is time for renames_go_on; -1 where nothing is under way. */
int renames_descriptor(void);
void renames_go_on(void);

/*
 * Whether one is under way whose caller is gone or killed: such a program does not wait for it. What stopped the
 * process that is at work has no say: it is let go on.
 */
bool renames_outlive_caller(void);

/* Lets one that is under way come to its end, unless whoever started this jail ends first. */
void renames_finish(void);

/* Before it is freed. */
void renames_forget(const struct calls *calls);

#endif
