#ifndef CTX_CALL_SESSION_H
#define CTX_CALL_SESSION_H

/*
 * The sessions of the directory this process stands in, or of one above it. Calls `use` with a connected socket for each,
 * nearest first, until it returns true.
 */
#include <stdbool.h>

bool each_session(bool (*use)(int socket, void *with), void *with);

#endif
