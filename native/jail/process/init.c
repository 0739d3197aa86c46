/*
 * pid 1 of the jail: reaps what is orphaned, tells its owner whether anybody is left, and ends with its owner, or with
 * the process that started that: the owner may be waiting for a terminal that no one reads. When it dies the kernel
 * kills everything in the jail, so that is how a jail ends. It holds nothing worth stealing, and nothing inside may
 * look into it.
 */
#include "context.h"
#include "jail.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

bool has_given_up(int says) {
  char byte;
  return read(says, &byte, 1) == 1;
}

/* In the process of the first command; later ones find init as it stays. */
void await_harmless_init(struct jail_context *jail) {
  if (jail->awaited_init >= 0 && !has_given_up(jail->awaited_init)) give_up(); /* init has said why */
}

/* Past this many zombies, processes are taken to be running still. */
enum { MOST_COLLECTED = 4096 };

/*
 * Whether no one is left: orphans come to this process and to no other, and one that has a thread left is not
 * collected. A list of processes would not say so: the process that forks and ends again and again is never in it.
 */
static bool collect_all(void) {
  for (int collected = 0; collected < MOST_COLLECTED; collected++) {
    pid_t pid = waitpid(-1, NULL, WNOHANG | __WALL);
    if (pid <= 0) return pid < 0 && errno == ECHILD;
  }
  return false;
}

static void answer(int owner, int answers) {
  char byte;
  if (read(owner, &byte, 1) != 1) _exit(0);
  byte = collect_all() ? INIT_ALONE : INIT_NOT_ALONE;
  if (write(answers, &byte, 1) != 1) _exit(125);
}

_Noreturn void be_init(int owner, int lifeline, int answers) {
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  sigprocmask(SIG_BLOCK, &children, NULL);
  struct pollfd watched[] = {
      {.fd = owner, .events = POLLIN},
      {.fd = lifeline, .events = POLLIN},
      {.fd = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK), .events = POLLIN},
  };
  for (;;) {
    struct signalfd_siginfo ignored;
    while (read(watched[2].fd, &ignored, sizeof ignored) > 0)
      ;
    collect_all();
    if (poll(watched, 3, -1) < 0 && errno != EINTR) _exit(125);
    if (watched[1].revents) _exit(0);
    if (watched[0].revents) answer(owner, answers);
  }
}
