#include "owner/traced.h"
#include "context.h"
#include "jail.h"
#include "owner/status.h"
#include "syscalls.h"

#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* The trap after an exec is for a tracer alone; every other signal is the command's. */
static int signal_to_pass_on(pid_t command, int number) {
  siginfo_t about;
  if (number != SIGTRAP || ptrace(PTRACE_GETSIGINFO, command, NULL, &about) != 0) return number;
  return about.si_code == SI_USER ? 0 : number;
}

void let_go_if_traced(pid_t command) {
  siginfo_t about = {0};
  if (waitid(P_PID, (id_t)command, &about, WSTOPPED | WNOHANG | WNOWAIT | __WALL) != 0 || about.si_pid != command ||
      about.si_code != CLD_TRAPPED)
    return;
  ptrace(PTRACE_DETACH, command, NULL, (void *)(uintptr_t)signal_to_pass_on(command, about.si_status & 0x7f));
}

bool is_collectable(pid_t command) {
  siginfo_t about = {0};
  return waitid(P_PID, (id_t)command, &about, WEXITED | WNOHANG | WNOWAIT) != 0 || about.si_pid == command;
}

/* A thread may be it: then the process that has this thread. */
static pid_t tracer_of(const struct host *host, pid_t command) {
  pid_t thread = (pid_t)status_of(host, command, "\nTracerPid:", 10);
  return thread > 0 ? (pid_t)status_of(host, thread, "\nTgid:", 10) : 0;
}

/* Init itself is closed to an owner without privileges: the namespace is that of our children. */
static bool is_inside(const struct host *host, pid_t process) {
  char path[64];
  struct stat theirs, ours;
  snprintf(path, sizeof path, "%d/ns/pid", (int)process);
  return fstatat(host->processes, path, &theirs, 0) == 0 &&
         fstatat(host->processes, "self/ns/pid_for_children", &ours, 0) == 0 && theirs.st_ino == ours.st_ino &&
         theirs.st_dev == ours.st_dev;
}

/* By a descriptor that is the tracer's, if it still is the tracer once we have that. */
void end_tracer(const struct host *host, pid_t command) {
  pid_t tracer = tracer_of(host, command);
  int process = tracer > 0 ? sys_pidfd_open(tracer) : -1;
  if (process < 0) return;
  if (tracer_of(host, command) == tracer && is_inside(host, tracer))
    syscall(SYS_pidfd_send_signal, process, SIGKILL, NULL, 0);
  close(process);
}
