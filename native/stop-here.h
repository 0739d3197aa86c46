/* The stop of a job in which SIGTSTP is blocked, and has come: in the owner of a jail, and in what calls a keeper. */
#ifndef CTX_STOP_HERE_H
#define CTX_STOP_HERE_H

#include <signal.h>

/*
 * By the default action of the signal that came, which the kernel leaves out where no shell could let us go on, and
 * drops where somebody let us go on meanwhile: a signal that was read and sent again would stop us after that, for
 * good.
 */
static inline void stop_here(void) {
  sigset_t stop, before;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  sigprocmask(SIG_UNBLOCK, &stop, &before);
  sigprocmask(SIG_SETMASK, &before, NULL);
}

#endif
