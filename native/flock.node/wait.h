/* Waiting for a lock of the kernel's, as long as it may last. */
#ifndef FLOCK_WAIT_H
#define FLOCK_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/* The end of a wait that begins now. */
int64_t end_after(int32_t milliseconds);
/*
 * 0 or an errno, EAGAIN where others have it until then. `attempt` is the call: 0 or an errno, EAGAIN where others
 * have it; with `waits` it blocks, and a signal ends that with EINTR.
 */
int get_until(int64_t end, int descriptor, int (*attempt)(int descriptor, bool waits));

#endif
