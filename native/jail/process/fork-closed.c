#include "process/fork-closed.h"
#include "report.h"

#include <errno.h>
#include <sys/prctl.h>
#include <unistd.h>

pid_t fork_closed(void) {
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return -1;
  pid_t pid = fork();
  int error = errno;
  if (pid != 0 && prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0) fail("opening the owner");
  errno = error;
  return pid;
}
