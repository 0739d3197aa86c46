/*
 * The copy that waits: made when nothing runs, so that the next call need not wait for it to be made. It holds nothing
 * of any call; the keeper gives it one over a pair of sockets, or it ends with the keeper.
 */
#ifndef CTX_KEEPER_SPARE_H
#define CTX_KEEPER_SPARE_H

#include "calls.h"

/* The process, 0 in it, or an errno below zero. Where one waits already it is that one. */
pid_t spare_make(void *loop, struct asking *asking);

/* The asking call is that copy's now: 0, or an errno below zero, and then the call is asking still. */
int spare_give(struct asking *asking);

/* It is ended: it is not what its calls would have to be. */
void spare_drop(void);

/* In the copy: waits until it is given a call. Where the keeper ends it does, too. */
void spare_wait(struct asking *asking);

#endif
