#include "guard.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
  pid_t process;
  int waits; /* the guard's pipe: its end is ours */
} guard = {.waits = -1};

struct person_terminal *share_person_terminal(struct person_terminal first) {
  struct person_terminal *person =
      mmap(NULL, sizeof *person, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (person == MAP_FAILED) return NULL;
  *person = first;
  return person;
}

/* Behind the shell already, and still raw: it sets no modes of its own, and no signal keeps us from it. */
static void restore_for_killed(struct person_terminal *person) {
  struct termios modes;
  if (person->raw && tcgetattr(0, &modes) == 0 && person_terminal_has_our_modes(person, &modes))
    tcsetattr(0, TCSADRAIN, &person->saved);
}

void start_guard(struct person_terminal *person) {
  int ends[2];
  sigset_t all;
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  guard.process = fork();
  if (guard.process == 0) {
    char byte;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    if (dup2(ends[0], 1) != 1 || syscall(SYS_close_range, 2, ~0U, 0) != 0) _exit(1);
    while (read(1, &byte, 1) < 0 && errno == EINTR)
      ;
    restore_for_killed(person);
    _exit(0);
  }
  close(ends[0]);
  guard.waits = ends[1];
}

void end_guard(void) {
  if (guard.waits >= 0) close(guard.waits);
  guard.waits = -1;
  if (guard.process > 0) waitpid(guard.process, NULL, 0);
  guard.process = 0;
}
