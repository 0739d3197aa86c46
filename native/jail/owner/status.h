/* What the host's /proc says of a process or thread. */
#ifndef CTX_JAIL_STATUS_H
#define CTX_JAIL_STATUS_H

#include <sys/types.h>

struct host;

/* The number behind a field of its status ("\nTgid:"), in this base; 0 where it is not there. */
unsigned long long status_of(const struct host *host, pid_t process, const char *field, int base);

#endif
