/* The process of one call: a copy of the keeper that becomes what the caller would have started. */
#ifndef CTX_KEEPER_PROCESS_H
#define CTX_KEEPER_PROCESS_H

#include "calls.h"

/* Forks. Node's loop is made anew in the copy, which dies with this process. Returns as fork does. */
pid_t process_copy(void *loop);

/*
 * In a copy that is to wait for a call: what its call would wait for otherwise, threads of libuv's pool and pages of
 * memory.
 */
void process_prepare(void *loop);

/*
 * In the copy: directory, streams and environment become the caller's. Returns when the caller has said that it is to
 * be done here; where anything is not as asked, or the caller has gone, this process ends and has done nothing.
 * `environment` is NUL-ended strings.
 */
void process_become(struct asking *asking, const char *environment, size_t size);

bool is_socket(int descriptor);

/* In the copy: a new descriptor of the channel to what carries the person's terminal, or an errno below zero. */
int process_terminal(void);

/* A new socket by which comes what is typed there from here on, or an errno below zero. */
int process_typed(void);

/* Ends the process of a call, with what Node puts right at its own end. */
_Noreturn void process_end(int code);

/*
 * The same as soon as nothing is left to do in the loop, as Node ends by itself. Node waits for tasks of V8's threads
 * before, and a copy has no threads that could do them.
 */
void process_end_when_idle(void *loop, int code);

#endif
