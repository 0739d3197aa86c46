/* The process that becomes the command. */
#include "jail.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Never above what the caller has: raising it would need a privilege that no jail has. */
void limit(uint32_t resource, uint64_t value) {
  struct rlimit both;
  if (getrlimit((__rlimit_resource_t)resource, &both) != 0) fail("reading a limit");
  if (value < both.rlim_max) both.rlim_max = value;
  both.rlim_cur = both.rlim_max;
  if (setrlimit((__rlimit_resource_t)resource, &both) != 0) fail("setting a limit");
}

static const char *value_of(char *const environment[], const char *name) {
  size_t length = strlen(name);
  for (; *environment; environment++)
    if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=') return *environment + length + 1;
  return "";
}

/* A script without an interpreter line is for the shell, as execvp has it. */
static void run(const char *path, char *const argv[], char *const environment[]) {
  execve(path, argv, environment);
  if (errno != ENOEXEC) return;
  size_t count = 0;
  while (argv[count]) count++;
  char **shell = calloc(count + 2, sizeof *shell);
  if (!shell) return;
  shell[0] = "/bin/sh";
  shell[1] = (char *)path;
  memcpy(&shell[2], &argv[1], count * sizeof *shell);
  execve(shell[0], shell, environment);
}

/* The search for argv[0] happens in here, so that only what the jail shows can be found. */
_Noreturn void execute_program(char *const argv[], char *const environment[]) {
  int worst = ENOENT;
  if (strchr(argv[0], '/')) {
    run(argv[0], argv, environment);
    fail(argv[0]);
  }
  for (const char *path = value_of(environment, "PATH"), *end; *path; path = *end ? end + 1 : end) {
    end = strchrnul(path, ':');
    char candidate[4096];
    int length = snprintf(candidate, sizeof candidate, "%.*s/%s", (int)(end - path), path, argv[0]);
    if (end == path || length >= (int)sizeof candidate) continue;
    run(candidate, argv, environment);
    if (errno != ENOENT && errno != ENOTDIR) worst = errno;
  }
  fail_with(worst, argv[0]);
}
