/*
 * A jail for many commands. One that is kept runs them one after the other or at once, and is asked over FD_PLAN. One
 * that was made for a command (`jail beside`) runs others beside that one, is asked over a socket, and ends with it.
 * Frames:
 *
 *   u32 length of what follows, u32 id, u32 kind, payload
 *
 * All integers are little-endian. The first frame over FD_PLAN holds the jail's own plan. Every answer is a report about
 * that id. Streams are handed over as Node's own handles by FD_HANDOVER; of a jail that is not kept by that socket, each
 * with u32 id, u32 stream.
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
