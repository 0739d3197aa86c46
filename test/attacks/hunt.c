/*
 * What a process that an earlier command left in a kept jail tries against the next one, before that is the program: it
 * is stopped where it is, which any process of the same user may do, and then looked into at leisure.
 *
 *   hunt NAME SIGNAL   looks for processes of that name and sends each the signal; where it is SIGSTOP, tries
 * everything and lets it go on. Prints "met", and "won WHAT" for what succeeded while it still had that name. hide FILE
 * goes on writing the file with its first thread ended, so that it looks dead chain FILE         goes on writing it as
 * one process after the other, each the child of one that has ended list NAME          stands for anyone who lists
 * processes and then looks at each: "won" where none of that name lives breed NAME         stands for the process that starts
 * commands without care: children of that name, which may be looked into
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

enum { FIRST_DESCRIPTOR = 3, LAST_DESCRIPTOR = 9 };

static char path[64];

static const char *of(pid_t pid, const char *name) {
  snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
  return path;
}

static int has_name(pid_t pid, const char *name) {
  char text[32] = {0};
  int file = open(of(pid, "comm"), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  ssize_t got = read(file, text, sizeof text - 1);
  close(file);
  return got > 0 && strncmp(text, name, strlen(name)) == 0 && text[strlen(name)] == '\n';
}

static int opens(pid_t pid, const char *name, int flags) {
  int file = open(of(pid, name), flags | O_CLOEXEC | O_NONBLOCK);
  char byte;
  int won = file >= 0 && ((flags & O_DIRECTORY) || read(file, &byte, 1) >= 0 || strcmp(name, "mem") == 0);
  if (file >= 0) close(file);
  return won;
}

static int takes_descriptor(pid_t pid) {
  int process = (int)syscall(SYS_pidfd_open, pid, 0), won = 0;
  for (int number = FIRST_DESCRIPTOR; number <= LAST_DESCRIPTOR; number++) {
    int taken = (int)syscall(SYS_pidfd_getfd, process, number, 0);
    won |= taken >= 0;
    if (taken >= 0) close(taken);
  }
  close(process);
  return won;
}

static int reopens_descriptor(pid_t pid) {
  char name[16], target[256];
  int won = 0;
  for (int number = FIRST_DESCRIPTOR; number <= LAST_DESCRIPTOR; number++) {
    snprintf(name, sizeof name, "fd/%d", number);
    won |= readlink(of(pid, name), target, sizeof target) > 0;
  }
  return won;
}

static int reads_memory(pid_t pid) {
  static char there[8];
  struct iovec here = {.iov_base = (char[8]){0}, .iov_len = 8}, remote = {.iov_base = there, .iov_len = 8};
  return process_vm_readv(pid, &here, 1, &remote, 1, 0) == 8;
}

static int traces(pid_t pid) {
  if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) != 0) return 0;
  /* It is the program by now, which its user may trace. Only one that has stopped for its tracer can be let go of. */
  if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) == 0) waitpid(pid, NULL, __WALL);
  ptrace(PTRACE_DETACH, pid, NULL, NULL);
  return 1;
}

static void look_into(pid_t pid, const char *name) {
  const struct {
    const char *what;
    int won;
  } tried[] = {
      {"mem", opens(pid, "mem", O_RDWR)},
      {"environ", opens(pid, "environ", O_RDONLY)},
      {"maps", opens(pid, "maps", O_RDONLY)},
      {"fd", opens(pid, "fd", O_RDONLY | O_DIRECTORY)},
      {"reopen", reopens_descriptor(pid)},
      {"getfd", takes_descriptor(pid)},
      {"vm", reads_memory(pid)},
      {"root", opens(pid, "root", O_RDONLY | O_DIRECTORY)},
      {"trace", traces(pid)},
  };
  if (!has_name(pid, name)) return; /* it is the program already */
  printf("met\n");
  for (size_t i = 0; i < sizeof tried / sizeof *tried; i++)
    if (tried[i].won) printf("won %s\n", tried[i].what);
}

static _Noreturn void hunt(const char *name, int number) {
  for (pid_t last = getpid();;) {
    DIR *processes = opendir("/proc");
    for (struct dirent *entry; processes && (entry = readdir(processes));) {
      pid_t pid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;
      if (pid <= last || !has_name(pid, name) || kill(pid, number) != 0) continue;
      last = pid;
      if (number == SIGSTOP)
        look_into(pid, name);
      else
        printf("met\n");
      if (number == SIGSTOP) kill(pid, SIGCONT);
      fflush(stdout);
    }
    if (processes) closedir(processes);
  }
}

static _Noreturn void breed(const char *name) {
  const pid_t parent = getpid();
  for (;;) {
    pid_t pid = fork();
    if (pid == 0) {
      /* One that a hunter has stopped would keep the streams of its starter open for good. */
      if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || getppid() != parent) _exit(1);
      dup2(0, FIRST_DESCRIPTOR);
      prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
      prctl(PR_SET_NAME, name);
      usleep(20000);
      execl("/bin/true", "true", NULL);
      _exit(1);
    }
    waitpid(pid, NULL, 0);
  }
}

static void write_number(int file, unsigned number) {
  char text[32];
  int length = snprintf(text, sizeof text, "%u\n", number);
  if (pwrite(file, text, (size_t)length, 0) != length) _exit(1);
}

/* Left behind, without the streams of the process that left it. */
static int go_into_background(const char *name) {
  int file = open(name, O_WRONLY | O_CREAT, 0644);
  if (file < 0 || fork() != 0) _exit(file < 0);
  setsid();
  prctl(PR_SET_NAME, "hidden");
  for (int stream = 0; stream < 3; stream++) close(stream);
  return file;
}

static void *go_on_writing(void *file) {
  for (unsigned number = 0;; number++) {
    write_number(*(int *)file, number);
    usleep(10000);
  }
  return NULL;
}

static _Noreturn void hide(const char *name) {
  static int file;
  file = go_into_background(name);
  pthread_t other;
  if (pthread_create(&other, NULL, go_on_writing, &file) != 0) _exit(1);
  pthread_exit(NULL);
}

static _Noreturn void chain(const char *name) {
  int file = go_into_background(name);
  for (unsigned number = 0;; number++) {
    write_number(file, number);
    /* Where its user has too many processes for a moment, it goes on by itself. */
    if (fork() > 0) _exit(0);
  }
}

static int lives(pid_t pid, const char *name) {
  char text[512] = {0};
  int file = has_name(pid, name) ? open(of(pid, "stat"), O_RDONLY | O_CLOEXEC) : -1;
  const char *state = file >= 0 && read(file, text, sizeof text - 1) > 0 ? strrchr(text, ')') : NULL;
  if (file >= 0) close(file);
  return state && state[2] != 'Z';
}

static int list(const char *name) {
  for (int tries = 0; tries < 20000; tries++) {
    static pid_t listed[1 << 16];
    int count = 0, alive = 0;
    DIR *processes = opendir("/proc");
    for (struct dirent *entry; processes && (entry = readdir(processes));)
      if (isdigit((unsigned char)entry->d_name[0]) && count < 1 << 16) listed[count++] = atoi(entry->d_name);
    if (processes) closedir(processes);
    while (count > 0) alive += lives(listed[--count], name);
    if (alive == 0) return puts("won") < 0;
  }
  return 1;
}

int main(int count, char **words) {
  if (count == 4 && strcmp(words[1], "hunt") == 0) hunt(words[2], atoi(words[3]));
  if (count == 3 && strcmp(words[1], "breed") == 0) breed(words[2]);
  if (count == 3 && strcmp(words[1], "hide") == 0) hide(words[2]);
  if (count == 3 && strcmp(words[1], "chain") == 0) chain(words[2]);
  if (count == 3 && strcmp(words[1], "list") == 0) return list(words[2]);
  return 2;
}
