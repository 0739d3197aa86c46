#include "calls/links.h"
#include "calls/caller.h"
#include "context.h"
#include "jail.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* By the name that the kernel has of it: a program that calls itself so gets copies, too. */
static bool is_git(const struct host *host, pid_t pid) {
  char named[64], name[16] = "";
  snprintf(named, sizeof named, "%d/comm", (int)pid);
  int comm = openat(host->processes, named, O_RDONLY | O_CLOEXEC);
  ssize_t got = comm >= 0 ? read(comm, name, sizeof name - 1) : -1;
  if (comm >= 0) close(comm);
  return got > 0 && strcmp(name, "git\n") == 0;
}

static const char *last_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* New objects are linked from a temporary name to their own: those are of this command, and keep their numbers. */
static bool keeps_name(const struct host *host, pid_t pid, int directory, uint64_t from, uint64_t to) {
  char source[PATH_MAX], target[PATH_MAX], named[PATH_MAX + 64];
  return read_caller_path(pid, from, source) && read_caller_path(pid, to, target) &&
         strcmp(last_name(source), last_name(target)) == 0 && name_through_caller(pid, directory, source, named) &&
         is_on_overlay(host, named, S_IFREG);
}

bool link_asked(struct jail_context *jail, const struct calls *calls, const struct seccomp_notif *call) {
  const __u64 *a = call->data.args;
  pid_t pid = (pid_t)call->pid;
  bool compared;
  switch (call->data.nr) {
#ifdef SYS_link
  case SYS_link:
    compared = is_git(&jail->host, pid) && keeps_name(&jail->host, pid, AT_FDCWD, a[0], a[1]);
    break;
#endif
  case SYS_linkat:
    compared = is_git(&jail->host, pid) && keeps_name(&jail->host, pid, (int)a[0], a[1], a[3]);
    break;
  default:
    return false;
  }
  let_go_on(calls->listener, call->id, compared ? EXDEV : 0);
  return true;
}
