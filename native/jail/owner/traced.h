/*
 * What tracing inside means to the owner, which is the parent of every command. A command that asks to be traced by its
 * parent is let go of whenever it stops: no one here debugs it. And the kernel gives the status of a process that is
 * traced to its tracer first: one inside that does not take it would keep it from the owner.
 */
#ifndef CTX_JAIL_TRACED_H
#define CTX_JAIL_TRACED_H

#include <stdbool.h>
#include <sys/types.h>

struct host;

/* Now and then. */
void let_go_if_traced(pid_t command);

/* Of a command that has ended: whether its status can be had without waiting for anybody. */
bool is_collectable(pid_t command);

/* Kills the process that traces it, unless that is somebody outside. */
void end_tracer(const struct host *host, pid_t command);

#endif
