#ifndef CTX_CALL_KEPT_JAILS_H
#define CTX_CALL_KEPT_JAILS_H

/*
 * The kept jails of the directory this process is in, or of one above it. Calls `use` with a connected socket for each,
 * nearest first, until it returns true.
 */
#include <stdbool.h>

bool each_kept_jail(bool (*use)(int socket, void *with), void *with);

#endif
