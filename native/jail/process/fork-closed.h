/* A process of the owner's that nothing inside may look into, from its start. */
#ifndef CTX_JAIL_FORK_CLOSED_H
#define CTX_JAIL_FORK_CLOSED_H

#include <sys/types.h>

/* As fork(). The owner itself stays open: none inside can see it, and a command that joins has to find its namespaces. */
pid_t fork_closed(void);

#endif
