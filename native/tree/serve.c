/*
 * serve: jobs one after the other, for a caller to whom starting a program costs more than most jobs do. Each has a process of
 * its own, forked from this one, which has read nothing of any tree: a job that fails, or is led astray, takes no other with it.
 *
 *   a job      u32 length, then its words, each NUL-terminated: the verb and its options, as on the command line
 *   answers    u8 kind, u32 length, bytes: OUT and ERR as they come, then END with the exit code, or 128 + the signal
 *
 * Numbers are little-endian, as all our hosts are. Ends with its caller, and the job that runs ends, too.
 */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUT = 1, ERR = 2, END = 3 };
enum { MOST_BYTES = 64 << 20, PART = 64 << 10 };

/* False at the end of what is asked. */
static bool read_whole(void *into, size_t length) {
  char *at = into;
  while (length > 0) {
    ssize_t got = read(STDIN_FILENO, at, length);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    length -= (size_t)got;
  }
  return true;
}

static void answer(uint8_t kind, const void *bytes, uint32_t length) {
  char head[5] = {(char)kind};
  memcpy(head + 1, &length, sizeof length);
  if (write_all(STDOUT_FILENO, head, sizeof head) != 0 || write_all(STDOUT_FILENO, bytes, length) != 0) exit(0);
}

_Noreturn static void run_words(char *words, size_t length) {
  size_t count = 0;
  char **list = allocate((length + 1) * sizeof *list);
  for (size_t at = 0; at < length; at += strlen(words + at) + 1) list[count++] = words + at;
  run_job((int)count, list);
}

struct job {
  pid_t process;
  int output, errors;
};

static struct job start(char *words, size_t length) {
  int output[2], errors[2];
  if (pipe2(output, O_CLOEXEC) != 0 || pipe2(errors, O_CLOEXEC) != 0) fail(errno, "make a pipe", "");
  pid_t caller = getpid();
  pid_t process = fork();
  if (process < 0) fail(errno, "fork", "");
  if (process == 0) {
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != caller || dup2(nothing, STDIN_FILENO) < 0 ||
        dup2(output[1], STDOUT_FILENO) < 0 || dup2(errors[1], STDERR_FILENO) < 0)
      _exit(3);
    run_words(words, length);
  }
  close(output[1]);
  close(errors[1]);
  return (struct job){process, output[0], errors[0]};
}

/* False where it has no more. */
static bool pass_on(uint8_t kind, int from) {
  static char part[PART];
  ssize_t got = read(from, part, sizeof part);
  if (got < 0 && errno == EINTR) return true;
  if (got > 0) answer(kind, part, (uint32_t)got);
  return got > 0;
}

static void follow(const struct job *job) {
  struct pollfd watched[] = {{job->output, POLLIN, 0}, {job->errors, POLLIN, 0}, {STDIN_FILENO, 0, 0}};
  while (watched[0].fd >= 0 || watched[1].fd >= 0) {
    if (poll(watched, 3, -1) < 0) continue;
    if (watched[2].revents) exit(0); /* nobody waits for it: it ends with us */
    for (int i = 0; i < 2; i++)
      if (watched[i].fd >= 0 && watched[i].revents && !pass_on(i == 0 ? OUT : ERR, watched[i].fd)) watched[i].fd = -1;
  }
  close(job->output);
  close(job->errors);
}

static uint8_t exit_code_of(pid_t process) {
  int status;
  while (waitpid(process, &status, 0) < 0)
    if (errno != EINTR) return 1;
  return (uint8_t)(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

_Noreturn void serve_jobs(void) {
  for (uint32_t length; read_whole(&length, sizeof length);) {
    if (length == 0 || length > MOST_BYTES) fail(EINVAL, "read", "a job");
    char *words = reallocate(NULL, length);
    if (!read_whole(words, length)) break;
    if (words[length - 1] != '\0') fail(EINVAL, "read", "a job");
    struct job job = start(words, length);
    follow(&job);
    uint8_t code = exit_code_of(job.process);
    answer(END, &code, sizeof code);
    free(words);
  }
  exit(0);
}
