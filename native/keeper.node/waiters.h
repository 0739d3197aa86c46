/*
 * V8's threads, which a copy does not have. V8 of Node 26 gives them something to do at each collection, and a condition
 * that still counts them as waiting lets the one who signals wait for them: for ever.
 */
#ifndef CTX_KEEPER_WAITERS_H
#define CTX_KEEPER_WAITERS_H

#include <stdbool.h>

/*
 * Before a copy is made: what V8's threads wait at. False where one of them was busy all the time: it may hold a lock.
 * Where they have never been seen to wait a copy is tried nevertheless, and shows whether it needs them.
 */
bool waiters_find(void);

/* In the copy: nobody waits there. A signal then does nothing. */
void waiters_forget(void);

#endif
