/*
 * A kept jail: many commands, one after the other or at once. A process that keeps it asks over FD_PLAN, in frames:
 *
 *   u32 length of what follows, u32 id, u32 kind, payload
 *
 * All integers are little-endian. The first frame holds the jail's own plan; a jail for one command is given no other.
 * Every answer is a report about that id.
 */
#ifndef CTX_JAIL_SERVE_H
#define CTX_JAIL_SERVE_H

#include "owner/watch.h"

enum request {
  REQUEST_JAIL = 1,              /* a PLAN_KEPT; the PLAN_WHOLE of a jail for one command */
  REQUEST_COMMAND,               /* a PLAN_COMMAND, its stdin nothing; "started", then "exited" or "failed" */
  REQUEST_COMMAND_WITH_INPUT,    /* the same, its stdin handed over as well */
  REQUEST_COMMAND_WITH_TERMINAL, /* u16 rows, u16 columns, then a PLAN_COMMAND; stdin and stdout are handed over */
  REQUEST_SIGNAL,                /* u32 number, to the command of this id and its process group */
  REQUEST_RESIZE,                /* u16 rows, u16 columns, of the terminal of the command of this id */
  REQUEST_RELEASE,               /* nothing: the overlays are unmounted; "released", or EBUSY while anything runs */
  REQUEST_OVERLAYS, /* a PLAN_OVERLAYS, mounted where the released ones were; "mounted", or "failed", and then nothing
                       is */
};

/* The first frame's payload; null where there is none. */
char *read_jail_plan(size_t *size);

/* False where no one asks any more, or what is asked cannot be read. */
bool take_request(struct jail_context *jail);

/* Node answers each handle it is handed; no one waits for that. False where there will be no more. */
bool discard_answers(void);

#endif
