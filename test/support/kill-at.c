/*
 * kill-at N DIRECTORY PROGRAM ARGS...: kill -9 of the program and of all it started, at the N-th call that changes
 * something below the directory, before the call happens. Exit code 99: there were not so many, and their number is
 * printed. Traces; so it works for static programs.
 *
 * kill-at N:COMMAND DIRECTORY PROGRAM ARGS...: the shell runs the command there instead, and the program goes on. Calls
 * that only look at something count, too. $PROGRAM is the process. The exit code is the program's own, or 99. With N+
 * before the colon it is run at each call from there on.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/ptrace.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Its own header does not go together with that of the kernel, which has the description of a call. */
extern long ptrace(int request, ...);

enum { MOST_PROCESSES = 1 << 22, NONE = -1 };

static const struct {
  long number;
  int directory; /* the argument that is a descriptor; NONE: the path is from the root */
  int path;      /* the argument that is a path; NONE: the descriptor is of the file itself */
  int flags;     /* an argument that has to hold O_CREAT or O_TRUNC */
} calls[] = {
    {SYS_openat, 0, 1, 2},       {SYS_mkdirat, 0, 1, NONE},   {SYS_linkat, 2, 3, NONE},
    {SYS_symlinkat, 1, 2, NONE}, {SYS_mknodat, 0, 1, NONE},   {SYS_unlinkat, 0, 1, NONE},
    {SYS_renameat2, 2, 3, NONE}, {SYS_utimensat, 0, 1, NONE}, {SYS_fchmod, 0, NONE, NONE},
#ifdef SYS_rename
    {SYS_rename, NONE, 1, NONE}, {SYS_mkdir, NONE, 0, NONE},  {SYS_unlink, NONE, 0, NONE},
    {SYS_rmdir, NONE, 0, NONE},  {SYS_link, NONE, 1, NONE},   {SYS_symlink, NONE, 1, NONE},
#else
    {SYS_renameat, 2, 3, NONE},
#endif
};

static const struct {
  long number;
  int descriptor;
} looks[] = {{SYS_openat, 0}, {SYS_fcntl, 0}};

static int is_below(const char *path, size_t length, const char *directory) {
  size_t wanted = strlen(directory);
  return length >= wanted && memcmp(path, directory, wanted) == 0 && (length == wanted || path[wanted] == '/');
}

static int is_descriptor_below(pid_t process, int descriptor, const char *directory) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/%d/fd/%d", process, descriptor);
  ssize_t length = readlink(link, path, sizeof path);
  return length > 0 && is_below(path, (size_t)length, directory);
}

/* What begins with the directory; a page may end before the path could. */
static int is_path_below(pid_t process, unsigned long long address, const char *directory) {
  char path[256];
  size_t wanted = strlen(directory) + 1;
  struct iovec here = {path, wanted < sizeof path ? wanted : sizeof path};
  struct iovec there = {(void *)(unsigned long)address, here.iov_len};
  ssize_t length = address == 0 ? -1 : process_vm_readv(process, &here, 1, &there, 1, 0);
  return length == (ssize_t)here.iov_len && is_below(path, strnlen(path, (size_t)length), directory);
}

static int counts(pid_t process, const struct ptrace_syscall_info *call, const char *directory) {
  const __u64 *arguments = call->entry.args;
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    if ((long)call->entry.nr != calls[i].number) continue;
    if (calls[i].flags != NONE && (arguments[calls[i].flags] & (O_CREAT | O_TRUNC)) == 0) return 0;
    int descriptor = calls[i].directory == NONE ? AT_FDCWD : (int)arguments[calls[i].directory];
    if (descriptor != AT_FDCWD) return is_descriptor_below(process, descriptor, directory);
    return calls[i].path != NONE && is_path_below(process, arguments[calls[i].path], directory);
  }
  return 0;
}

static int is_look(pid_t process, const struct ptrace_syscall_info *call, const char *directory) {
  for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
    if ((long)call->entry.nr == looks[i].number)
      return is_descriptor_below(process, (int)call->entry.args[looks[i].descriptor], directory);
  return 0;
}

static void run(const char *command, pid_t program) {
  char number[24];
  snprintf(number, sizeof number, "%d", program);
  pid_t shell = fork();
  if (shell == 0) {
    setenv("PROGRAM", number, 1);
    execl("/bin/sh", "sh", "-c", command, NULL);
    _exit(127);
  }
  waitpid(shell, NULL, 0);
}

int main(int count, char **words) {
  static char known[MOST_PROCESSES];
  if (count < 4) return 2;
  long wanted = atol(words[1]), met = 0;
  const char *command = strchr(words[1], ':');
  const bool goes_on = command && command[-1] == '+';
  int code = 1;
  pid_t first = fork();
  if (first == 0) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    execvp(words[3], words + 3);
    _exit(127);
  }
  int status;
  const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                       PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
  waitpid(first, &status, 0);
  ptrace(PTRACE_SETOPTIONS, first, 0, options);
  known[first] = 1;
  ptrace(PTRACE_SYSCALL, first, 0, 0);
  for (pid_t process; (process = waitpid(-1, &status, __WALL)) > 0;) {
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
      if (process == first) code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      known[process] = 0;
      continue;
    }
    int signal_number = WSTOPSIG(status);
    if (signal_number == (SIGTRAP | 0x80)) {
      struct ptrace_syscall_info call;
      memset(&call, 0, sizeof call);
      ptrace(PTRACE_GET_SYSCALL_INFO, process, sizeof call, &call);
      bool counted = call.op == PTRACE_SYSCALL_INFO_ENTRY &&
                     (counts(process, &call, words[2]) || (command && is_look(process, &call, words[2])));
      if (counted && (++met == wanted || (goes_on && met > wanted))) {
        if (!command) return 0; /* and the kernel kills all of them */
        run(command + 1, first);
      }
      signal_number = 0;
    } else if (signal_number == SIGTRAP || (signal_number == SIGSTOP && !known[process])) {
      signal_number = 0; /* of the tracing, or a process that begins */
    }
    known[process] = 1;
    ptrace(PTRACE_SYSCALL, process, 0, signal_number);
  }
  if (command && met >= wanted) return code;
  printf("%ld\n", met);
  return 99;
}
