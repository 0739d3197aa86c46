/*
 * empty: everything in the trash goes, after the caller has gone on: no one waits for it, so it takes what processor
 * and disk others leave. One at a time; the rest is for the one that is at work, which looks again after it let go of
 * the lock. Ended at any time, nothing is half: what is in the trash is nobody's, and the next one goes on.
 */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void step_back(void) {
  enum { WHO_PROCESS = 1, CLASS_IDLE = 3, CLASS_SHIFT = 13 };
  (void)!setpriority(PRIO_PROCESS, 0, 19);
  (void)!syscall(SYS_ioprio_set, WHO_PROCESS, 0, CLASS_IDLE << CLASS_SHIFT);
}

/* In a process of its own: one entry that cannot be deleted keeps no other. */
static bool delete_entry(const struct options *options, int trash, const char *name) {
  pid_t parent = getpid(), process = fork();
  if (process == 0) {
    struct options one = *options;
    one.root = name;
    /* It has the lock too: it must not keep it from the next one. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent || fchdir(trash) != 0) _exit(1);
    delete_verb(&one);
    _exit(0);
  }
  int status;
  while (process > 0 && waitpid(process, &status, 0) < 0)
    if (errno != EINTR) return false;
  return process > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Whether anything went. */
static bool delete_all(const struct options *options, int trash) {
  struct listing listing;
  bool any = false;
  if (list_directory(trash, &listing) != 0) return false;
  for (size_t i = 0; i < listing.count; i++) any = delete_entry(options, trash, listing.names[i].text) || any;
  free_listing(&listing);
  return any;
}

int empty_verb(const struct options *options) {
  (void)!setsid(); /* a terminal that is closed does not end it */
  if (*options->root == '/') (void)!chdir("/");
  step_back();
  bool any = true;
  while (any) {
    int trash = open(options->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (trash < 0 || flock(trash, LOCK_EX | LOCK_NB) != 0) return 0;
    any = delete_all(options, trash);
    close(trash); /* and the lock with it; what came in between is looked for once more */
  }
  return 0;
}
