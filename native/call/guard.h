#ifndef CTX_CALL_GUARD_H
#define CTX_CALL_GUARD_H

#include "person-terminal.h"

/* What is said of the person's terminal, shared with the guard; null where there is no memory. */
struct person_terminal *share_person_terminal(struct person_terminal first);

/*
 * Where this process is killed nothing of it can put the modes back: a process waits for that, holding nothing of the
 * caller's but the terminal. It ends with us in every other case.
 */
void start_guard(struct person_terminal *person);
void end_guard(void);

#endif
