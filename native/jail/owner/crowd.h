/*
 * How many processes and threads there are inside. The kernel refuses one too many and tells no one but the caller, who
 * may be a fork bomb: so the owner looks now and then, and the report can name the limit.
 */
#ifndef CTX_JAIL_CROWD_H
#define CTX_JAIL_CROWD_H

#include <stdint.h>

/*
 * Between two looks. A few threads become thousands within a tenth of a second, so a crowd that grows is looked at soon
 * again, and one that does not ever later. A look costs some microseconds a process, and looking a part in so many of
 * the time.
 */
enum { CROWD_LOOK_LEAST_MS = 20, CROWD_LOOK_MOST_MS = 250, CROWD_LOOK_SHARE = 8 };

/* Everything inside but init, whatever its state; the owner is outside the namespace that this /proc shows. */
uint32_t count_threads(void);

#endif
