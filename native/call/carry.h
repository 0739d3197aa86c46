/*
 * The person's terminal for a call that a keeper runs: read, written and made raw here, in the person's session and in
 * the shell's job (terminal-wire.h).
 */
#ifndef CTX_CALL_CARRY_H
#define CTX_CALL_CARRY_H

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

enum { CARRY_CHANNEL, CARRY_INPUT, CARRY_OUTPUT, CARRY_TYPED, CARRY_TYPED_TO, CARRY_WATCHED };

/*
 * Whether a keeper may run a call of these streams; where not, Node does what it does at a terminal. `carries` says
 * that the call is to have a carrier.
 */
bool carry_suits(const char *verb, bool *carries);

/* The end of the channel that goes to the call, -1 where there can be none. */
int carry_begin(void);

/* How many milliseconds to wait for them at most; -1 where nothing else is to be looked at. */
int carry_list(struct pollfd watched[CARRY_WATCHED]);
/* True where the person has typed the key that stops the job. */
bool carry_serve(const struct pollfd watched[CARRY_WATCHED]);

void carry_resize(void);
/* The modes are the person's, until the job goes on. */
void carry_restore(void);
/* Raw once more where the job is in front, also where the shell has set modes of its own. */
void carry_continued(void);

/* The call has ended, whatever ended it: its jail ends with it, and then the modes are as they were. */
void carry_finish(void);

#endif
