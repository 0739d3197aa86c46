/*
 * How many processes and threads there are inside. The kernel refuses one too many and tells nobody but the caller, who may be a
 * fork bomb: so the owner looks now and then, and the report can name the limit.
 */
#ifndef CTX_JAIL_CROWD_H
#define CTX_JAIL_CROWD_H

#include <stdint.h>

enum { CROWD_LOOK_MS = 250 };

/* Everything inside but init, whatever its state; the owner stands outside the namespace that this /proc shows. */
uint32_t count_threads(void);

#endif
