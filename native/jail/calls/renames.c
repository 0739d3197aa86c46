#include "calls/renames.h"
#include "calls/caller.h"
#include "context.h"
#include "jail.h"
#include "owner/status.h"
#include "owner/terminal.h"
#include "process/fork-closed.h"
#include "syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

/* A path as its caller gave it: where it is in that one's memory, and which directory it is relative to. */
struct given {
  int directory;
  uint64_t address;
};

struct asked {
  struct given from, to;
  unsigned flags;
};

static bool read_arguments(const struct seccomp_data *data, struct asked *asked) {
  const __u64 *a = data->args;
  switch (data->nr) {
#ifdef SYS_rename
  case SYS_rename:
    *asked = (struct asked){.from = {AT_FDCWD, a[0]}, .to = {AT_FDCWD, a[1]}};
    return true;
#endif
  case SYS_renameat:
  case SYS_renameat2:
    *asked = (struct asked){.from = {(int)a[0], a[1]}, .to = {(int)a[2], a[3]}};
    asked->flags = data->nr == SYS_renameat2 ? (unsigned)a[4] : 0;
    return true;
  default:
    return false;
  }
}

static bool concerns_overlay(struct jail_context *jail, const struct asked *asked, pid_t pid) {
  char path[PATH_MAX], named[PATH_MAX + 64];
  if (read_caller_path(pid, asked->from.address, path) &&
      name_through_caller(pid, asked->from.directory, path, named) && is_on_overlay(&jail->host, named, S_IFDIR))
    return true;
  return asked->flags & RENAME_EXCHANGE && read_caller_path(pid, asked->to.address, path) &&
         name_through_caller(pid, asked->to.directory, path, named) && is_on_overlay(&jail->host, named, S_IFDIR);
}

struct waiting {
  struct calls *calls; /* null where no one waits for it any more */
  struct seccomp_notif call;
  struct waiting *next;
};

struct answer {
  int error;
  struct copied_for_rename cost;
};

static long long milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* What the command is under, without its filter: that would ask us. */
static void take_its_place(struct jail_context *jail, const struct plan *plan) {
  terminal_ask(&jail->terminal, NULL);
  if (jail->namespaces.shift >= 0) enter_namespace_of_shift(jail);
  for (uint32_t i = 0; i < plan->count; i++) switch (plan->operations[i].code) {
    case OP_LIMIT:
    case OP_GROUPS:
    case OP_USER:
    case OP_LANDLOCK:
    case OP_LANDLOCK_RULE:
      execute(jail, &plan->operations[i], plan, -1);
      break;
    default:
      break;
    }
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) _exit(EXIT_FAILED);
  landlock_enter(&jail->landlock);
}

enum { KEPT_ANSWER, KEPT_FROM, KEPT_TO, FIRST_NOT_KEPT };

/* Nothing of the owner's is left to it but where to answer. */
static _Noreturn void move(struct jail_context *jail, const struct plan *plan, const struct asked *asked,
                           const char *from, const char *to, const int descriptors[FIRST_NOT_KEPT]) {
  /* Reports of a failure here would be taken for the command's. */
  close(FD_REPORT);
  for (int i = 0; i < FIRST_NOT_KEPT; i++)
    if (dup2(descriptors[i], i) != i) _exit(EXIT_FAILED);
  signal(SIGXFSZ, SIG_IGN);
  take_its_place(jail, plan);
  sys_close_range(FIRST_NOT_KEPT, ~0U, 0);
  struct answer answer = {0};
  answer.error =
      copy_for_rename((struct name){KEPT_FROM, from}, (struct name){KEPT_TO, to}, asked->flags, &answer.cost);
  _exit(write(KEPT_ANSWER, &answer, sizeof answer) == sizeof answer ? 0 : EXIT_FAILED);
}

static int open_base(struct jail_context *jail, pid_t pid, int directory) {
  char named[64];
  if (directory == AT_FDCWD)
    snprintf(named, sizeof named, "%d/cwd", (int)pid);
  else
    snprintf(named, sizeof named, "%d/fd/%d", (int)pid, directory);
  return openat(jail->host.processes, named, O_PATH | O_CLOEXEC);
}

/* Of a caller in a mount namespace of its own, paths would mean something else to the process that is started here. */
static bool shares_our_mounts(struct jail_context *jail, pid_t pid) {
  char named[64];
  struct stat theirs, ours, their_root, our_root;
  snprintf(named, sizeof named, "%d/ns/mnt", (int)pid);
  if (fstatat(jail->host.processes, named, &theirs, 0) != 0 ||
      fstatat(jail->host.processes, "self/ns/mnt", &ours, 0) != 0)
    return false;
  snprintf(named, sizeof named, "%d/root", (int)pid);
  if (fstatat(jail->host.processes, named, &their_root, 0) != 0 || stat("/", &our_root) != 0) return false;
  return theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev && their_root.st_ino == our_root.st_ino &&
         their_root.st_dev == our_root.st_dev;
}

/* The pid was the caller's all the while, if its call is still waiting now. */
static bool is_still_waiting(const struct waiting *waiting) {
  uint64_t id = waiting->call.id;
  return waiting->calls && ioctl(waiting->calls->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

static bool start_mover(struct jail_context *jail, const struct waiting *waiting) {
  char from[PATH_MAX], to[PATH_MAX];
  struct asked asked;
  pid_t pid = (pid_t)waiting->call.pid;
  int answer[2] = {-1, -1}, bases[2] = {-1, -1};
  bool started = false;
  if (!waiting->calls || !read_arguments(&waiting->call.data, &asked) ||
      !read_caller_path(pid, asked.from.address, from) || !read_caller_path(pid, asked.to.address, to) ||
      !shares_our_mounts(jail, pid))
    return false;
  bases[0] = open_base(jail, pid, from[0] == '/' ? AT_FDCWD : asked.from.directory);
  bases[1] = open_base(jail, pid, to[0] == '/' ? AT_FDCWD : asked.to.directory);
  if (bases[0] >= 0 && bases[1] >= 0 && is_still_waiting(waiting) && pipe2(answer, O_CLOEXEC) == 0) {
    jail->renames.pid = fork_closed();
    if (jail->renames.pid == 0) {
      /* Above those that it keeps. */
      int descriptors[FIRST_NOT_KEPT] = {fcntl(answer[1], F_DUPFD_CLOEXEC, FD_FIRST_OTHER),
                                         fcntl(bases[0], F_DUPFD_CLOEXEC, FD_FIRST_OTHER),
                                         fcntl(bases[1], F_DUPFD_CLOEXEC, FD_FIRST_OTHER)};
      move(jail, waiting->calls->plan, &asked, from, to, descriptors);
    }
    started = jail->renames.pid > 0;
  }
  for (int i = 0; i < 2; i++)
    if (bases[i] >= 0) close(bases[i]);
  if (answer[1] >= 0) close(answer[1]);
  if (!started && answer[0] >= 0) close(answer[0]);
  jail->renames.answer = started ? answer[0] : -1;
  jail->renames.pid = started ? jail->renames.pid : 0;
  jail->renames.began = milliseconds();
  return started;
}

static void end_first(struct jail_context *jail, int error) {
  struct waiting *first = jail->renames.first;
  if (first->calls) let_go_on(first->calls->listener, first->call.id, error);
  jail->renames.first = first->next;
  if (!jail->renames.first) jail->renames.last = NULL;
  free(first);
}

static void start_next(struct jail_context *jail) {
  while (jail->renames.first && !start_mover(jail, jail->renames.first)) end_first(jail, 0);
}

bool rename_asked(struct jail_context *jail, struct calls *calls, const struct seccomp_notif *call) {
  struct asked asked;
  if (!read_arguments(&call->data, &asked)) return false;
  struct waiting *waiting = concerns_overlay(jail, &asked, (pid_t)call->pid) ? malloc(sizeof *waiting) : NULL;
  if (!waiting) {
    let_go_on(calls->listener, call->id, 0);
    return true;
  }
  *waiting = (struct waiting){.calls = calls, .call = *call};
  if (jail->renames.last)
    jail->renames.last->next = waiting;
  else
    jail->renames.first = waiting;
  jail->renames.last = waiting;
  if (jail->renames.pid == 0) start_next(jail);
  return true;
}

void renames_go_on(struct jail_context *jail) {
  struct answer answer = {0};
  /* One that was killed has said nothing. */
  if (read(jail->renames.answer, &answer, sizeof answer) != sizeof answer) answer = (struct answer){0};
  close(jail->renames.answer);
  waitpid(jail->renames.pid, NULL, 0);
  struct renamed *sum = jail->renames.first->calls ? jail->renames.first->calls->renamed : NULL;
  if (sum && answer.cost.directories > 0) {
    sum->sum.directories += answer.cost.directories;
    sum->sum.files += answer.cost.files;
    sum->sum.bytes += answer.cost.bytes;
    sum->milliseconds += milliseconds() - jail->renames.began;
  }
  jail->renames.pid = 0;
  jail->renames.answer = -1;
  end_first(jail, answer.error);
  start_next(jail);
}

/* A process that kills and does not wait may have ended before the one that was killed. */
static bool is_killed(struct jail_context *jail, pid_t thread) {
  return status_of(&jail->host, thread, "\nSigPnd:", 16) & 1ULL << (SIGKILL - 1);
}

bool renames_outlive_caller(struct jail_context *jail) {
  if (jail->renames.pid == 0 ||
      (!is_killed(jail, (pid_t)jail->renames.first->call.pid) && is_still_waiting(jail->renames.first)))
    return false;
  kill(jail->renames.pid, SIGCONT);
  return true;
}

enum { LOOK_MILLISECONDS = 20 };

void renames_finish(struct jail_context *jail) {
  /* Those that wait behind it have not begun. */
  while (jail->renames.first && jail->renames.first->next) {
    struct waiting *second = jail->renames.first->next;
    jail->renames.first->next = second->next;
    free(second);
  }
  jail->renames.last = jail->renames.first;
  struct pollfd watched[] = {{.fd = jail->renames.answer, .events = POLLIN}, {.fd = FD_LIFELINE, .events = POLLIN}};
  while (jail->renames.pid > 0) {
    int ready = poll(watched, 2, LOOK_MILLISECONDS);
    if (ready > 0 && watched[1].revents) return;
    if (ready > 0)
      renames_go_on(jail);
    else
      kill(jail->renames.pid, SIGCONT); /* the process that stopped it */
  }
}

void renames_forget(struct jail_context *jail, const struct calls *calls) {
  for (struct waiting *waiting = jail->renames.first; waiting; waiting = waiting->next)
    if (waiting->calls == calls) waiting->calls = NULL;
}
