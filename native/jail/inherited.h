/* What the jail is started with. */
#ifndef CTX_JAIL_INHERITED_H
#define CTX_JAIL_INHERITED_H

#include "plan.h"

/* Descriptors the owner passes in. Everything else above 2 is closed before anything happens. */
enum {
  FD_PLAN = 3,
  FD_REPORT = 4,
  FD_LIFELINE = 5,
  FD_LOCK = 6,
  FD_HANDOVER = 7,
  FD_TERMINAL = 8,      /* to the process that carries the person's terminal (terminal-wire.h), where it is a socket */
  FD_FIRST_CHANNEL = 9, /* to the servers of FUSE mounts: as many as the plan has; then the directory of sockets.h */
  FD_FIRST_OTHER = FD_FIRST_CHANNEL + PLAN_MAX_CHANNELS,
};

#endif
