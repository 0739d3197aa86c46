/* A keeper: a process that has Node and ctx in memory, and runs a call in a copy of itself (`native/keeper.node`). */
#ifndef CTX_CALL_KEEPER_H
#define CTX_CALL_KEEPER_H

#include <stdbool.h>

enum keeper { KEEPER_ANSWERED, KEEPER_REFUSED, KEEPER_ABSENT };

/* Has a keeper of this store and build run the call. Where none answers nothing has happened. */
enum keeper ask_keeper(int count, char **words, int *exit_code);

/* Starts one when this process has ended, or has gone on for a while. Nothing is said where that cannot be. */
void leave_keeper(const char *program);

#endif
