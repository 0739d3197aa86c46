/*
 * What a debugger could try against the jail. Each prints "won" where it succeeds.
 *
 *   inject NAME   a child is led, by its registers, into a system call that the filter refuses, or into another table of
 *                 calls
 *   option        the filter of a child is switched off
 *   filter        the filter of a child is read
 *   init          pid 1 is attached to
 *   others        everything that can be seen and is not a child of this process is attached to: prints how many were
 *   parent        asks to be traced by the process that started this process, goes on after an exec and a signal, and
 *                 prints "went on"
 *   trap          asks for the same, and goes on after a trap that it sets for itself
 *   keep          a child traces this process, and keeps its status when it ends
 *   keep-thread   the same, by a thread of that child that is not its first
 *   hold PID      traces a process and keeps its status; prints "held" once it does
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef PTRACE_O_SUSPEND_SECCOMP
#define PTRACE_O_SUSPEND_SECCOMP (1 << 21)
#endif
#ifndef PTRACE_SECCOMP_GET_FILTER
#define PTRACE_SECCOMP_GET_FILTER 0x420c
#endif

static pid_t start_traced(void) {
  pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    /* What the tracer leads it into instead of getppid decides. */
    long result = syscall(SYS_getppid);
    printf(result == 0 || result > 1 ? "won %ld\n" : "lost %ld\n", result);
    fflush(stdout);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  return child;
}

#ifdef __x86_64__
static void inject(const char *name) {
  pid_t child = start_traced();
  struct user_regs_struct registers;
  int status;
  for (int led = 0; !led;) {
    ptrace(PTRACE_SYSCALL, child, 0, 0);
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return;
    ptrace(PTRACE_GETREGS, child, 0, &registers);
    if (registers.orig_rax != SYS_getppid) continue;
    led = 1;
    if (strcmp(name, "x32") == 0) registers.orig_rax = 0x40000000 | SYS_getpid;
    if (strcmp(name, "unshare") == 0) registers.orig_rax = SYS_unshare, registers.rdi = 0x10000000;
    if (strcmp(name, "bpf") == 0)
      registers.orig_rax = SYS_bpf, registers.rdi = 0xffff; /* EINVAL where it is let through */
    if (strcmp(name, "segment") == 0) registers.cs = 0x23;  /* the numbers of 32 bits from here on */
    ptrace(PTRACE_SETREGS, child, 0, &registers);
  }
  if (strcmp(name, "segment") == 0) {
    /* int 0x80 with the number of getpid there: written over what it would run next. */
    const long code = 0x80cd00000014b890;
    ptrace(PTRACE_POKETEXT, child, registers.rip, code);
  }
  ptrace(PTRACE_CONT, child, 0, 0);
  waitpid(child, &status, 0);
  printf("ended %x\n", status);
}
#else
static void inject(const char *name) {
  printf("not here: %s\n", name);
}
#endif

static void others(void) {
  int attached = 0;
  DIR *processes = opendir("/proc");
  for (struct dirent *entry; processes && (entry = readdir(processes));) {
    pid_t pid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;
    if (pid > 0 && pid != getpid() && pid != getppid() && ptrace(PTRACE_SEIZE, pid, 0, 0) == 0) {
      attached++;
      ptrace(PTRACE_DETACH, pid, 0, 0);
    }
  }
  printf("attached %d\n", attached);
}

static volatile sig_atomic_t handled;

static void handle(int number) {
  handled = number;
}

static void ask_parent(void) {
  if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) printf("refused %d\n", errno);
  fflush(stdout);
}

static void raise_trap(void) {
  signal(SIGTRAP, handle);
  raise(SIGTRAP);
  printf(handled == SIGTRAP ? "went on\n" : "lost the trap\n");
}

static void after_exec(void) {
  signal(SIGUSR1, handle);
  raise(SIGUSR1);
  printf(handled == SIGUSR1 ? "went on\n" : "lost the signal\n");
}

static struct {
  pid_t kept;
  int ready;
} keeping;

static void *keep_for_good(void *unused) {
  ptrace(PTRACE_SEIZE, keeping.kept, 0, 0);
  if (write(keeping.ready, "", 1) == 1)
    for (;;) pause();
  return unused;
}

static void keep(int by_thread) {
  int ready[2];
  if (pipe(ready) != 0) return;
  keeping.kept = getpid();
  keeping.ready = ready[1];
  if (fork() == 0) {
    pthread_t thread;
    if (by_thread && pthread_create(&thread, NULL, keep_for_good, NULL) != 0) _exit(1);
    if (by_thread) pthread_join(thread, NULL);
    keep_for_good(NULL);
  }
  char byte;
  if (read(ready[0], &byte, 1) == 1) printf("kept\n");
  fflush(stdout);
  _exit(7);
}

static void hold(pid_t pid) {
  if (ptrace(PTRACE_SEIZE, pid, 0, 0) != 0) return perror("seize");
  printf("held\n");
  fflush(stdout);
  for (;;) pause();
}

int main(int count, char **words) {
  const char *what = count > 1 ? words[1] : "";
  if (strcmp(what, "inject") == 0 && count > 2)
    inject(words[2]);
  else if (strcmp(what, "option") == 0) {
    pid_t child = start_traced();
    printf(ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_SUSPEND_SECCOMP) == 0 ? "won\n" : "lost %d\n", errno);
    kill(child, SIGKILL);
  } else if (strcmp(what, "filter") == 0) {
    pid_t child = start_traced();
    printf(ptrace(PTRACE_SECCOMP_GET_FILTER, child, 0, 0) > 0 ? "won\n" : "lost %d\n", errno);
    kill(child, SIGKILL);
  } else if (strcmp(what, "init") == 0)
    printf(ptrace(PTRACE_SEIZE, 1, 0, 0) == 0 ? "won\n" : "lost %d\n", errno);
  else if (strcmp(what, "others") == 0)
    others();
  else if (strcmp(what, "parent") == 0) {
    ask_parent();
    execl(words[0], words[0], "asked", NULL);
  } else if (strcmp(what, "trap") == 0) {
    ask_parent();
    raise_trap();
  } else if (strcmp(what, "asked") == 0)
    after_exec();
  else if (strcmp(what, "keep") == 0 || strcmp(what, "keep-thread") == 0)
    keep(strcmp(what, "keep-thread") == 0);
  else if (strcmp(what, "hold") == 0 && count > 2)
    hold(atoi(words[2]));
  return 0;
}
