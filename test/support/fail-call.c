/*
 * fail-call N|/NAME ERROR|short PROGRAM ARGS...: the N-th call that writes to a file, of the program and of all it
 * starts, or the first to a file of that name, fails with the errno, or, with `short`, writes one byte. Exit code 99:
 * there were not so many; with N = 0 their number is printed at the end. Traces; so it works for static programs. Writes
 * to pipes, sockets and terminals are not counted: these are no disk. Nothing that is written to /proc is cut short:
 * the kernel takes it whole. With +N also calls that change what is there, or only look, are counted.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
  long number;
  int descriptor; /* the argument that is written to; -1: none, it counts always */
  int length;     /* the argument that says how much; -1: cannot be short */
} calls[] = {
    {SYS_write, 0, 2},       {SYS_pwrite64, 0, 2},    {SYS_writev, 0, -1},    {SYS_copy_file_range, 2, 4},
    {SYS_ftruncate, 0, -1},  {SYS_fsync, 0, -1},      {SYS_fdatasync, 0, -1}, {SYS_syncfs, 0, -1},
    {SYS_renameat, -1, -1},  {SYS_renameat2, -1, -1}, {SYS_mkdirat, -1, -1},  {SYS_linkat, -1, -1},
    {SYS_symlinkat, -1, -1}, {SYS_fallocate, 0, -1},
#ifdef SYS_rename
    {SYS_rename, -1, -1},    {SYS_mkdir, -1, -1},
#endif
};

static const struct {
  long number;
  int descriptor;
} others[] = {
    {SYS_mknodat, -1},        {SYS_fchmod, 0},      {SYS_fchown, 0},      {SYS_fchownat, -1}, {SYS_utimensat, -1},
    {SYS_sync_file_range, 0}, {SYS_openat, -1},     {SYS_getdents64, 0},  {SYS_read, 0},      {SYS_pread64, 0},
    {SYS_fsetxattr, 0},       {SYS_readlinkat, -1}, {SYS_newfstatat, -1}, {SYS_fstat, 0},     {SYS_lseek, 0},
    {SYS_openat2, -1},        {SYS_unlinkat, -1},   {SYS_flistxattr, 0},  {SYS_fgetxattr, 0}, {SYS_llistxattr, -1},
    {SYS_lgetxattr, -1},      {SYS_fcntl, 0},
};

/* Where each machine has the number of a call, its arguments and its result. */
#if defined(__x86_64__)

static long number_of(const struct user_regs_struct *at) {
  return (long)at->orig_rax;
}

static unsigned long long argument(const struct user_regs_struct *at, int index) {
  const unsigned long long all[] = {at->rdi, at->rsi, at->rdx, at->r10, at->r8, at->r9};
  return all[index];
}

static void shorten(struct user_regs_struct *at, int index) {
  *(index == 2 ? &at->rdx : &at->r8) = 1;
}

static void answer(struct user_regs_struct *at, long result) {
  at->rax = (unsigned long long)result;
}

static void call_nothing(pid_t process, struct user_regs_struct *at) {
  (void)process;
  at->orig_rax = (unsigned long long)-1;
}

#elif defined(__aarch64__)

static long number_of(const struct user_regs_struct *at) {
  return (long)at->regs[8];
}

static unsigned long long argument(const struct user_regs_struct *at, int index) {
  return at->regs[index];
}

static void shorten(struct user_regs_struct *at, int index) {
  at->regs[index] = 1;
}

static void answer(struct user_regs_struct *at, long result) {
  at->regs[0] = (unsigned long long)result;
}

static void call_nothing(pid_t process, struct user_regs_struct *at) {
  int number = -1;
  struct iovec whole = {&number, sizeof number};
  (void)at;
  ptrace(PTRACE_SETREGSET, process, NT_ARM_SYSTEM_CALL, &whole);
}

#endif

static int is_file(pid_t process, int descriptor) {
  char path[64];
  struct stat status;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", process, descriptor);
  return stat(path, &status) == 0 && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
}

/* What the kernel takes whole or not at all: an identity map, for example. */
static int is_of_kernel(pid_t process, int descriptor) {
  char path[64];
  struct statfs about;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", process, descriptor);
  return statfs(path, &about) == 0 && about.f_type == PROC_SUPER_MAGIC;
}

static int is_named(pid_t process, int descriptor, const char *end) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/%d/fd/%d", process, descriptor);
  ssize_t length = readlink(link, path, sizeof path);
  size_t wanted = strlen(end);
  return length >= (ssize_t)wanted && memcmp(path + length - wanted, end, wanted) == 0;
}

static int is_other(pid_t process, long number, const struct user_regs_struct *at) {
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (others[i].number == number)
      return others[i].descriptor < 0 || is_file(process, (int)argument(at, others[i].descriptor));
  return 0;
}

static int entering[1 << 22]; /* by pid: in a call, and what to do at its end */

int main(int count, char **words) {
  if (count < 4) return 2;
  const char *name = words[1][0] == '/' ? words[1] : NULL;
  long left = name ? 1 : atol(words[1]); /* a plus sign is one of a number */
  int counts_others = words[1][0] == '+';
  int is_short = strcmp(words[2], "short") == 0, error = is_short ? 0 : atoi(words[2]), hit = 0, code = 1;
  pid_t first = fork();
  if (first == 0) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    execvp(words[3], words + 3);
    _exit(127);
  }
  int status;
  waitpid(first, &status, 0);
  const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                       PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
  ptrace(PTRACE_SETOPTIONS, first, 0, options);
  ptrace(PTRACE_SYSCALL, first, 0, 0);
  for (pid_t process; (process = waitpid(-1, &status, __WALL)) > 0;) {
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
      if (process == first) code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      entering[process] = 0;
      continue;
    }
    int signal_number = WSTOPSIG(status);
    if (signal_number == (SIGTRAP | 0x80)) {
      struct user_regs_struct at;
      struct iovec registers = {&at, sizeof at};
      ptrace(PTRACE_GETREGSET, process, NT_PRSTATUS, &registers);
      if (entering[process] == 0) {
        entering[process] = 1;
        if (counts_others && !hit && is_other(process, number_of(&at), &at) && --left == 0) {
          hit = 1;
          call_nothing(process, &at);
          entering[process] = 2;
          ptrace(PTRACE_SETREGSET, process, NT_PRSTATUS, &registers);
        }
        for (size_t i = 0; i < sizeof calls / sizeof *calls && !hit; i++) {
          if (number_of(&at) != calls[i].number) continue;
          if (calls[i].descriptor >= 0 && !is_file(process, (int)argument(&at, calls[i].descriptor))) continue;
          if (name && (calls[i].descriptor < 0 || !is_named(process, (int)argument(&at, calls[i].descriptor), name)))
            continue;
          if (is_short && (calls[i].length < 0 || argument(&at, calls[i].length) < 2)) continue;
          if (is_short && is_of_kernel(process, (int)argument(&at, calls[i].descriptor))) continue;
          if (--left != 0) continue;
          hit = 1;
          if (is_short)
            shorten(&at, calls[i].length);
          else
            call_nothing(process, &at);
          entering[process] = is_short ? 1 : 2;
          ptrace(PTRACE_SETREGSET, process, NT_PRSTATUS, &registers);
        }
      } else {
        if (entering[process] == 2) {
          answer(&at, -error);
          ptrace(PTRACE_SETREGSET, process, NT_PRSTATUS, &registers);
        }
        entering[process] = 0;
      }
      signal_number = 0;
    } else if (signal_number == SIGTRAP || signal_number == SIGSTOP) {
      signal_number = 0;
    }
    ptrace(PTRACE_SYSCALL, process, 0, signal_number);
  }
  if (!name && atol(words[1]) == 0) dprintf(STDERR_FILENO, "%ld calls\n", -left);
  return hit ? code : 99;
}
