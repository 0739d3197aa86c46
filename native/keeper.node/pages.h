/*
 * Pages that calls use. A copy shares its memory with the keeper until it writes to it, and has none of the pages of
 * programs and libraries: each is a fault of its own, in the middle of the call. So one copy runs calls of every day
 * and says which pages these used, and every copy after it has them made before it waits for a call.
 */
#ifndef CTX_KEEPER_PAGES_H
#define CTX_KEEPER_PAGES_H

#include <stdbool.h>

/* Before the copy that learns is made. False where there is no memory for it. */
bool pages_expect(void);

/* In that copy, when it has run its calls. */
void pages_learn(void);

/* In a copy that is to wait for a call. Nothing but the time of the first use changes; an old kernel does nothing. */
void pages_prepare(void);

#endif
